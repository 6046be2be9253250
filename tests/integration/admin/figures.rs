use std::time::Duration;

use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp, disable_suspension},
    caller::Caller,
    external::{ExternalSystem, Reply},
    items::{NEW_YEAR, many},
};

const HOUR: Duration = Duration::from_hours(1);
const HOUR_MS: i64 = 3_600_000;
const DAY: Duration = Duration::from_hours(24);
const DAY_MS: i64 = 24 * HOUR_MS;

async fn start(system: &ExternalSystem) -> (TestApp, Application, Caller) {
    let (app, acme) = TestApp::start_acme_with(disable_suspension).await;
    app.register_source(&acme, system.registration("x"), "all", &["x"]).await;
    let operator = app.operator().await.caller.on("acme");
    (app, acme, operator)
}

async fn search(acme: &Application) -> u16 {
    acme.caller.search(&[("moduleId", "all"), ("keyword", "harbour")]).await.status
}

async fn figures(operator: &Caller, query: &str) -> Value {
    operator.get(&format!("/admin/v1/figures?{query}")).await.ok().data().clone()
}

/// Time, searches, timeouts, and calls that were not reached, of each point.
fn counts(figures: &Value, kind: &str, id: &str) -> Vec<Value> {
    let series = figures[kind].as_array().unwrap().iter().find(|series| series["id"] == id);
    let points = series.map_or(&[] as &[Value], |series| series["points"].as_array().unwrap());
    let count = |point: &Value| {
        json!([point["at"], point["searches"], point["errors"]["timeout"], point["errors"]["unavailable"]])
    };
    points.iter().map(count).collect()
}

#[tokio::test]
async fn searches_are_counted_by_hour_for_their_module_and_sources() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (app, acme, operator) = start(&system).await;
    assert_eq!((search(&acme).await, search(&acme).await), (200, 200));
    app.clock.pass(2 * HOUR);
    system.set_reply(Reply::Status(503));
    assert_eq!(search(&acme).await, 502);
    acme.caller.search(&[("moduleId", "nope"), ("keyword", "harbour")]).await.fails(404, "module");
    app.app.maintenance.make_round().await.unwrap();

    let later = NEW_YEAR + 2 * HOUR_MS;
    let found = figures(&operator, &format!("to={}", later + 1)).await;
    assert_eq!(found["step"], "hour");
    assert_eq!(found["from"], later - DAY_MS);
    let expected = [json!([NEW_YEAR, 2, 0, 0]), json!([later, 1, 0, 1])];
    assert_eq!(counts(&found, "modules", "id-of-all"), expected);
    assert_eq!(counts(&found, "sources", "x"), expected);
    let points = &found["sources"].as_array().unwrap().iter().find(|one| one["id"] == "x").unwrap()["points"];
    let [p50, p90, p99] = ["p50", "p90", "p99"].map(|percentile| points[0][percentile].as_u64().unwrap());
    assert!(p50 <= p90 && p90 <= p99, "{found}");
    assert!(points[1]["p50"].is_null(), "a refusal is no latency: {found}");
    assert_eq!(figures(&operator.on("operations"), "").await["modules"], json!([]));
}

#[tokio::test]
async fn search_of_all_modules_counts_in_each() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (app, acme, operator) = start(&system).await;
    operator.register_module("again", &["x"]).await;
    acme.caller.get("/contents/search/all?keyword=harbour").await.ok();
    app.app.maintenance.make_round().await.unwrap();
    let found = figures(&operator, "to=1704067200001").await;
    assert_eq!(counts(&found, "modules", "id-of-all"), [json!([NEW_YEAR, 1, 0, 0])]);
    assert_eq!(counts(&found, "modules", "id-of-again"), [json!([NEW_YEAR, 1, 0, 0])]);
    assert_eq!(counts(&found, "sources", "x"), [json!([NEW_YEAR, 2, 0, 0])]);
    assert_eq!(counts(&found, "sources", "builtin:article"), [json!([NEW_YEAR, 1, 0, 0])]);
}

#[tokio::test]
async fn figures_of_an_hour_add_up_over_rounds_and_restarts() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (app, acme, operator) = start(&system).await;
    for _ in 0..2 {
        assert_eq!(search(&acme).await, 200);
        app.app.maintenance.make_round().await.unwrap();
    }
    assert_eq!(search(&acme).await, 200);
    // Shutdown stores what no round has.
    let app = app.restart().await;
    let operator = operator.at(&app.base);
    let found = figures(&operator, "to=1704067200001").await;
    assert_eq!(counts(&found, "sources", "x"), [json!([NEW_YEAR, 3, 0, 0])]);
}

#[tokio::test]
async fn hours_become_days_after_a_week_and_end_after_eight() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (app, acme, operator) = start(&system).await;
    for _ in 0..3 {
        assert_eq!(search(&acme).await, 200);
        app.clock.pass(HOUR);
    }
    app.app.maintenance.make_round().await.unwrap();
    let of_day = format!("from={NEW_YEAR}&to={}", NEW_YEAR + DAY_MS);
    assert_eq!(counts(&figures(&operator, &of_day).await, "sources", "x").len(), 3);
    let days = format!("{of_day}&step=day");
    let folded = [json!([NEW_YEAR, 3, 0, 0])];
    assert_eq!(counts(&figures(&operator, &days).await, "sources", "x"), folded);

    app.clock.pass(7 * DAY);
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!(counts(&figures(&operator, &of_day).await, "sources", "x").len(), 3, "a week is not over");
    app.clock.pass(DAY);
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!(counts(&figures(&operator, &of_day).await, "sources", "x"), [] as [Value; 0]);
    let found = figures(&operator, &days).await;
    assert_eq!(counts(&found, "sources", "x"), folded);
    assert!(found["sources"][0]["points"][0]["p99"].is_u64(), "{found}");

    app.clock.pass(49 * DAY);
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!(counts(&figures(&operator, &days).await, "sources", "x"), [] as [Value; 0]);
}

#[tokio::test]
async fn wrong_time_is_refused_by_name() {
    let (_app, operator) = TestApp::start_operated().await;
    for (query, named) in [
        ("from=7200000&to=3600000".to_owned(), "to: must be after from"),
        (format!("from=0&to={}", 9 * DAY_MS), "from: must be at most 7 days before `to`"),
        (format!("from=0&to={}&step=day", 58 * DAY_MS), "from: must be at most 56 days before `to`"),
        ("from=-9223372036854775808&to=9223372036854775807".to_owned(), "from: "),
        ("from=soon".to_owned(), "from"),
        ("step=minute".to_owned(), "step"),
    ] {
        operator.get(&format!("/admin/v1/figures?{query}")).await.fails(400, named);
    }
}
