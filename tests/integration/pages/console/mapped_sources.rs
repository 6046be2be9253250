use serde_json::json;

use crate::util::{console::Operated, external::with, own_search::OwnSearch, web::Page};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mapping_stays_when_its_source_is_edited() {
    let all = Operated::start().await;
    let system = OwnSearch::always("[]").await;
    let mapping =
        json!({"request": {}, "paging": "none", "answer": {"rows": ".[]", "id": ".id", "displayTime": "0"}});
    let key = json!({"type": "API_KEY", "parameter": "key", "key": "hush-hush-hush"});
    let source = with(system.registration("wiki", &mapping), "auth", key);
    all.mei.post("/admin/v1/sources", &source).await.ok();
    let page = Page::open(&all.mei, "/console?view=sources&id=wiki&step=edit").await;
    page.fill("name", "Wiki of the port").await;
    page.submit().await;
    page.wait_for_text("Saved.").await;
    page.wait_for_text("own search, mapped to the contract").await;
    let source = all.mei.get("/admin/v1/sources/wiki").await.ok();
    assert_eq!((&source.data()["name"], &source.data()["mapping"]), (&json!("Wiki of the port"), &mapping));
    assert_eq!(source.data()["auth"]["parameter"], "key");
    page.close().await;
}
