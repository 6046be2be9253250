//! The search page before a search.

use serde_json::json;

use crate::util::{
    favorites::add_text,
    items::{item, todo},
    search_page::SearchPage,
    web::Page,
    webdriver::Key,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn start_page_shows_what_is_open_new_kept_and_opened() {
    let all = SearchPage::start().await;
    let now = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let articles = [
        item("old", "Harbour of old", 1),
        item("new", "<b>New</b> quay", now),
        item("later", "Newer quay", now + 1),
    ];
    all.app.put_contents(&all.acme.caller, "article", &articles).await;
    all.acme.caller.post("/api/todo/create", &todo("t1", "Approve the budget", "mei")).await.ok();
    add_text(&all.app.user(&all.acme, "mei").await, "f1", "Canteen menu").await;
    all.app.wait_for_index().await;

    let page = Page::open(&all.mei, "/").await;
    page.wait_until("document.querySelectorAll('.start-parts section').length === 3").await;
    assert_eq!(page.texts(".start-parts h2").await, ["My open to-dos", "New since yesterday", "Favorites"]);
    let titles = "return [...document.querySelectorAll('.start-parts section')].map((part) =>
        [...part.querySelectorAll('h3')].map((title) => title.textContent))";
    let shown = page.run(titles, &[]).await;
    assert_eq!(shown[0], json!(["Approve the budget"]));
    assert_eq!(shown[2], json!(["Canteen menu"]));
    let news = shown[1].as_array().unwrap();
    assert!(news.contains(&json!("<b>New</b> quay")) && !news.contains(&json!("Harbour of old")), "{news:?}");

    // From the box by keyboard to a row, and to the item beside it.
    page.press_key(Key::Down).await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelector('.look h2')?.textContent === 'Approve the budget'").await;
    page.wait_until("document.querySelector('.look:not([aria-busy])')").await;
    page.press_key(Key::Escape).await;
    page.wait_until("document.querySelector('.look').hidden && location.search === ''").await;
    page.go("/?q=old&item=article%2Fold").await;
    page.wait_until("document.querySelector('.look h2')?.textContent === 'Harbour of old'").await;
    page.wait_until("document.querySelector('.look:not([aria-busy])')").await;

    page.go("/").await;
    page.wait_until("document.querySelectorAll('.start-parts section').length === 4").await;
    let shown = page.run(titles, &[]).await;
    assert_eq!(shown[0], json!(["Harbour of old", "Approve the budget"]));
    // Gone meanwhile.
    all.acme.caller.post("/v1/contents/article/delete", &json!(["old"])).await.ok();
    all.app.wait_for_index().await;
    page.go("/").await;
    page.wait_until(
        "document.querySelector('#start-opened')?.parentElement.querySelectorAll('.row').length === 1",
    )
    .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn question_mark_shows_the_keys() {
    let all = SearchPage::with(&[item("a", "harbour", 1)]).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.wait_until("document.querySelector('[data-module=article] .row')").await;
    page.press("?").await;
    page.wait_until("document.querySelector('#box').value === 'harbour?' && !document.querySelector('.overview').ariaBusy").await;
    assert_eq!(page.run("return document.querySelector('.help').open", &[]).await, false);
    page.press_key(Key::Down).await;
    page.press("?").await;
    page.wait_until("document.querySelector('.help').open").await;
    assert_eq!(page.texts(".help h2").await, ["Keys"]);
    page.press("/").await;
    assert_eq!(page.run("return document.activeElement.closest('.help') !== null", &[]).await, true);
    page.press_key(Key::Escape).await;
    page.wait_until("!document.querySelector('.help').open && document.activeElement.closest('.row')").await;
    page.close().await;
}
