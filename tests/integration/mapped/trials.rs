//! `POST /admin/v1/sources/try`.

use axum::response::IntoResponse;
use serde_json::{Value, json};

use crate::util::{app::TestApp, external::with, own_search::OwnSearch};

const TRY: &str = "/admin/v1/sources/try";

fn mapping() -> Value {
    json!({
        "request": {"query": "{ q: $keyword }"},
        "answer": {"rows": ".[]", "id": ".id", "title": ".name", "author": ".by", "displayTime": ".when"},
    })
}

#[tokio::test]
async fn trial_shows_request_answer_rows_and_what_is_missing() {
    let (_app, operator) = TestApp::start_operated().await;
    let rows =
        json!([{"id": 1, "name": "a", "when": "2024-01-01"}, {"id": 2, "name": [], "when": "2024-01-02"}]);
    let system = OwnSearch::always(rows.to_string()).await;
    let key = json!({"type": "API_KEY", "parameter": "key", "key": "hush-hush-hush"});
    let source = with(system.registration("wiki", &mapping()), "auth", key);
    let trial = operator.post(TRY, &json!({"source": source, "keyword": "it's", "limit": 5})).await.ok();
    let trial = trial.data();
    let curl = format!("curl -sS --globoff -i '{}?q=it%27s'\"&key=$API_KEY\"", system.base);
    assert_eq!((trial["curl"].as_str(), &trial["status"]), (Some(curl.as_str()), &json!(200)));
    assert_eq!(
        (trial["body"].as_str(), trial["rows"].as_array().unwrap().len()),
        (Some(rows.to_string().as_str()), 2)
    );
    assert_eq!(
        trial["missing"],
        json!([
            {"field": "answer.author", "rows": 2, "message": null},
            {"field": "answer.title", "rows": 1, "message": "yields an array, not text"},
        ])
    );
    assert!(trial["problems"].to_string().contains("not in time order"), "{trial}");
    assert_eq!(system.received()[0].parameter("key"), "hush-hush-hush");
    assert!(operator.get("/admin/v1/sources").await.ok().items().is_empty());
}

#[tokio::test]
async fn stored_secret_is_sent_to_its_own_origin_only() {
    let (_app, operator) = TestApp::start_operated().await;
    let [system, other] = [OwnSearch::always("[]").await, OwnSearch::always("[]").await];
    let key = json!({"type": "API_KEY", "header": "X-Key", "key": "hush-hush-hush"});
    let source = with(system.registration("wiki", &mapping()), "auth", key);
    operator.post("/admin/v1/sources", &source).await.ok();
    let without = with(source.clone(), "auth", json!({"type": "API_KEY", "header": "X-Key"}));
    let trial = operator.post(TRY, &json!({"source": without, "keyword": "a"})).await.ok();
    assert_eq!(trial.data()["failure"], Value::Null, "{}", trial.text);
    assert_eq!(system.received()[0].headers["x-key"], "hush-hush-hush");
    let moved = with(without.clone(), "url", other.base.as_str());
    operator
        .post(TRY, &json!({"source": moved, "keyword": "a"}))
        .await
        .fails(400, "auth.key: must be given again");
    let unknown = with(without, "id", "another");
    operator.post(TRY, &json!({"source": unknown, "keyword": "a"})).await.fails(400, "auth.key: is required");
    assert!(other.received().is_empty());
}

#[tokio::test]
async fn echoed_secret_is_shown_in_no_spelling_of_a_filter() {
    let (_app, operator) = TestApp::start_operated().await;
    let system = OwnSearch::start(|request| {
        let key = request.headers["x-key"].to_str().unwrap();
        let rows = json!([{"id": 1, "name": key, "when": "2024-01-01", "error": key}]);
        ([("x-echo", key)], rows.to_string()).into_response()
    })
    .await;
    let key = json!({"type": "API_KEY", "header": "X-Key", "key": "hush-hush-hush"});
    let mut source = with(system.registration("wiki", &mapping()), "auth", key);
    let respelt = |filter: &str| format!("{filter} | explode | map(. + 1) | implode");
    for filter in [respelt(".name"), respelt("$headers[\"x-echo\"]"), "$headers[\"x-echo\"]".to_owned()] {
        source["mapping"]["answer"]["title"] = filter.clone().into();
        let trial = operator.post(TRY, &json!({"source": source, "keyword": "a"})).await.ok();
        assert_eq!(trial.data()["rows"].as_array().map(Vec::len), Some(1), "{}", trial.text);
        assert!(!trial.text.contains("hush") && !trial.text.contains("ivti"), "{filter}: {}", trial.text);
    }
    source["mapping"]["answer"]["error"] = respelt(".[0].error").into();
    let trial = operator.post(TRY, &json!({"source": source, "keyword": "a"})).await.ok();
    assert!(trial.data()["failure"].is_string() && !trial.text.contains("ivti"), "{}", trial.text);
}

#[tokio::test]
async fn failed_trial_shows_how_far_it_came() {
    let (_app, operator) = TestApp::start_operated().await;
    let system = OwnSearch::start(|request| {
        let echoed = format!("no access for {:?}", request.headers.get("authorization"));
        (axum::http::StatusCode::FORBIDDEN, echoed).into_response()
    })
    .await;
    let bearer = json!({"type": "BEARER", "token": "hush-hush-hush"});
    let source = with(system.registration("wiki", &mapping()), "auth", bearer);
    let trial = operator.post(TRY, &json!({"source": source, "keyword": "a"})).await.ok();
    assert_eq!((&trial.data()["status"], &trial.data()["failure"]), (&json!(403), &json!("HTTP 403")));
    assert!(
        trial.data()["body"].as_str().unwrap().contains("no access") && !trial.text.contains("hush"),
        "{}",
        trial.text
    );
    for (body, message) in [
        (json!({"source": source}), "keyword: is required"),
        (json!({"source": source, "keyword": "a", "limit": 0}), "limit: must be 1 to 1000"),
        (json!({"keyword": "a"}), "name: is required"),
    ] {
        operator.post(TRY, &body).await.fails(400, message);
    }
}
