//! What the search page shows and keeps when who is signed in changes: in this tab, in another one, or as time goes on.

use fantoccini::key::Key;
use serde_json::json;

use crate::{
    util::{
        items::{item, user},
        web::Page,
    },
    web_search::Landscape,
};

/// What was looked for, as this browser keeps it.
const RECENT: &str =
    "JSON.stringify(Object.entries(localStorage).filter(([key]) => key.startsWith('trawl.recent.')))";

/// A page that has found something, and its text is kept.
async fn searched(all: &Landscape) -> Page {
    all.app.keep(&all.acme.caller, "article", &[item("a", "harbour", 1), item("b", "quay", 2)]).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.until("document.querySelector('[data-module=article] .row')").await;
    page.press_key(Key::Enter).await;
    page.until(&format!("{RECENT}.includes('harbour')")).await;
    page
}

async fn sign_out(page: &Page) {
    page.click(".person-button").await;
    page.click("#person-menu button:last-child").await;
    page.until("document.querySelector('.signin')").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_signs_out_leaves_nothing_behind_in_any_tab() {
    let all = Landscape::start().await;
    let page = searched(&all).await;
    let client = &page.browser.client;
    let first = client.window().await.unwrap();
    let second = client.new_window(true).await.unwrap().handle;
    client.switch_to_window(second).await.unwrap();
    page.go("/?q=harbour").await;
    page.click("[data-module=article] h2 a").await;
    page.until("document.querySelector('.list .row')").await;
    sign_out(&page).await;
    assert_eq!(page.run(&format!("return {RECENT}"), &[]).await, "[]");
    client.back().await.unwrap();
    page.until("document.querySelector('.signin')?.checkVisibility()").await;
    assert_eq!(page.texts(".row").await, [""; 0]);
    // The other tab, which nobody touched.
    client.switch_to_window(first).await.unwrap();
    page.until("document.querySelector('.signin')?.checkVisibility()").await;
    assert_eq!(page.texts(".row").await, [""; 0]);
    assert_eq!(page.address().await, "/");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_the_browser_put_aside_is_asked_for_anew() {
    let all = Landscape::start().await;
    let page = searched(&all).await;
    all.mei.post_empty("/session/end").await.ok();
    // What the browser says when it shows a page again as it was left.
    page.run("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))", &[]).await;
    page.until("document.querySelector('.signin')?.checkVisibility()").await;
    assert_eq!(page.texts(".row").await, [""; 0]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tab_becomes_the_one_of_whoever_signs_in_in_another() {
    let all = Landscape::start().await;
    all.app.sync(&all.acme.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
    let omar = all.app.web_session("omar").await;
    let page = searched(&all).await;
    let client = &page.browser.client;
    let first = client.window().await.unwrap();
    let second = client.new_window(true).await.unwrap().handle;
    client.switch_to_window(second).await.unwrap();
    page.browser.hold(&omar).await;
    page.go("/").await;
    page.until("document.querySelector('.person-button')?.title === 'User omar'").await;
    client.switch_to_window(first).await.unwrap();
    page.until("document.querySelector('.person-button')?.title === 'User omar'").await;
    page.until("document.querySelector('[data-module=article] .row')").await;
    page.run("document.querySelector('#box').select()", &[]).await;
    page.press("quay").await;
    page.press_key(Key::Enter).await;
    page.until(&format!("{RECENT}.includes('quay')")).await;
    let kept =
        "return Object.entries(localStorage).filter(([, kept]) => kept.includes('quay')).map(([key]) => key)";
    assert_eq!(page.run(kept, &[]).await, json!(["trawl.recent.[\"acme\",\"omar\"]"]));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signed_out_elsewhere_is_said_at_once_and_nothing_is_kept_until_one_is_back() {
    let all = Landscape::start().await;
    let page = searched(&all).await;
    all.mei.post_empty("/session/end").await.ok();
    page.run("localStorage.clear(); dispatchEvent(new Event('focus'))", &[]).await;
    page.says("You have been signed out.").await;
    page.run("document.querySelector('#box').select()", &[]).await;
    page.press("quay").await;
    page.press_key(Key::Enter).await;
    page.until("location.search === '?q=quay'").await;
    page.says("You have been signed out.").await;
    assert_eq!(page.run(&format!("return {RECENT}"), &[]).await, "[]");
    // A network that goes and comes is another thing.
    page.run("dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'));", &[]).await;
    assert!(page.says_now("You have been signed out.").await);
    // Signed in again in another tab, it goes on here.
    let mei = all.app.web_session("mei").await;
    let client = &page.browser.client;
    let first = client.window().await.unwrap();
    let second = client.new_window(true).await.unwrap().handle;
    client.switch_to_window(second).await.unwrap();
    page.browser.hold(&mei).await;
    page.go("/").await;
    page.until("document.querySelector('.person-button')").await;
    client.switch_to_window(first).await.unwrap();
    page.until("document.querySelector('[data-module=article] h3')?.textContent === 'quay'").await;
    assert!(!page.says_now("You have been signed out.").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_holds_and_is_refused_is_not_tried_without_end() {
    let all = Landscape::start().await;
    let page = searched(&all).await;
    let refuse = "window.asked = 0; window.refuses = true; const ask = window.fetch; window.fetch = async (...given) => { \
        if (!String(given[0]).startsWith('contents') || !refuses) { return ask(...given); } \
        asked += 1; return new Response(JSON.stringify({code: 401, message: 'no'}), {status: 401}); }";
    page.run(refuse, &[]).await;
    page.press(" quay").await;
    page.says("Something failed on the server.").await;
    assert_eq!(page.run("return asked", &[]).await, 2);
    page.run("refuses = false", &[]).await;
    page.click(".notice button").await;
    page.until("document.querySelector('.notice').hidden").await;
    page.close().await;
}
