//! Response cache and shared calls of external sources.

use serde_json::json;
use tokio::task::JoinSet;

use crate::util::{
    answer::Answer,
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

fn ids(answer: &Answer) -> Vec<String> {
    answer.ids().into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn fresh_answer_is_served_from_the_cache_page_by_page() {
    let system = ExternalSystem::start(many("x", "harbour", 25, 1)).await;
    let (_app, acme) = start(&system, LONG, LONG).await;
    let mut walks = Vec::new();
    for _ in 0..2 {
        let first = acme.caller.search(&[ALL[0], ALL[1], ("limit", "10"), ("paging", "cursor")]).await.ok();
        let cursor = first.cursor().unwrap();
        let next = [ALL[0], ALL[1], ("limit", "10"), ("cursor", cursor.as_str())];
        let second = acme.caller.search(&next).await.ok();
        walks.push([ids(&first), ids(&second)].concat());
    }
    assert_eq!((walks[0].len(), &walks[0]), (20, &walks[1]));
    let asked = system.requests();
    let cursors: Vec<&str> = asked.iter().map(|asked| asked.cursor.as_str()).collect();
    assert_eq!(asked.len(), cursors.iter().collect::<std::collections::HashSet<_>>().len(), "{cursors:?}");
    acme.caller.search(&[("keyword", "other"), ALL[1], ("paging", "cursor")]).await.ok();
    let asked = system.requests();
    acme.caller.search(&[ALL[0], ALL[1], ("author", "nobody")]).await.ok();
    acme.caller.search(&[ALL[0], ALL[1], ("sort", "relevance")]).await.ok();
    assert_eq!(system.requests().len(), asked.len() + 1, "only the filter's last page was fetched");
}

#[tokio::test]
async fn concurrent_identical_searches_share_one_call() {
    const AT_ONCE: usize = 40;
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let app = TestApp::start_with(|config| config.search.at_once = AT_ONCE).await;
    let acme = app.tenant("acme").await;
    app.register_source(&acme, system.registration("x"), "all", &["x"]).await;
    acme.caller.search(&[("keyword", "before"), ALL[1]]).await.ok();
    system.hold_answers();
    let mut searches = JoinSet::new();
    for _ in 0..AT_ONCE + 5 {
        let caller = acme.caller.clone();
        searches.spawn(async move { caller.search(&ALL).await });
    }
    // Five refusals: all other searches are in flight.
    for _ in 0..5 {
        searches.join_next().await.unwrap().unwrap().fails(503, "too many searches");
    }
    system.release_answers();
    for answer in searches.join_all().await {
        assert_eq!(answer.ok().total(), 3);
    }
    assert_eq!(system.requests().len(), 2, "one call before and one shared");
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

#[tokio::test]
async fn silent_source_is_served_stale_at_the_deadline() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (app, acme) = start(&system, 0, LONG).await;
    let other = ExternalSystem::start(vec![item("other", "harbour", 1)]).await;
    app.register_source(&acme, other.registration("y"), "both", &["x", "y"]).await;
    let before = acme.caller.search(&ALL).await.ok();
    system.set_reply(Reply::Silent);
    for (module, found) in [("all", 3), ("both", 4)] {
        let after = acme.caller.search(&[ALL[0], ("moduleId", module), ("timeout", "3000")]).await.ok();
        assert_eq!((after.ids().len(), &after.body["partial"]), (found, &json!(false)));
        let report = after.source("x");
        assert_eq!((&report["status"], &report["stale"]), (&json!("ok"), &json!(true)), "{report}");
        assert!(report["message"].as_str().unwrap().contains("no answer within"), "{report}");
    }
    assert_eq!(before.total(), 3);
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
    let found: std::collections::HashSet<_> = ids(&answer).into_iter().collect();
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
