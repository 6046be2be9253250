//! Real systems, registered from the gallery, in one list with built-in content.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::Caller,
    console::Operated,
    external::with,
    items::{many, user},
    opensearch,
    paging::items_by_cursor,
    systems::{self, KEYWORD, ROWS, System},
    web::Page,
};

const PAGE: usize = 7;

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

/// Whether its total is the number of its rows.
fn has_total(entry: &str) -> bool {
    entry != "verdaccio"
}

/// An operator adds it in the console: chosen, checked, tried, enabled, in a module for others.
async fn assert_added_in_console(entry: &str, system: &System) {
    let all = Operated::start().await;
    let gallery = all.mei.get("/admin/v1/gallery").await.ok();
    let entry = gallery.items().iter().find(|found| found["id"] == entry).unwrap();
    let (name, has_total) = (entry["name"].as_str().unwrap(), has_total(entry["id"].as_str().unwrap()));
    let page = Page::open(&all.mei, "/console?view=add-source").await;
    page.click_text("Or choose a wiki, a tracker, a chat …").await;
    page.click_text(name).await;
    page.wait_for_text("The system's own search is mapped to the contract.").await;
    page.fill("url", system.address.as_str()).await;
    page.submit().await;
    page.wait_for_text(&format!(
        "Where its credentials come from: {}",
        entry["auth"][0]["from"].as_str().unwrap()
    ))
    .await;
    page.choose("auth.type", system.auth["type"].as_str().unwrap()).await;
    if let Some(key) = system.auth["key"].as_str() {
        page.fill("auth.header", system.auth["header"].as_str().unwrap()).await;
        page.fill("auth.key", key).await;
    }
    page.fill("timeoutMs", "10000").await;
    page.fill("keyword", KEYWORD).await;
    page.submit().await;
    if has_total {
        page.wait_for_text("The check passed").await;
    }

    page.fill("trialKeyword", KEYWORD).await;
    page.click_text("Search once").await;
    let tried = if has_total { format!("10 of {ROWS} rows") } else { "rows".to_owned() };
    page.wait_for_text(&tried).await;
    page.find(".trial-result summary").await;
    page.run("document.querySelector('.trial-result summary').click()", &[]).await;
    page.wait_for_text("curl -sS --globoff -i").await;

    page.click_text(if has_total { "Enable" } else { "Enable all the same" }).await;
    page.find("[name=module]").await;
    page.submit().await;
    page.wait_for_text(&format!("{name} is searched in {name} now.")).await;
    let modules = all.mei.get("/admin/v1/modules").await.ok();
    let module = modules.items().iter().find(|module| module["name"] == name).unwrap();
    let tom = all.app.web_session("tom").await;
    let search = json!({"keyword": KEYWORD, "moduleId": module["code"], "limit": ROWS});
    let found = tom.post("/contents/search", &search).await.ok();
    let ids: HashSet<&str> = found.items().iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(ids, system.ids.iter().map(String::as_str).collect(), "{}", found.text);
    assert!(!has_total || found.total() == ROWS as u64, "{}", found.text);
    page.close().await;
}

async fn assert_federated(entry: &str, system: System, orders: &[&str]) {
    assert_added_in_console(entry, &system).await;
    let (app, operator) = TestApp::start_operated().await;
    register(&operator, entry, &system).await;
    let caller = app.tenant("acme").await.caller;
    let own = many("own-", KEYWORD, 5, 1);
    app.put_contents(&caller, "article", &own).await;

    for order in orders {
        let query = [("moduleId", "papers"), ("keyword", KEYWORD), ("sort", order)];
        let items = items_by_cursor(&caller, &query, PAGE).await;
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
    assert!(broken.iter().all(|clause| !has_total(entry) && clause["id"] == "total"), "{entry}: {broken:?}");

    let status = system.stop().await;
    let answer = caller.search(&[("moduleId", "papers"), ("keyword", KEYWORD)]).await.ok();
    assert_eq!(answer.source(entry)["status"], status, "{}", answer.text);
    assert_eq!((answer.items().len(), &answer.body["partial"]), (own.len(), &json!(true)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn datasette_is_searched_with_built_in_content() {
    assert_federated("datasette", systems::datasette().await, &["time", "relevance"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verdaccio_is_searched_with_built_in_content() {
    assert_federated("verdaccio", systems::verdaccio().await, &["relevance"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opensearch_is_searched_with_built_in_content() {
    let Some(node) = opensearch::node() else {
        eprintln!("skipped: TRAWL_TEST_OPENSEARCH names no node");
        return;
    };
    assert_federated("elasticsearch", systems::opensearch(&node).await, &["relevance"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wordpress_is_searched_with_built_in_content() {
    assert_federated("wordpress", systems::wordpress().await, &["time", "relevance"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redmine_is_searched_with_built_in_content() {
    let system = systems::redmine().await;
    assert_trimmed(&system).await;
    assert_federated("redmine", system, &["time", "relevance"]).await;
}

/// Asserts that people find only what Redmine shows them.
///
/// A service account acts for each person. The issue of a private project is shown to its members alone.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mediawiki_is_searched_with_built_in_content() {
    assert_federated("mediawiki", systems::mediawiki().await, &["relevance"]).await;
}
