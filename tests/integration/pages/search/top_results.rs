//! The best results of all modules, above their sections.

use serde_json::json;

use crate::util::{
    eventually,
    external::ExternalSystem,
    gate::Gate,
    items::{NEW_YEAR, item, many},
    search_page::SearchPage,
    web::Page,
    webdriver::Key,
};

const NAMES: &str = "return [...document.querySelectorAll('.top .row')].map((row) => \
    [row.querySelector('.of-module').textContent, row.querySelector('h3').textContent])";
const AT_REST: &str = "!document.querySelector('.overview').ariaBusy";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn best_results_name_their_modules_and_stand_first() {
    let all = SearchPage::start().await;
    let mut news = item("n", "The week", NEW_YEAR);
    news["brief"] = "Among many other things: dues of the harbour".into();
    all.app.put_contents(&all.acme.caller, "news", &[news]).await;
    all.app.put_contents(&all.acme.caller, "article", &[item("a", "Harbour dues", NEW_YEAR)]).await;
    let system = ExternalSystem::start(vec![item("x", "<b>Harbour</b> dues, paid", NEW_YEAR)]).await;
    all.operator.post("/admin/v1/sources", &system.registration("x")).await.ok();
    let module = json!({"code": "wiki", "name": "<i>Wiki</i>", "type": 100, "sources": ["x"]});
    all.operator.post("/admin/v1/modules", &module).await.ok();

    let page = Page::open(&all.mei, "/?q=harbour%20dues").await;
    let expected = json!([
        ["Articles", "Harbour dues"],
        ["<i>Wiki</i>", "<b>Harbour</b> dues, paid"],
        ["News", "The week"]
    ]);
    // A slow system is not waited for.
    eventually("the best results of all three", async || {
        page.go("/?q=harbour%20dues").await;
        page.wait_until(&format!("{AT_REST} && document.querySelector('[data-module=news] .row')")).await;
        (page.run(NAMES, &[]).await == expected).then_some(())
    })
    .await;
    assert_eq!(page.texts(".overview h2").await[0], "Top results");

    // Keys and the item beside the list come back to the same one of the two rows.
    page.run("document.querySelector('[data-module=article] .open').focus()", &[]).await;
    page.press(" ").await;
    page.wait_until("document.querySelector('.look:not([aria-busy])')").await;
    page.press_key(Key::Escape).await;
    page.wait_until("document.activeElement.closest('[data-module=article]')").await;

    page.go("/?q=harbour%20dues&sort=time").await;
    page.wait_until(&format!("{AT_REST} && document.querySelector('[data-module=news] .row')")).await;
    assert_eq!(page.run("return document.querySelector('.top').checkVisibility()", &[]).await, false);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn best_results_do_not_wait_for_a_hanging_system() {
    let all = SearchPage::with(&many("a", "harbour", 3, 1)).await;
    let slow = Gate::start(&many("x", "harbour contract", 4, 1)).await;
    all.register_source(&slow.registration("slow"), "Contracts", 1).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.wait_until("document.querySelectorAll('.top .row').length === 3").await;
    assert_eq!(page.run(&format!("return {AT_REST}"), &[]).await, false);
    slow.open();
    page.wait_until(&format!(
        "{AT_REST} && document.querySelectorAll('[data-module=contracts] .row').length === 4"
    ))
    .await;
    page.close().await;
}
