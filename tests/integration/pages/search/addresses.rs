//! Addresses that a person writes or shares.

use serde_json::json;

use crate::util::{
    items::{item, todo},
    search_page::{SearchPage, with_articles},
    web::Page,
    webdriver::Key,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_parts_of_the_address_are_corrected() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/").await;
    for (written, corrected) in [
        ("/?q=harbour&from=2024-02-31&to=x&sort=best&module=article", "/?q=harbour&module=article"),
        ("/?q=harbour&from=2024-03-01&to=1970-01-01", "/?q=harbour&from=1970-01-01&to=2024-03-01"),
        ("/?q=harbour&from=0024-01-01&to=99999-01-01", "/?q=harbour"),
        ("/?source=x&q=harbour&nonsense=1", "/?q=harbour"),
    ] {
        page.go(written).await;
        page.wait_until(&format!("location.pathname + location.search === {}", json!(corrected))).await;
        page.wait_until("[...document.querySelectorAll('.row')].some((row) => row.checkVisibility())").await;
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn module_without_words_lists_its_items_newest_first() {
    let all = SearchPage::start().await;
    let articles = [item("b", "Quay", 2), item("c", "Harbour", 3), item("a", "Old harbour", 1)];
    all.app.put_contents(&all.acme.caller, "article", &articles).await;
    all.acme.caller.post("/api/todo/create", &todo("t1", "Approve the budget", "mei")).await.ok();
    all.app.wait_for_index().await;
    let page = Page::open(&all.mei, "/").await;
    page.click("#start-todos a").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 1").await;
    assert_eq!(page.texts(".list h3").await, ["Approve the budget"]);
    assert_eq!(page.address().await, "/?module=todo");

    page.click(".modules li:nth-child(2) a").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 3").await;
    assert_eq!(page.texts(".list h3").await, ["Harbour", "Quay", "Old harbour"]);
    assert_eq!(page.address().await, "/?module=article");
    assert_eq!(
        page.run("return [document.querySelector('#box').value, document.title]", &[]).await,
        json!(["", "Articles · Search"])
    );
    // There is one order only.
    assert_eq!(page.texts(".sort").await, [""; 0]);
    page.run("document.querySelector('#box').focus()", &[]).await;
    page.press("harb").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 2").await;
    assert_eq!(page.address().await, "/?q=harb&module=article");
    page.press_key(Key::Escape).await;
    page.wait_until("document.querySelectorAll('.list .row').length === 3").await;
    page.press_key(Key::Escape).await;
    page.wait_until("location.search === '' && document.querySelector('.start').checkVisibility()").await;
    page.browser.client.back().await.unwrap();
    page.wait_until("document.querySelectorAll('.list .row').length === 3").await;
    page.go("/?module=news").await;
    page.wait_for_text("There is nothing here yet.").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_module_is_told_and_the_others_are_offered() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/").await;
    for (address, rows) in [("/?module=nope", 2), ("/?q=harbour&module=nope", 1)] {
        page.go(address).await;
        page.wait_for_text("There is nothing of this name to search in.").await;
        assert_eq!(page.texts(".list .row, .chip, .modules [aria-current]").await, [""; 0]);
        page.click(".modules li:nth-child(2) a").await;
        page.wait_until(&format!("document.querySelectorAll('.list .row').length === {rows}")).await;
        assert!(!page.shows_text("There is nothing of this name").await);
        page.go(address).await;
        page.click(".list .empty button").await;
        page.wait_until("!location.search.includes('module')").await;
    }
    page.close().await;
}
