use std::time::Duration;

use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp, disable_suspension},
    caller::Caller,
    external::{ExternalSystem, Reply},
    items::{NEW_YEAR, many},
};

const MINUTE: Duration = Duration::from_mins(1);

async fn start(system: &ExternalSystem, fresh_ms: u64, stale_ms: u64) -> (TestApp, Application, Caller) {
    let app = TestApp::start_with(|config| {
        disable_suspension(config);
        (config.cache.fresh_ms, config.cache.stale_ms) = (fresh_ms, stale_ms);
    })
    .await;
    let acme = app.tenant("acme").await;
    app.register_source(&acme, system.registration("x"), "all", &["x"]).await;
    let operator = app.operator().await.caller.on("acme");
    (app, acme, operator)
}

async fn health(operator: &Caller) -> Value {
    operator.get("/admin/v1/sources/x/health").await.ok().data().clone()
}

async fn search(acme: &Application, keyword: &str) -> u16 {
    acme.caller.search(&[("moduleId", "all"), ("keyword", keyword)]).await.status
}

#[tokio::test]
async fn last_hour_is_reported_by_minute() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (app, acme, operator) = start(&system, 0, 0).await;
    let first = NEW_YEAR - NEW_YEAR.rem_euclid(60_000);
    let empty = json!([{"time": first, "ok": 0, "failed": 0, "p50": null, "p90": null, "p99": null}]);
    assert_eq!(health(&operator).await["history"], empty);
    assert_eq!((search(&acme, "a").await, search(&acme, "b").await), (200, 200));
    app.clock.pass(2 * MINUTE);
    system.set_reply(Reply::Status(500));
    assert_eq!(search(&acme, "c").await, 502);

    let history = health(&operator).await["history"].clone();
    let minutes = history.as_array().unwrap();
    let counts: Vec<Value> =
        minutes.iter().map(|minute| json!([minute["time"], minute["ok"], minute["failed"]])).collect();
    assert_eq!(counts, [json!([first, 2, 0]), json!([first + 60_000, 0, 0]), json!([first + 120_000, 0, 1])]);
    let [p50, p90, p99] = ["p50", "p90", "p99"].map(|percentile| minutes[0][percentile].as_u64().unwrap());
    assert!(p50 <= p90 && p90 <= p99, "{history}");
    assert!(minutes[1]["p50"].is_null() && minutes[2]["p99"].is_null(), "{history}");

    app.clock.pass(58 * MINUTE);
    let history = health(&operator).await["history"].clone();
    let minutes = history.as_array().unwrap();
    assert_eq!((minutes.len(), &minutes[0]["time"]), (60, &json!(first + 60_000)));
    assert_eq!(minutes[1]["failed"], 1);
    app.clock.pass(60 * MINUTE);
    let history = health(&operator).await["history"].clone();
    assert!(history.as_array().unwrap().iter().all(|minute| minute["failed"] == 0), "{history}");
}

#[tokio::test]
async fn cached_answers_are_counted() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (_app, acme, operator) = start(&system, 3_600_000, 3_600_000).await;
    assert_eq!(health(&operator).await["cache"], json!({"hits": 0, "misses": 0, "stale": 0}));
    for keyword in ["a", "a", "a", "b"] {
        assert_eq!(search(&acme, keyword).await, 200);
    }
    assert_eq!(health(&operator).await["cache"], json!({"hits": 2, "misses": 2, "stale": 0}));
    system.set_reply(Reply::Status(500));
    assert_eq!(search(&acme, "c").await, 502);
    assert_eq!(health(&operator).await["cache"], json!({"hits": 2, "misses": 3, "stale": 0}));
}

#[tokio::test]
async fn stale_answers_are_counted_as_stale() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (_app, acme, operator) = start(&system, 0, 3_600_000).await;
    assert_eq!(search(&acme, "a").await, 200);
    system.set_reply(Reply::Status(500));
    assert_eq!(search(&acme, "a").await, 200);
    assert_eq!(health(&operator).await["cache"], json!({"hits": 0, "misses": 1, "stale": 1}));
}

#[tokio::test]
async fn suspended_source_counts_no_misses() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (_app, acme, operator) = start(&system, 0, 3_600_000).await;
    assert_eq!(search(&acme, "a").await, 200);
    system.set_reply(Reply::RetryAfter(503, 600));
    assert_eq!(search(&acme, "b").await, 502);
    assert_eq!(health(&operator).await["cache"], json!({"hits": 0, "misses": 2, "stale": 0}));
    // The source is suspended now. The stale answer is not counted again as the earlier miss.
    assert_eq!(search(&acme, "b").await, 502);
    assert_eq!(search(&acme, "a").await, 200);
    assert_eq!(health(&operator).await["cache"], json!({"hits": 0, "misses": 2, "stale": 1}));
}
