//! Real systems, registered from the gallery, in one list with built-in content.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::Caller,
    external::with,
    items::{many, user},
    opensearch,
    systems::{self, KEYWORD, ROWS, System},
};

const PAGE: &str = "7";

/// Registers a gallery entry as an operator would.
async fn register(operator: &Caller, entry: &str, system: &System) {
    let source = entry_of(operator, entry, system).await;
    let id = source["id"].as_str().unwrap();
    operator.register_source(&source, "papers", &["builtin:article", id]).await;
}

async fn entry_of(operator: &Caller, entry: &str, system: &System) -> Value {
    let gallery = operator.get("/admin/v1/gallery").await.ok();
    let entry = gallery.items().iter().find(|found| found["id"] == entry).unwrap();
    let mut source =
        json!({"kind": "mapping", "url": system.address, "auth": system.auth, "timeoutMs": 10_000});
    for field in ["id", "name", "method", "order", "pageSize", "mapping"] {
        source[field] = entry[field].clone();
    }
    with(source, "pageSize", 10)
}

/// Follows the cursor; by relevance, as most systems order so.
async fn find_all(caller: &Caller, order: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let mut cursor = String::new();
    loop {
        let parameters = [
            ("moduleId", "papers"),
            ("keyword", KEYWORD),
            ("limit", PAGE),
            ("paging", "cursor"),
            ("sort", order),
            ("cursor", &cursor),
        ];
        let given = parameters.into_iter().filter(|(name, value)| *name != "cursor" || !value.is_empty());
        let page = caller.search(&given.collect::<Vec<_>>()).await.ok();
        assert_eq!(page.body["partial"], false, "{}", page.text);
        items.extend_from_slice(page.items());
        match page.cursor() {
            Some(next) => cursor = next,
            None => return items,
        }
        assert!(items.len() < 100, "the pages do not end");
    }
}

async fn assert_federated(entry: &str, system: System, orders: &[&str]) {
    let (app, operator) = TestApp::start_operated().await;
    register(&operator, entry, &system).await;
    let caller = app.tenant("acme").await.caller;
    let own = many("own-", KEYWORD, 5, 1);
    app.put_contents(&caller, "article", &own).await;

    for order in orders {
        let items = find_all(&caller, order).await;
        let ids: HashSet<&str> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!((items.len(), ids.len()), (ROWS + own.len(), ROWS + own.len()), "{entry} by {order}");
        assert!(system.ids.iter().all(|id| ids.contains(id.as_str())), "{entry}: {ids:?}");
        let foreign =
            items.iter().find(|item| system.ids.iter().any(|id| item["id"] == id.as_str())).unwrap();
        assert!(foreign["displayTime"].as_i64().unwrap() > 0 && foreign["title"] != "", "{foreign}");
        assert!(foreign["action"].as_str().unwrap().contains("[OpenUrl]"), "{foreign}");
    }
    let report =
        operator.post_empty(&format!("/admin/v1/sources/{entry}/check?keyword={KEYWORD}")).await.ok();
    let clauses = report.data()["clauses"].as_array().unwrap();
    let broken: Vec<&Value> = clauses.iter().filter(|clause| clause["verdict"] == "fail").collect();
    let total_is_known = entry != "verdaccio";
    assert!(broken.iter().all(|clause| !total_is_known && clause["id"] == "total"), "{entry}: {broken:?}");

    let status = system.stop().await;
    let answer = caller.search(&[("moduleId", "papers"), ("keyword", KEYWORD)]).await.ok();
    assert_eq!(answer.source(entry)["status"], status, "{}", answer.text);
    assert_eq!((answer.items().len(), &answer.body["partial"]), (own.len(), &json!(true)));
}

#[tokio::test]
async fn datasette_is_searched_with_built_in_content() {
    assert_federated("datasette", systems::datasette().await, &["time", "relevance"]).await;
}

#[tokio::test]
async fn verdaccio_is_searched_with_built_in_content() {
    assert_federated("verdaccio", systems::verdaccio().await, &["relevance"]).await;
}

#[tokio::test]
async fn opensearch_is_searched_with_built_in_content() {
    let Some(node) = opensearch::node() else {
        eprintln!("skipped: TRAWL_TEST_OPENSEARCH names no node");
        return;
    };
    assert_federated("elasticsearch", systems::opensearch(&node).await, &["relevance"]).await;
}

#[tokio::test]
async fn wordpress_is_searched_with_built_in_content() {
    assert_federated("wordpress", systems::wordpress().await, &["time", "relevance"]).await;
}

#[tokio::test]
async fn redmine_is_searched_with_built_in_content() {
    let system = systems::redmine().await;
    assert_trimmed(&system).await;
    assert_federated("redmine", system, &["time", "relevance"]).await;
}

/// Redmine lets a service account act for a person, and shows the issue of a private project to its members alone.
async fn assert_trimmed(system: &System) {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!(["mei", "omar", "ana"].map(|login| user(login, "")))).await;
    let operator = app.operator().await.caller.on("acme");
    let mut source = entry_of(&operator, "redmine", system).await;
    let gallery = operator.get("/admin/v1/gallery").await.ok();
    let entry = gallery.items().iter().find(|found| found["id"] == "redmine").unwrap();
    source["mapping"]["request"]["headers"] = entry["person"]["headers"].clone();
    operator.register_source(&source, "papers", &["redmine"]).await;
    let ask = async |login| {
        app.user(&acme, login).await.search(&[("moduleId", "papers"), ("keyword", "mooring")]).await
    };
    let omar = ask("omar").await.ok();
    assert_eq!((omar.total(), omar.items()[0]["title"].as_str().unwrap().contains("Mooring")), (1, true));
    assert_eq!(ask("mei").await.ok().total(), 0);
    // Nobody of this login is known there.
    let ana = ask("ana").await;
    assert_eq!(ana.source("redmine")["status"], "unauthorized", "{}", ana.text);
}

#[tokio::test]
async fn mediawiki_is_searched_with_built_in_content() {
    assert_federated("mediawiki", systems::mediawiki().await, &["relevance"]).await;
}
