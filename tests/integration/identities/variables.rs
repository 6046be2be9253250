//! Mapped sources that name the person in their request: `$person`.

use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::searches::start_caching;
use crate::util::{
    app::TestApp,
    items::{department, user},
    own_search::{OwnSearch, ReceivedRequest},
};

const SEARCH: [(&str, &str); 2] = [("moduleId", "wiki"), ("keyword", "a")];

fn mapping() -> Value {
    json!({
        "request": {"query": "{ q: $keyword }", "headers": "{ \"X-On-Behalf-Of\": $person.loginId, \
            \"X-Departments\": ($person.departments | join(\",\")) }"},
        "answer": {"rows": ".[]", "id": ".id", "title": ".name", "displayTime": ".when"},
    })
}

fn answer(request: &ReceivedRequest) -> axum::response::Response {
    let person = request.headers["x-on-behalf-of"].to_str().unwrap();
    let departments = request.headers["x-departments"].to_str().unwrap();
    json!([{"id": person, "name": departments, "when": "2024-01-01"}]).to_string().into_response()
}

#[tokio::test]
async fn mapping_that_names_the_person_has_rows_of_each_alone() {
    let (app, acme) = start_caching(60_000).await;
    app.sync(&acme.caller, "organizations", &json!([department("d1", "")])).await;
    app.sync(&acme.caller, "users", &json!([user("mei", "d1"), user("omar", "d1")])).await;
    let system = OwnSearch::start(answer).await;
    app.register_source(&acme, system.registration("wiki", &mapping()), "wiki", &["wiki"]).await;
    let operator = app.operator().await.caller.on("acme");
    let shown = operator.get("/admin/v1/sources/wiki").await.ok();
    assert_eq!(shown.data()["identity"]["type"], "variable");
    for _ in 0..2 {
        for person in ["mei", "omar"] {
            let found = app.user(&acme, person).await.search(&SEARCH).await.ok();
            assert_eq!(found.ids(), [person]);
            assert_eq!(found.items()[0]["title"], "d1");
        }
    }
    assert_eq!(system.received().len(), 2, "the second searches are answered by the cache");
    let refused = acme.caller.search(&SEARCH).await;
    assert_eq!(refused.source("wiki")["status"], "unauthorized", "{}", refused.text);
}

#[tokio::test]
async fn person_is_null_nowhere_but_in_a_trial_that_names_none() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    let system = OwnSearch::start(answer).await;
    let operator = app.operator().await.caller.on("acme");
    let mut trial = json!({"source": system.registration("wiki", &mapping()), "keyword": "a"});
    operator.post("/admin/v1/sources/try", &trial).await.fails(400, "person: is required");
    trial["person"] = "mei".into();
    let tried = operator.post("/admin/v1/sources/try", &trial).await.ok();
    assert_eq!(tried.data()["rows"][0]["id"], "mei");
    assert!(system.received().iter().all(|request| request.headers["x-on-behalf-of"] == "mei"));
}
