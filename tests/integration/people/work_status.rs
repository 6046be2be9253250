//! Work status, single and batch.

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::send,
    items::user,
};

async fn start() -> (TestApp, Application) {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", ""), user("omar", ""), user("li/é ü", "")])).await;
    (app, acme)
}

async fn statuses(acme: &Application) -> Value {
    let users = acme.caller.get("/v1/users/sync").await.ok();
    let status = |user: &Value| (user["userId"].as_str().unwrap().to_owned(), user["workStatus"].clone());
    users.items().iter().map(status).collect::<serde_json::Map<_, _>>().into()
}

#[tokio::test]
async fn status_of_a_person_is_set_and_cleared() {
    let (_app, acme) = start().await;
    let set = acme.caller.get("/v1/users/mei/status/update?code=01").await.ok();
    assert!(set.data().is_object());
    assert_eq!(statuses(&acme).await, json!({"mei": "01", "omar": null, "li/é ü": null}));
    acme.caller.get("/v1/users/li%2F%C3%A9%20%C3%BC/status/update?code=out").await.ok();
    acme.caller.get("/v1/users/mei/status/update").await.ok();
    assert_eq!(statuses(&acme).await, json!({"mei": null, "omar": null, "li/é ü": "out"}));
    acme.caller.get("/v1/users/nobody/status/update?code=01").await.fails(404, "userId");
    let long = format!("/v1/users/mei/status/update?code={}", "x".repeat(65));
    acme.caller.get(&long).await.fails(400, "code");
}

#[tokio::test]
async fn head_changes_nothing() {
    let (_app, acme) = start().await;
    let answer = send(acme.caller.request(Method::HEAD, "/v1/users/mei/status/update?code=01")).await;
    assert_eq!(answer.status, 405);
    assert_eq!(statuses(&acme).await["mei"], Value::Null);
}

#[tokio::test]
async fn batch_sets_each_status_separately() {
    let (app, acme) = start().await;
    let batch = json!([
        {"userId": "mei", "code": "01"}, {"userId": "nobody", "code": "01"}, {"code": "01"},
        {"userId": "omar", "code": 1}, {"userId": "omar", "code": "a\u{1}"}, 5,
        {"userId": "li/é ü", "code": "01"}, {"userId": "li/é ü", "code": null},
    ]);
    let answer = acme.caller.post("/v1/users/status/update", &batch).await.ok();
    let failures = answer.data()["failures"].as_array().unwrap();
    let mut failed: Vec<&str> = failures.iter().map(|failure| failure["id"].as_str().unwrap()).collect();
    failed.sort_unstable();
    assert_eq!(failed, ["", "", "nobody", "omar", "omar"], "{}", answer.text);
    assert!(failures.iter().all(|failure| !failure["message"].as_str().unwrap().is_empty()));
    assert_eq!(statuses(&acme).await, json!({"mei": "01", "omar": null, "li/é ü": null}));

    acme.caller.post("/v1/users/status/update", &json!({"userId": "mei"})).await.fails(400, "body");
    let many = Value::from(vec![json!({"userId": "mei"}); app.app.config.limits.batch_items + 1]);
    acme.caller.post("/v1/users/status/update", &many).await.fails(400, "at most");
}

#[tokio::test]
async fn changed_status_is_in_the_feed_and_unchanged_is_not() {
    let (_app, acme) = start().await;
    let all = acme.caller.get("/v1/users/sync").await.ok();
    let cursor = all.items().last().unwrap()["lastUpdatedDate"].as_str().unwrap().to_owned();
    let after = format!("/v1/users/sync?cursor={cursor}");
    acme.caller.get("/v1/users/mei/status/update").await.ok();
    assert_eq!(acme.caller.get(&after).await.ok().items(), [] as [Value; 0]);
    acme.caller.get("/v1/users/mei/status/update?code=01").await.ok();
    let changed = acme.caller.get(&after).await.ok();
    assert_eq!(changed.items().len(), 1);
    assert_eq!(changed.items()[0]["userId"], "mei");
}

#[tokio::test]
async fn people_of_another_tenant_are_unknown() {
    let (app, acme) = start().await;
    let other = app.tenant("other").await;
    other.caller.get("/v1/users/mei/status/update?code=01").await.fails(404, "userId");
    let answer =
        other.caller.post("/v1/users/status/update", &json!([{"userId": "mei", "code": "01"}])).await.ok();
    assert_eq!(answer.data()["failures"][0]["id"], "mei");
    assert_eq!(statuses(&acme).await["mei"], Value::Null);
}
