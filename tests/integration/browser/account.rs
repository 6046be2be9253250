//! The account page: a second factor is set up and asked for, and sessions end.

use serde_json::json;

use crate::util::{
    app::TestApp,
    authenticator::{AuthenticatorApp, enrol, state},
    caller::Caller,
    console::Operated,
    login::{LoginSetup, location},
    web::Page,
};

/// A session of mei in another browser.
async fn sign_in_with_code(app: &TestApp, code: &str) -> Caller {
    let mut browser = app.browser();
    let page = location(&browser.follow(&format!("{}/session/start?to=/", app.base)).await);
    let page = browser.follow(page.as_str()).await;
    let page = browser.submit(&page, "mei", "correct horse").await;
    let back = location(&browser.submit_code(&page, code).await);
    app.session_of(&browser.follow(back.as_str()).await)
}

async fn set_up(page: &Page) -> AuthenticatorApp {
    page.click_text("Set up").await;
    page.fill("password", "wrong").await;
    page.click_text("Go on").await;
    page.wait_for_text("Password or code is wrong").await;
    page.fill("password", "correct horse").await;
    page.click_text("Go on").await;
    page.wait_until("document.querySelector('img.qr')?.naturalWidth > 0").await;
    let secret = page.texts("code.secret").await.remove(0);
    let authenticator = AuthenticatorApp::of(&secret);
    page.fill("code", &authenticator.code(0)).await;
    page.click_text("Confirm").await;
    authenticator
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_factor_is_set_up_and_asked_for_and_sessions_end() {
    let LoginSetup { app, .. } = LoginSetup::start().await;
    let session = app.web_session("mei").await;
    let page = Page::open(&session, "/account").await;
    let authenticator = set_up(&page).await;
    page.wait_until("document.querySelectorAll('.codes code').length === 10").await;
    let recovery = page.texts(".codes code").await;
    page.click_text("I have kept them").await;
    page.wait_for_text("The second factor is on.").await;
    assert!(page.shows_text("10 recovery codes are left.").await);

    // Another sign-in in this browser.
    page.tell("Network.clearBrowserCookies", json!({})).await;
    app.forget_used_codes().await;
    page.go("/session/start?to=/account").await;
    page.find("#login").await;
    page.browser.fill_in_login("mei", "correct horse").await;
    page.find("#code").await.send_keys(&authenticator.wrong_code()).await.unwrap();
    page.click("button[type=submit]").await;
    page.wait_for_text("The code is wrong, or was used before.").await;
    page.find("#code").await.send_keys(&authenticator.code(0)).await.unwrap();
    page.click("button[type=submit]").await;
    page.wait_until("document.querySelectorAll('.sessions > li').length === 2").await;
    assert_eq!(page.address().await, "/account");

    let third = sign_in_with_code(&app, &recovery[0]).await;
    page.go("/account").await;
    page.wait_until("document.querySelectorAll('.sessions > li').length === 3").await;
    let shown = page.texts(".sessions strong").await;
    assert!(shown.contains(&"Chrome, Linux".to_owned()), "{shown:?}");
    page.click(".sessions button").await;
    page.wait_for_text("The session has ended.").await;
    page.wait_until("document.querySelectorAll('.sessions > li').length === 2").await;
    page.click_text("End all others").await;
    page.wait_for_text("Your other sessions have ended.").await;
    page.wait_until("document.querySelectorAll('.sessions > li').length === 1").await;
    third.assert_ended().await;
    session.assert_ended().await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn console_opens_once_the_required_second_factor_is_set_up() {
    let all = Operated::start_with(|config| config.console.require_second_factor = true).await;
    let page = Page::open(&all.mei, "/console").await;
    page.wait_for_text("A second factor is needed").await;
    page.click_text("Set it up").await;
    page.wait_for_text("The console opens once you have set up a second factor.").await;
    set_up(&page).await;
    page.click_text("I have kept them").await;
    page.wait_until("!document.querySelector('p.alarm')?.checkVisibility()").await;
    page.click_text("Console").await;
    page.wait_until("document.querySelector('console-overview h1')").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locked_factor_and_missing_password_are_explained() {
    let LoginSetup { app, .. } = LoginSetup::start().await;
    let session = app.web_session("mei").await;
    let (authenticator, _) = enrol(&session).await;
    app.execute("UPDATE second_factors SET last_step = 0, wrong_codes = 100").await;
    let page = Page::open(&session, "/account").await;
    page.click_text("Turn off").await;
    page.fill("password", "correct horse").await;
    page.fill("code", &authenticator.code(0)).await;
    page.click_text("Turn off").await;
    page.wait_for_text("Too many codes were wrong: only a recovery code is taken.").await;
    app.execute("UPDATE users SET password_hash = NULL").await;
    page.go("/account").await;
    page.wait_for_text("You have no password here any more").await;
    assert!(!page.shows_text("Turn off").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operator_resets_a_second_factor_in_the_console() {
    let all = Operated::start().await;
    let tom = all.app.web_session("tom").await;
    enrol(&tom).await;
    let page = Page::open(&all.mei, "/console?view=people&id=tom").await;
    page.click_text("Reset second factor").await;
    page.wait_until("document.querySelector('dialog[open]')").await;
    page.click("dialog[open] button.grave").await;
    page.wait_for_text("The second factor is reset.").await;
    assert_eq!(state(&tom).await["enabled"], false);
    page.close().await;
}
