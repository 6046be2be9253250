use std::time::Duration;

use serde_json::json;

use crate::util::{
    console::Operated,
    external::{ExternalSystem, Reply},
    items::{NEW_YEAR, many},
    web::Page,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_are_plotted_by_hour_and_by_day() {
    let all = Operated::start().await;
    let since = trawl::store::now_millis() - NEW_YEAR;
    all.app.clock.pass(Duration::from_millis(u64::try_from(since).unwrap()));
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let operator = all.app.operator().await.caller.on("acme");
    let mut source = system.registration("x");
    source["name"] = json!("<b>Archive</b>");
    operator.register_source(&source, "everything", &["x"]).await;
    let search = json!({"keyword": "harbour", "moduleId": "everything"});
    for _ in 0..3 {
        all.mei.post("/contents/search", &search).await.ok();
    }
    system.set_reply(Reply::Status(503));
    all.mei.post("/contents/search", &search).await.fails(502, "no source");
    all.app.app.maintenance.make_round().await.unwrap();

    let page = Page::open(&all.mei, "/console?view=figures").await;
    page.wait_until("document.querySelectorAll('console-figures .plot svg[aria-label]').length === 2").await;
    assert_eq!(page.texts("#figures-shown").await, ["everything"]);
    let said =
        "document.querySelectorAll('.plot svg')[1].ariaLabel === 'Searches: 4 searches, 1 failed (25%)'";
    page.wait_until(said).await;
    page.click_text("<b>Archive</b>").await;
    page.wait_until("document.querySelector('#figures-shown').textContent === '<b>Archive</b>'").await;
    assert_eq!(page.address().await, "/console?view=figures&id=source%3Ax");
    page.click("console-figures details summary").await;
    let row = "[...document.querySelectorAll('details tbody tr')].some((row) => row.cells[1].textContent === '3' && row.cells[2].textContent === '1')";
    page.wait_until(row).await;

    page.choose("period", "last-weeks").await;
    page.wait_until("document.querySelector('details thead th')?.textContent === 'Day'").await;
    page.wait_until(said).await;
    page.go("/console?view=figures&id=source%3Ax&step=last-weeks").await;
    page.wait_until(said).await;
    assert_eq!(page.run("return document.querySelector('[name=period]').value", &[]).await, "last-weeks");
    page.close().await;
}
