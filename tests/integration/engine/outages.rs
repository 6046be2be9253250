//! A cluster that is away, and indexes of another database.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::util::{
    app::TestApp,
    caller::Caller,
    eventually,
    items::{NEW_YEAR, item},
    opensearch::{self, on_node},
    relay::Relay,
};

const HARBOUR: [(&str, &str); 2] = [("moduleId", "article"), ("keyword", "harbour")];

/// Over a relay to the node. The directory names the indexes.
async fn over(relay: &Relay) -> (TestApp, TempDir) {
    let unique = tempfile::tempdir().unwrap();
    let mut engine = on_node(unique.path());
    engine.opensearch.urls = vec![relay.base.parse().unwrap()];
    (TestApp::start_with(|config| config.engine = engine).await, unique)
}

async fn readiness(caller: &Caller) -> (u16, Value) {
    let answer = caller.get("/readyz").await;
    (answer.status, answer.body["engine"].clone())
}

#[tokio::test]
async fn cluster_that_is_away_is_named_and_never_passes_for_nothing_found() {
    let Some(node) = opensearch::node() else { return };
    let relay = Relay::to(&node).await;
    let (app, _unique) = over(&relay).await;
    let (acme, operator) = (app.tenant("acme").await.caller, app.operator().await.caller);
    app.put_contents(&acme, "article", &[item("a", "harbour", NEW_YEAR)]).await;
    assert_eq!(acme.search(&HARBOUR).await.ok().ids(), ["a"]);
    eventually("readiness", async || (readiness(&acme).await.0 == 200).then_some(())).await;

    relay.cut();
    for sort in ["time", "relevance"] {
        // Pages that were read before are cached.
        let parameters = [HARBOUR[0], ("keyword", "harbours"), ("sort", sort)];
        let away = acme.search(&parameters).await;
        assert_eq!(away.status, 502, "{}", away.text);
        let source = &away.body["sources"][0];
        assert_eq!(source["status"], "unavailable", "{source}");
        assert_eq!(source["message"], "OpenSearch cannot be reached", "{source}");
    }
    acme.get("/contents/suggest?prefix=harb").await.fails(503, "OpenSearch cannot be reached");
    let engine = eventually("the outage at /readyz", async || {
        let (status, engine) = readiness(&acme).await;
        assert_eq!(status, 200, "all replicas share the cluster, so this one stays ready");
        (engine["status"] == "unavailable").then_some(engine)
    });
    assert_eq!(
        engine.await,
        json!({
            "kind": "opensearch", "status": "unavailable", "message": "OpenSearch cannot be reached",
        })
    );
    let index = operator.get("/admin/v1/index").await.ok();
    assert_eq!(
        (&index.data()["documents"], &index.data()["engine"]["status"]),
        (&Value::Null, &"unavailable".into())
    );
    let metrics = acme.get("/metrics").await.text;
    assert!(metrics.contains("trawl_engine_available 0"), "{metrics}");
    // Writes go on.
    acme.put("/v1/contents/article", &json!([item("b", "harbour", NEW_YEAR + 1)])).await.ok();

    relay.mend();
    app.wait_for_index().await;
    let found = eventually("a complete answer", async || {
        let found = acme.search(&HARBOUR).await;
        (found.status == 200 && found.body["partial"] == false).then_some(found)
    });
    assert_eq!(found.await.ids(), ["b", "a"]);
    eventually("good health", async || (readiness(&acme).await.1["status"] == "good").then_some(())).await;
}

#[tokio::test]
async fn missing_copies_are_told_of_and_hide_nothing() {
    let Some(_) = opensearch::node() else { return };
    let unique = tempfile::tempdir().unwrap();
    let mut engine = on_node(unique.path());
    // There is one node.
    engine.opensearch.replicas = 1;
    let app = TestApp::start_with(|config| config.engine = engine).await;
    let acme = app.tenant("acme").await.caller;
    app.put_contents(&acme, "article", &[item("a", "harbour", NEW_YEAR)]).await;
    let engine = eventually("the missing copies at /readyz", async || {
        let (status, engine) = readiness(&acme).await;
        (status == 200 && engine["status"] == "degraded").then_some(engine)
    });
    let engine = engine.await;
    let found = acme.search(&HARBOUR).await.ok();
    assert_eq!((found.ids(), &found.body["partial"]), (vec!["a"], &false.into()));
    let source = &found.body["sources"][0];
    assert_eq!((&source["status"], &source["message"]), (&"ok".into(), &engine["message"]), "{source}");
    assert!(engine["message"].as_str().unwrap().contains("copies"), "{engine}");
    let metrics = acme.get("/metrics").await.text;
    assert!(metrics.contains("trawl_engine_degraded 1"), "{metrics}");
}

