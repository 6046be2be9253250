//! Answers of external sources that are used again, and calls that are shared (decisions 6.5).

use serde_json::json;
use tokio::task::JoinSet;

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    external::{ExternalSystem, Mood, with},
    items::{NEW_YEAR, item, many},
};

const ALL: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "all")];

/// Long for every test.
const LONG: u64 = 3_600_000;

/// A tenant that searches the system in the module `all`, and keeps its answers for so long.
async fn start(system: &ExternalSystem, fresh_ms: u64, stale_ms: u64) -> (TestApp, Application) {
    let app = TestApp::start_with(|config| {
        (config.cache.fresh_ms, config.cache.stale_ms) = (fresh_ms, stale_ms);
    })
    .await;
    let acme = app.tenant("acme").await;
    app.show(&acme, system.registration("x"), "all", &["x"]).await;
    (app, acme)
}

fn ids(answer: &Answer) -> Vec<String> {
    answer.ids().into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_fresh_answer_is_used_again_page_by_page() {
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
    let asked = system.asked();
    let cursors: Vec<&str> = asked.iter().map(|asked| asked.cursor.as_str()).collect();
    assert_eq!(asked.len(), cursors.iter().collect::<std::collections::HashSet<_>>().len(), "{cursors:?}");
    // Other words, other filters over the same answer, another order of the same page.
    acme.caller.search(&[("keyword", "other"), ALL[1], ("paging", "cursor")]).await.ok();
    let asked = system.asked();
    acme.caller.search(&[ALL[0], ALL[1], ("author", "nobody")]).await.ok();
    acme.caller.search(&[ALL[0], ALL[1], ("sort", "relevance")]).await.ok();
    assert_eq!(
        system.asked().len(),
        asked.len() + 1,
        "the filter read on to the last page, and nothing else was asked"
    );
}

#[tokio::test]
async fn searches_at_once_share_one_call() {
    const AT_ONCE: usize = 40;
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let app = TestApp::start_with(|config| config.search.at_once = AT_ONCE).await;
    let acme = app.tenant("acme").await;
    app.show(&acme, system.registration("x"), "all", &["x"]).await;
    acme.caller.search(&[("keyword", "before"), ALL[1]]).await.ok();
    system.hold();
    let mut searches = JoinSet::new();
    for _ in 0..AT_ONCE + 5 {
        let caller = acme.caller.clone();
        searches.spawn(async move { caller.search(&ALL).await });
    }
    // Once five are refused, all others are under way.
    for _ in 0..5 {
        searches.join_next().await.unwrap().unwrap().fails(503, "too many searches");
    }
    system.let_go();
    for answer in searches.join_all().await {
        assert_eq!(answer.ok().total(), 3);
    }
    assert_eq!(system.asked().len(), 2, "one before, and one for all");
}

#[tokio::test]
async fn an_earlier_answer_stands_in_for_a_source_that_fails_and_says_so() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (_app, acme) = start(&system, 0, LONG).await;
    let before = acme.caller.search(&ALL).await.ok();
    assert_eq!(before.source("x").get("stale"), None);
    system.set_mood(Mood::Status(500));
    let after = acme.caller.search(&ALL).await.ok();
    assert_eq!((after.ids(), &after.body["partial"]), (before.ids(), &json!(false)));
    let report = after.source("x");
    assert_eq!((&report["status"], &report["stale"]), (&json!("ok"), &json!(true)), "{report}");
    assert!(report["message"].as_str().unwrap().contains("HTTP 500"), "{report}");
    // What was never asked has no earlier answer.
    acme.caller.search(&[("keyword", "other"), ALL[1]]).await.has_no_source(502);
    system.set_mood(Mood::Good);
    assert_eq!(acme.caller.search(&ALL).await.ok().source("x").get("stale"), None);
}

#[tokio::test]
async fn an_earlier_answer_stands_in_for_a_source_that_is_silent_until_the_search_is_over() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (app, acme) = start(&system, 0, LONG).await;
    let other = ExternalSystem::start(vec![item("other", "harbour", 1)]).await;
    app.show(&acme, other.registration("y"), "both", &["x", "y"]).await;
    let before = acme.caller.search(&ALL).await.ok();
    system.set_mood(Mood::Silent);
    for (module, found) in [("all", 3), ("both", 4)] {
        let after = acme.caller.search(&[ALL[0], ("moduleId", module), ("timeout", "1000")]).await.ok();
        assert_eq!((after.ids().len(), &after.body["partial"]), (found, &json!(false)));
        let report = after.source("x");
        assert_eq!((&report["status"], &report["stale"]), (&json!("ok"), &json!(true)), "{report}");
        assert!(report["message"].as_str().unwrap().contains("no answer within"), "{report}");
    }
    assert_eq!(before.total(), 3);
}

/// A new item pushes the others down: the last of the page that is at hand is the first of the one that is asked for.
#[tokio::test]
async fn a_page_of_before_does_not_speak_against_the_source() {
    let system = ExternalSystem::start(many("x", "harbour", 20, 1)).await;
    let (_app, acme) = start(&system, LONG, LONG).await;
    let five = [ALL[0], ALL[1], ("limit", "5"), ("paging", "cursor")];
    acme.caller.search(&five).await.ok();
    system.put_first(item("new", "harbour", NEW_YEAR + 1));
    let fifteen = [ALL[0], ALL[1], ("limit", "15"), ("paging", "cursor")];
    let answer = acme.caller.search(&fifteen).await.ok();
    assert_eq!(answer.source("x")["status"], "ok", "{}", answer.text);
    let found: std::collections::HashSet<_> = ids(&answer).into_iter().collect();
    assert_eq!((found.len(), system.asked().len()), (15, 2), "each once");
}

#[tokio::test]
async fn another_registration_and_another_tenant_have_answers_of_their_own() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (app, acme) = start(&system, LONG, LONG).await;
    let elsewhere = ExternalSystem::start(vec![item("other", "harbour", 1)]).await;
    let other = app.tenant("other").await;
    app.show(&other, elsewhere.registration("x"), "all", &["x"]).await;
    for _ in 0..2 {
        assert_eq!(acme.caller.search(&ALL).await.ok().total(), 3);
        assert_eq!(other.caller.search(&ALL).await.ok().ids(), ["other"]);
    }
    assert_eq!((system.asked().len(), elsewhere.asked().len()), (1, 1));
    let operator = app.operator().await.caller.on("acme");
    operator.put("/admin/v1/sources/x", &with(elsewhere.registration("x"), "name", "Moved")).await.ok();
    assert_eq!(acme.caller.search(&ALL).await.ok().ids(), ["other"]);
}
