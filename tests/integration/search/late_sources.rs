//! Sources that are asked and not waited for.

use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::{TestApp, disable_suspension},
    caller::Caller,
    eventually,
    external::ExternalSystem,
    items::many,
};

/// Deadline of searches that a held source misses, in milliseconds.
const SHORT: &str = "1000";

const LONG: u64 = 3_600_000;

async fn search(caller: &Caller, keyword: &str, timeout: &str) -> Answer {
    let parameters = [
        ("moduleId", "all"),
        ("limit", "3"),
        ("paging", "cursor"),
        ("keyword", keyword),
        ("timeout", timeout),
    ];
    caller.search(&parameters).await.ok()
}

fn status(answer: &Answer) -> Value {
    answer.source("late")["status"].clone()
}

#[tokio::test]
async fn source_that_was_late_three_times_is_asked_and_not_waited_for() {
    let quick = ExternalSystem::start(many("quick", "harbour", 4, 1)).await;
    let late = ExternalSystem::start(many("late", "harbour", 4, 1)).await;
    let app = TestApp::start_with(|config| {
        disable_suspension(config);
        (config.cache.fresh_ms, config.cache.stale_ms) = (LONG, LONG);
    })
    .await;
    let caller = app.tenant("acme").await.caller;
    let operator = app.operator().await.caller.on("acme");
    operator.post("/admin/v1/sources", &quick.registration("quick")).await.ok();
    operator.register_source(&late.registration("late"), "all", &["quick", "late"]).await;
    operator.register_module("alone", &["late"]).await;
    let is_shown_as_late =
        async || operator.get("/admin/v1/sources/late").await.ok().data()["health"]["late"] == true;
    let is_asked_for =
        |keyword: &str| late.requests().iter().filter(|asked| asked.keyword == keyword).count();

    late.hold_answers();
    for number in 0..3 {
        assert!(!is_shown_as_late().await, "{number}");
        let answer = search(&caller, &format!("harbour {number}"), SHORT).await;
        assert_eq!(status(&answer), "timeout", "{number}");
    }
    assert!(is_shown_as_late().await);
    let answer = search(&caller, "harbour", SHORT).await;
    assert_eq!([status(&answer), answer.source("quick")["status"].clone()], [json!("late"), json!("ok")]);
    assert_eq!([&answer.body["partial"], &answer.body["count"]], [&json!(true), &json!(3)]);
    assert!(answer.cursor().is_some(), "no cursor to catch the source up");
    assert!(answer.source("late")["message"].as_str().unwrap().starts_with("not waited for"));
    let alone = [("moduleId", "alone"), ("keyword", "quay"), ("timeout", SHORT)];
    assert_eq!(status(&caller.search(&alone).await.fails_without_sources(504)), "late");
    eventually("the source is asked", async || (is_asked_for("harbour") == 1).then_some(())).await;

    // A search with a longer deadline than those that timed out waits.
    let release = async {
        eventually("the source is asked", async || (is_asked_for("office") == 1).then_some(())).await;
        late.release_answers();
    };
    let (answer, ()) = tokio::join!(search(&caller, "office", "10000"), release);
    assert_eq!(status(&answer), "ok");
    assert!(!is_shown_as_late().await);
    // The answer that nobody waited for was kept.
    let found = eventually("the answer", async || {
        let answer = search(&caller, "harbour", SHORT).await;
        answer.ids().iter().any(|id| id.starts_with("late")).then_some(answer)
    });
    assert_eq!(status(&found.await), "ok");
    assert_eq!(is_asked_for("harbour"), 1);
}
