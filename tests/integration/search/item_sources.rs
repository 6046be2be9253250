//! `source` of items: the source that gave them, in every answer.

use serde_json::{Value, json};

use crate::util::{
    all_modules::{PATH, module_entry, search_all},
    app::TestApp,
    events::Events,
    eventually,
    external::{ExternalSystem, with},
    items::{NEW_YEAR, item},
};

/// Ids and sources.
fn sources_of(items: &Value) -> Vec<[&str; 2]> {
    let items = items.as_array().unwrap().iter();
    items.map(|item| ["id", "source"].map(|name| item[name].as_str().unwrap())).collect()
}

const A1: [&str; 2] = ["a1", "builtin:article"];
const A2: [&str; 2] = ["a2", "builtin:article"];
const SAME: [&str; 2] = ["a1", "x"];
const X2: [&str; 2] = ["x2", "x"];

#[tokio::test]
async fn item_names_the_source_that_gave_it() {
    let (app, operator) = TestApp::start_operated().await;
    let caller = app.tenant("acme").await.caller;
    let articles = [item("a1", "harbour", NEW_YEAR + 4), item("a2", "harbour", NEW_YEAR + 1)];
    app.put_contents(&caller, "article", &articles).await;
    // Of another server's item, `source` is one of that server.
    let theirs = with(item("a1", "harbour", NEW_YEAR + 3), "source", "builtin:news");
    let system = ExternalSystem::start(vec![theirs, item("x2", "harbour", NEW_YEAR + 2)]).await;
    operator.register_source(&system.registration("x"), "both", &["builtin:article", "x"]).await;
    let query = [("keyword", "harbour"), ("moduleId", "both"), ("limit", "3")];

    let first = caller.search(&query).await.ok();
    assert_eq!(sources_of(first.data()), [A1, SAME, X2]);
    let cursor = first.body["cursor"].as_str().unwrap();
    let second = caller.search(&[&query[..], &[("cursor", cursor)]].concat()).await.ok();
    assert_eq!(sources_of(second.data()), [A2]);
    let parameters = [&query[..2], &[("sort", "relevance"), ("highlight", "true")]].concat();
    let ranked = caller.search(&parameters).await.ok();
    let mut named = sources_of(ranked.data());
    named.sort_unstable();
    assert_eq!(named, [A1, SAME, A2, X2]);
    assert_eq!(ranked.items()[0]["highlight"]["title"], "<em>harbour</em>", "further fields stay beside it");

    let pins = json!({"pinned": [{"keyword": "harbour", "items": [{"module": "article", "id": "a2"}]}]});
    operator.put("/admin/v1/vocabulary", &pins).await.ok();
    assert_eq!(sources_of(caller.search(&query).await.ok().data()), [A2, A1, SAME, X2]);
    let shown = caller.get("/v1/contents/both/a2").await.ok();
    assert_eq!(shown.data()["source"], "builtin:article");
    let operators = operator.post("/admin/v1/search?keyword=harbour&moduleId=both", &json!({})).await.ok();
    assert_eq!(sources_of(operators.data()), [A2, A1, SAME, X2]);
}

#[tokio::test]
async fn item_of_all_modules_names_its_source() {
    let (app, operator) = TestApp::start_operated().await;
    let caller = app.tenant("acme").await.caller;
    app.put_contents(&caller, "article", &[item("a1", "harbour", NEW_YEAR)]).await;
    let system = ExternalSystem::start(vec![item("x2", "harbour", NEW_YEAR)]).await;
    operator.register_source(&system.registration("x"), "wiki", &["x"]).await;
    let parameters = [("keyword", "harbour"), ("sort", "relevance"), ("top", "5"), ("timeout", "10000")];
    let whole = eventually("the best of all modules", async || {
        let whole = search_all(&caller, &parameters).await.ok();
        (whole.body["top"]["partial"] == false).then_some(whole)
    })
    .await;
    assert_eq!(sources_of(&module_entry(whole.items(), "article")["data"]), [A1]);
    assert_eq!(sources_of(&module_entry(whole.items(), "wiki")["data"]), [X2]);
    let mut top = sources_of(&whole.body["top"]["data"]);
    top.sort_unstable();
    assert_eq!(top, [A1, X2]);
    let (modules, _) = Events::open(&caller, PATH, &parameters[..1]).await.read_to_end().await;
    assert_eq!(sources_of(&module_entry(&modules, "wiki")["data"]), [X2]);
}
