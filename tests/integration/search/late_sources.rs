//! Sources that are asked and not waited for.

use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::{Application, TestApp, disable_suspension},
    caller::Caller,
    eventually,
    external::ExternalSystem,
    internals::Config,
    items::many,
};

/// Deadline of searches that a held source misses, in milliseconds.
const SHORT: &str = "1000";

const LONG: u64 = 3_600_000;

struct Landscape {
    _app: TestApp,
    acme: Application,
    operator: Caller,
    quick: ExternalSystem,
    late: ExternalSystem,
}

impl Landscape {
    async fn start() -> Self {
        Self::start_with(disable_suspension).await
    }

    async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let quick = ExternalSystem::start(many("quick", "harbour", 4, 1)).await;
        let late = ExternalSystem::start(many("late", "harbour", 4, 1)).await;
        let app = TestApp::start_with(change).await;
        let acme = app.tenant("acme").await;
        let operator = app.operator().await.caller.on("acme");
        operator.post("/admin/v1/sources", &quick.registration("quick")).await.ok();
        operator.register_source(&late.registration("late"), "all", &["quick", "late"]).await;
        operator.register_module("alone", &["late"]).await;
        Self { _app: app, acme, operator, quick, late }
    }

    async fn is_shown_as_late(&self) -> bool {
        let source = self.operator.get("/admin/v1/sources/late").await.ok();
        source.data()["health"]["late"].as_bool().unwrap()
    }

    async fn search(&self, keyword: &str, timeout: &str) -> Answer {
        self.search_with(&[("keyword", keyword), ("timeout", timeout)]).await
    }

    async fn search_with(&self, parameters: &[(&str, &str)]) -> Answer {
        let all = [&[("moduleId", "all"), ("limit", "3"), ("paging", "cursor")], parameters].concat();
        self.acme.caller.search(&all).await
    }

    /// Three searches wait in vain.
    async fn make_late(&self) {
        self.late.hold_answers();
        for number in 0..3 {
            let answer = self.search(&format!("harbour {number}"), SHORT).await.ok();
            assert_eq!(status(&answer), "timeout", "{number}");
        }
    }
}

fn status(answer: &Answer) -> Value {
    answer.source("late")["status"].clone()
}

#[tokio::test]
async fn source_that_was_late_three_times_is_asked_and_not_waited_for() {
    let all = Landscape::start().await;
    assert!(!all.is_shown_as_late().await);
    all.make_late().await;
    assert!(all.is_shown_as_late().await);
    let before = all.late.requests().len();
    let answer = all.search("harbour", SHORT).await.ok();
    assert_eq!([status(&answer), answer.source("quick")["status"].clone()], [json!("late"), json!("ok")]);
    assert_eq!([&answer.body["partial"], &answer.body["count"]], [&json!(true), &json!(3)]);
    assert!(answer.source("late")["message"].as_str().unwrap().starts_with("not waited for"));
    eventually("the source is asked", async || (all.late.requests().len() > before).then_some(())).await;
    assert_eq!(all.quick.requests().last().unwrap().keyword, "harbour");
    let alone = [("moduleId", "alone"), ("keyword", "quay"), ("timeout", SHORT)];
    let answer = all.acme.caller.search(&alone).await.fails_without_sources(504);
    assert_eq!(status(&answer), "late");
}

#[tokio::test]
async fn late_answer_is_kept_for_the_next_search() {
    let all = Landscape::start_with(|config| {
        disable_suspension(config);
        (config.cache.fresh_ms, config.cache.stale_ms) = (LONG, LONG);
    })
    .await;
    all.make_late().await;
    assert_eq!(status(&all.search("harbour", SHORT).await.ok()), "late");
    all.late.release_answers();
    let found = eventually("the answer is kept", async || {
        let answer = all.search("harbour", SHORT).await.ok();
        (status(&answer) == "ok").then_some(answer)
    })
    .await;
    assert!(found.ids().iter().any(|id| id.starts_with("late")), "{}", found.text);
    assert!(!all.is_shown_as_late().await);
    let asked = all.late.requests();
    assert_eq!(asked.iter().filter(|search| search.keyword == "harbour").count(), 1);
}

#[tokio::test]
async fn items_of_a_late_source_follow_on_the_next_page() {
    let all = Landscape::start().await;
    all.make_late().await;
    let first = all.search("harbour", SHORT).await.ok();
    assert_eq!(status(&first), "late");
    let cursor = first.cursor().unwrap();
    all.late.release_answers();
    let mut ids: Vec<String> = first.ids().into_iter().map(str::to_owned).collect();
    let mut next = Some(cursor);
    while let Some(cursor) = next {
        let page = eventually("the source answers", async || {
            let page = all.search_with(&[("keyword", "harbour"), ("cursor", &cursor)]).await.ok();
            (status(&page) == "ok").then_some(page)
        })
        .await;
        ids.extend(page.ids().into_iter().map(str::to_owned));
        next = page.cursor();
    }
    ids.sort_unstable();
    let expected: Vec<String> = ["late", "quick"]
        .iter()
        .flat_map(|id| (0..4).map(move |number| format!("{id}{number:05}")))
        .collect();
    assert_eq!(ids, expected);
}

#[tokio::test]
async fn answer_in_time_ends_the_lateness() {
    let all = Landscape::start().await;
    all.make_late().await;
    assert_eq!(status(&all.search("quay", SHORT).await.ok()), "late");
    let asked = all.late.requests().len();
    let release = async {
        eventually("the source is asked", async || (all.late.requests().len() > asked).then_some(())).await;
        all.late.release_answers();
    };
    // A search with a longer deadline than those in vain waits.
    let (answer, ()) = tokio::join!(all.search("harbour", "10000"), release);
    assert_eq!(status(&answer.ok()), "ok");
    all.late.hold_answers();
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(status(&all.search("another", SHORT).await.ok()));
    }
    assert_eq!(statuses, ["timeout", "timeout", "timeout", "late"], "counting begins anew");
    all.late.release_answers();
}
