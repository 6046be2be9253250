//! `recency` of modules: the gain of new items in relevance order.

use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::Caller,
    external::{ExternalSystem, with},
    items::{NEW_YEAR, item},
};

/// No search is later than this.
const NEW: i64 = 4_000_000_000_000;
const BY_RELEVANCE: [(&str, &str); 3] =
    [("moduleId", "all"), ("keyword", "harbour budget "), ("sort", "relevance")];

fn better() -> Value {
    item("better", "Harbour budget draft", NEW_YEAR)
}

fn newer(id: &str) -> Value {
    item(id, "Budget of the old harbour by the sea", NEW)
}

async fn set(operator: &Caller, recency: Value) {
    let module = operator.get("/admin/v1/modules/id-of-all").await.ok().data().clone();
    operator.put("/admin/v1/modules/id-of-all", &with(module, "recency", recency)).await.ok();
}

async fn order(caller: &Caller) -> Vec<String> {
    caller.search(&BY_RELEVANCE).await.ok().ids().into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn new_item_passes_a_better_one_where_its_module_says_so() {
    let (app, operator) = TestApp::start_operated().await;
    let acme = app.tenant("acme").await.caller;
    app.put_contents(&acme, "article", &[better(), newer("new")]).await;
    operator.register_module("all", &["builtin:article"]).await;
    assert_eq!(order(&acme).await, ["better", "new"], "15 % by default");
    set(&operator, json!({"percent": 100, "halfLifeDays": 1})).await;
    assert_eq!(order(&acme).await, ["new", "better"], "in force at once");
    let answer = operator.search(&[&BY_RELEVANCE[..], &[("explain", "true")]].concat()).await.ok();
    assert_eq!(answer.items()[0]["explain"]["factors"]["recency"], 2.0);
    set(&operator, json!({"percent": 0})).await;
    assert_eq!(order(&acme).await, ["better", "new"]);
    let answer = operator.search(&[&BY_RELEVANCE[..], &[("explain", "true")]].concat()).await.ok();
    assert!(
        answer.items().iter().all(|item| item["explain"]["factors"]["recency"] == 1.0),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn recency_of_a_mixed_module_holds_for_all_its_sources() {
    let (app, operator) = TestApp::start_operated().await;
    let acme = app.tenant("acme").await.caller;
    app.put_contents(&acme, "article", &[better()]).await;
    app.put_contents(&acme, "news", &[newer("news")]).await;
    let system = ExternalSystem::start(vec![newer("external")]).await;
    let sources = ["builtin:article", "builtin:news", "x"];
    operator.register_source(&system.registration("x"), "all", &sources).await;
    operator.register_module("other", &sources).await;
    set(&operator, json!({"percent": 0})).await;
    assert_eq!(order(&acme).await[0], "better");
    set(&operator, json!({"percent": 100, "halfLifeDays": 1})).await;
    assert_eq!(order(&acme).await[2], "better");
    let other = [("moduleId", "other"), BY_RELEVANCE[1], BY_RELEVANCE[2]];
    assert_eq!(acme.search(&other).await.ok().ids()[0], "better", "another module of the same sources");
}
