use serde_json::json;

use crate::util::{
    console::Operated,
    external::with,
    own_search::OwnSearch,
    systems::{self, KEYWORD},
    web::Page,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn system_of_the_gallery_is_added_tried_and_searched() {
    let all = Operated::start().await;
    let wiki = systems::mediawiki().await;
    let page = Page::open(&all.mei, "/console?view=add-source").await;
    page.click_text("Or choose a wiki, a tracker, a chat …").await;
    page.click_text("MediaWiki").await;
    page.wait_for_text("The system's own search is mapped to the contract.").await;
    page.fill("url", wiki.address.as_str()).await;
    page.submit().await;
    page.wait_for_text("Where its credentials come from: a wiki that everybody reads").await;
    page.fill("keyword", KEYWORD).await;
    page.submit().await;
    page.wait_for_text("The check passed").await;

    page.fill("trialKeyword", KEYWORD).await;
    page.click_text("Search once").await;
    page.wait_for_text("10 of 25 rows").await;
    page.run("document.querySelector('.trial-result summary').click()", &[]).await;
    page.wait_for_text("curl -sS --globoff -i").await;

    page.click_text("Enable").await;
    page.find("[name=module]").await;
    page.submit().await;
    page.wait_for_text("MediaWiki is searched in MediaWiki now.").await;
    let tom = all.app.web_session("tom").await;
    let found =
        tom.post("/contents/search", &json!({"keyword": KEYWORD, "moduleId": "mediawiki"})).await.ok();
    assert_eq!((found.items().len(), found.total()), (10, 25), "{}", found.text);
    page.close().await;
}

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
