use serde_json::json;

use crate::util::{
    items::{item, user},
    search_page::SearchPage,
    web::Page,
    webdriver::Key,
};

const RECENT: &str =
    "JSON.stringify(Object.entries(localStorage).filter(([key]) => key.startsWith('trawl.recent.')))";

async fn searched(all: &SearchPage) -> Page {
    all.app.put_contents(&all.acme.caller, "article", &[item("a", "harbour", 1), item("b", "quay", 2)]).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.wait_until("document.querySelector('[data-module=article] .row')").await;
    page.press_key(Key::Enter).await;
    page.wait_until(&format!("{RECENT}.includes('harbour')")).await;
    page
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_out_clears_every_tab() {
    let all = SearchPage::start().await;
    let page = searched(&all).await;
    let client = &page.browser.client;
    let first = client.window().await.unwrap();
    let second = page.browser.open_window();
    client.switch_to_window(second).await.unwrap();
    page.go("/?q=harbour").await;
    page.click("[data-module=article] h2 a").await;
    page.wait_until("document.querySelector('.list .row')").await;
    page.sign_out().await;
    assert_eq!(page.run(&format!("return {RECENT}"), &[]).await, "[]");
    client.back().await.unwrap();
    page.wait_until("document.querySelector('.signin')?.checkVisibility()").await;
    assert_eq!(page.texts(".row").await, [""; 0]);
    client.switch_to_window(first).await.unwrap();
    page.wait_until("document.querySelector('.signin')?.checkVisibility()").await;
    assert_eq!(page.texts(".row").await, [""; 0]);
    assert_eq!(page.address().await, "/");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_restored_by_the_browser_is_reloaded() {
    let all = SearchPage::start().await;
    let page = searched(&all).await;
    all.mei.post_empty("/session/end").await.ok();
    // Simulates a return from the back/forward cache.
    page.run("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))", &[]).await;
    page.wait_until("document.querySelector('.signin')?.checkVisibility()").await;
    assert_eq!(page.texts(".row").await, [""; 0]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_in_in_another_tab_takes_over_this_one() {
    let all = SearchPage::start().await;
    all.app.sync(&all.acme.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
    let omar = all.app.web_session("omar").await;
    let page = searched(&all).await;
    let client = &page.browser.client;
    let first = client.window().await.unwrap();
    let second = page.browser.open_window();
    client.switch_to_window(second).await.unwrap();
    page.browser.hold(&omar).await;
    page.go("/").await;
    page.wait_until("document.querySelector('.person-button')?.title === 'User omar'").await;
    client.switch_to_window(first).await.unwrap();
    page.wait_until("document.querySelector('.person-button')?.title === 'User omar'").await;
    page.wait_until("document.querySelector('[data-module=article] .row')").await;
    page.run("document.querySelector('#box').select()", &[]).await;
    page.press("quay").await;
    page.press_key(Key::Enter).await;
    page.wait_until(&format!("{RECENT}.includes('quay')")).await;
    let kept =
        "return Object.entries(localStorage).filter(([, kept]) => kept.includes('quay')).map(([key]) => key)";
    assert_eq!(page.run(kept, &[]).await, json!(["trawl.recent.[\"acme\",\"omar\"]"]));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_out_elsewhere_is_reported_and_clears_the_page() {
    let all = SearchPage::start().await;
    let page = searched(&all).await;
    all.mei.post_empty("/session/end").await.ok();
    page.run("localStorage.clear(); dispatchEvent(new Event('focus'))", &[]).await;
    page.wait_for_text("You have been signed out.").await;
    page.run("document.querySelector('#box').select()", &[]).await;
    page.press("quay").await;
    page.press_key(Key::Enter).await;
    page.wait_until("location.search === '?q=quay'").await;
    page.wait_for_text("You have been signed out.").await;
    assert_eq!(page.run(&format!("return {RECENT}"), &[]).await, "[]");
    page.run("dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'));", &[]).await;
    assert!(page.shows_text("You have been signed out.").await);
    // A sign-in in another tab resumes this one.
    let mei = all.app.web_session("mei").await;
    let client = &page.browser.client;
    let first = client.window().await.unwrap();
    let second = page.browser.open_window();
    client.switch_to_window(second).await.unwrap();
    page.browser.hold(&mei).await;
    page.go("/").await;
    page.wait_until("document.querySelector('.person-button')").await;
    client.switch_to_window(first).await.unwrap();
    page.wait_until("document.querySelector('[data-module=article] h3')?.textContent === 'quay'").await;
    assert!(!page.shows_text("You have been signed out.").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_valid_session_is_not_retried_forever() {
    let all = SearchPage::start().await;
    let page = searched(&all).await;
    page.run("test.fail('contents/search', 401); test.enter('#box', 'quay')", &[]).await;
    page.wait_for_text("Something failed on the server.").await;
    assert_eq!(page.run("return test.requests", &[]).await, 2);
    page.run("test.failures = 0", &[]).await;
    page.click(".notice button").await;
    page.wait_until("document.querySelector('.notice').hidden").await;
    page.close().await;
}
