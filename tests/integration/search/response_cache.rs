//! Cached pages of external sources.

use std::collections::HashSet;

use serde_json::json;

use crate::util::{
    app::{Application, TestApp},
    external::{ExternalSystem, Reply, with},
    items::{NEW_YEAR, item, many},
};

const ALL: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "all")];

const LONG: u64 = 3_600_000;

async fn start(system: &ExternalSystem, fresh_ms: u64, stale_ms: u64) -> (TestApp, Application) {
    let app = TestApp::start_with(|config| {
        (config.cache.fresh_ms, config.cache.stale_ms) = (fresh_ms, stale_ms);
    })
    .await;
    let acme = app.tenant("acme").await;
    app.register_source(&acme, system.registration("x"), "all", &["x"]).await;
    (app, acme)
}

#[tokio::test]
async fn failing_source_is_served_stale_and_marked() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (_app, acme) = start(&system, 0, LONG).await;
    let before = acme.caller.search(&ALL).await.ok();
    assert_eq!(before.source("x").get("stale"), None);
    system.set_reply(Reply::Status(500));
    let after = acme.caller.search(&ALL).await.ok();
    assert_eq!((after.ids(), &after.body["partial"]), (before.ids(), &json!(false)));
    let report = after.source("x");
    assert_eq!((&report["status"], &report["stale"]), (&json!("ok"), &json!(true)), "{report}");
    assert!(report["message"].as_str().unwrap().contains("HTTP 500"), "{report}");
    acme.caller.search(&[("keyword", "other"), ALL[1]]).await.fails_without_sources(502);
    system.set_reply(Reply::Good);
    assert_eq!(acme.caller.search(&ALL).await.ok().source("x").get("stale"), None);
}

/// A new item pushes the last item of the cached page onto the fetched one.
#[tokio::test]
async fn cached_page_that_overlaps_a_fresh_one_is_no_violation() {
    let system = ExternalSystem::start(many("x", "harbour", 20, 1)).await;
    let (_app, acme) = start(&system, LONG, LONG).await;
    let five = [ALL[0], ALL[1], ("limit", "5"), ("paging", "cursor")];
    acme.caller.search(&five).await.ok();
    system.put_first(item("new", "harbour", NEW_YEAR + 1));
    let fifteen = [ALL[0], ALL[1], ("limit", "15"), ("paging", "cursor")];
    let answer = acme.caller.search(&fifteen).await.ok();
    assert_eq!(answer.source("x")["status"], "ok", "{}", answer.text);
    let found: HashSet<&str> = answer.ids().into_iter().collect();
    assert_eq!((found.len(), system.requests().len()), (15, 2), "each once");
}

#[tokio::test]
async fn cache_is_separate_by_registration_and_tenant() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (app, acme) = start(&system, LONG, LONG).await;
    let elsewhere = ExternalSystem::start(vec![item("other", "harbour", 1)]).await;
    let other = app.tenant("other").await;
    app.register_source(&other, elsewhere.registration("x"), "all", &["x"]).await;
    for _ in 0..2 {
        assert_eq!(acme.caller.search(&ALL).await.ok().total(), 3);
        assert_eq!(other.caller.search(&ALL).await.ok().ids(), ["other"]);
    }
    assert_eq!((system.requests().len(), elsewhere.requests().len()), (1, 1));
    let operator = app.operator().await.caller.on("acme");
    operator.put("/admin/v1/sources/x", &with(elsewhere.registration("x"), "name", "Moved")).await.ok();
    assert_eq!(acme.caller.search(&ALL).await.ok().ids(), ["other"]);
}