#[tokio::test]
async fn index_moves_away_from_a_cluster_that_is_away() {
    let Some(node) = opensearch::node() else { return };
    let relay = Relay::to(&node).await;
    let (app, _unique) = over(&relay).await;
    let (acme, operator) = (app.tenant("acme").await.caller, app.operator().await.caller);
    app.put_contents(&acme, "article", &[item("a", "harbour", NEW_YEAR)]).await;
    relay.cut();
    acme.put("/v1/contents/article", &json!([item("b", "harbour", NEW_YEAR + 1)])).await.ok();
    let moving = operator.post("/admin/v1/index/move", &json!({"to": "tantivy"})).await.ok();
    assert_eq!(moving.data()["moving"]["to"], "tantivy", "{}", moving.text);
    let engine = eventually("the embedded engine", async || {
        let (_, engine) = readiness(&acme).await;
        (engine["kind"] == "tantivy").then_some(engine)
    });
    assert_eq!(engine.await, json!({"kind": "tantivy", "status": "good", "message": null}));
    eventually("readiness", async || (readiness(&acme).await.0 == 200).then_some(())).await;
    assert_eq!(acme.search(&HARBOUR).await.ok().ids(), ["b", "a"]);
}

#[tokio::test]
async fn server_starts_without_its_cluster_and_is_ready_once_it_is_there() {
    let Some(node) = opensearch::node() else { return };
    let relay = Relay::to(&node).await;
    relay.cut();
    let (app, _unique) = over(&relay).await;
    let acme = app.tenant("acme").await.caller;
    acme.put("/v1/contents/article", &json!([item("a", "harbour", NEW_YEAR)])).await.ok();
    assert_eq!(acme.search(&HARBOUR).await.status, 502);
    assert_eq!(readiness(&acme).await.0, 503);
    relay.mend();
    eventually("readiness", async || (readiness(&acme).await.0 == 200).then_some(())).await;
    app.wait_for_index().await;
    assert_eq!(acme.search(&HARBOUR).await.ok().ids(), ["a"]);
}

#[tokio::test]
async fn indexes_of_another_database_are_left_alone_until_a_rebuild_is_asked_for() {
    let Some(_) = opensearch::node() else { return };
    let unique = tempfile::tempdir().unwrap();
    let engine = on_node(unique.path());
    let first = TestApp::start_with(|config| config.engine = engine.clone()).await;
    let acme = first.tenant("acme").await.caller;
    first.put_contents(&acme, "article", &[item("a", "harbour", NEW_YEAR)]).await;

    let second = TestApp::start_with(|config| config.engine = engine.clone()).await;
    let (other, operator) = (second.tenant("other").await.caller, second.operator().await.caller);
    other.put("/v1/contents/article", &json!([item("b", "harbour", NEW_YEAR)])).await.ok();
    let refused = other.search(&HARBOUR).await;
    assert_eq!(refused.status, 502, "{}", refused.text);
    let message = refused.body["sources"][0]["message"].as_str().unwrap();
    assert!(message.contains("belong to another database") && message.contains("index_prefix"), "{message}");
    first.put_contents(&acme, "article", &[item("c", "harbour", NEW_YEAR + 1)]).await;
    assert_eq!(acme.search(&HARBOUR).await.ok().ids(), ["c", "a"]);

    operator.post_empty("/admin/v1/index/rebuild").await.ok();
    second.wait_for_rebuild().await;
    assert_eq!(other.search(&HARBOUR).await.ok().ids(), ["b"]);
    // Both tenants have the same number.
    let refused = eventually("a refusal at the first server", async || {
        let answer = acme.search(&[HARBOUR[0], ("keyword", "harbor harbour")]).await;
        assert!(!answer.text.contains("\"b\""), "{}", answer.text);
        answer.text.contains("belong to another database").then_some(answer)
    });
    assert_eq!(refused.await.status, 502);
}
