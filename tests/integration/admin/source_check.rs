//! `POST /admin/v1/sources/{id}/check`.

use serde_json::{Value, json};

use crate::{
    util::zoo::{self as sources, KEYWORD},
    util::{
        app::TestApp,
        caller::Caller,
        events::Events,
        eventually,
        external::{ExternalSystem, Reply, auth, with},
        items::many,
    },
};

fn registration(id: &str, source: &sources::Running) -> Value {
    json!({"id": id, "name": id, "url": source.url, "auth": auth(&source.credentials()), "timeoutMs": 10_000})
}

fn check(id: &str) -> String {
    format!("/admin/v1/sources/{id}/check?keyword={KEYWORD}")
}

fn ids_of(report: &Value, verdict: &str) -> Vec<String> {
    let clauses = report["clauses"].as_array().unwrap().iter();
    let of_verdict = clauses.filter(|clause| clause["verdict"] == verdict);
    of_verdict.map(|clause| clause["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn report_is_that_of_the_registered_source() {
    let (_app, operator) = TestApp::start_operated().await;
    let (healthy, fault) = (sources::start_healthy().await, sources::faults().swap_remove(0));
    let faulty = sources::start(&fault).await;
    operator.post("/admin/v1/sources", &with(registration("good", &healthy), "enabled", false)).await.ok();
    operator.post("/admin/v1/sources", &registration("bad", &faulty)).await.ok();

    let good = operator.post_empty(&check("good")).await.ok();
    assert_eq!(good.data()["passed"], true, "{}", good.text);
    assert_eq!(ids_of(good.data(), "pass").len(), good.data()["clauses"].as_array().unwrap().len());
    assert_eq!(
        (&good.data()["method"], good.data()["url"].as_str()),
        (&json!("GET"), Some(healthy.url.as_str()))
    );
    assert!(good.data()["latencyMs"]["p99"].is_f64());

    let bad = operator.post_empty(&check("bad")).await.ok();
    assert_eq!(
        (bad.data()["passed"].as_bool(), ids_of(bad.data(), "fail")),
        (Some(false), vec![fault.clause.to_owned()])
    );
    let credentials = healthy.credentials();
    let secret = secrecy::ExposeSecret::expose_secret(&credentials.client_secret);
    assert!(!good.text.contains(secret) && !bad.text.contains(secret));
}

#[tokio::test]
async fn result_of_a_check_is_kept_until_settings_change() {
    let (app, operator) = TestApp::start_operated().await;
    let source = sources::start_healthy().await;
    let form = registration("x", &source);
    operator.post("/admin/v1/sources", &form).await.ok();
    let report = operator.post_empty(&check("x")).await.ok();
    let kept =
        async |operator: &Caller| operator.get("/admin/v1/sources/x").await.ok().data()["lastCheck"].clone();
    let check = kept(&operator).await;
    let clauses = report.data()["clauses"].as_array().unwrap().len();
    assert_eq!(
        (&check["passed"], &check["failed"], &check["unknown"]),
        (&json!(clauses), &json!(0), &json!(0))
    );
    assert!(check["checkedAt"].as_i64().unwrap() > 1_600_000_000_000);
    assert_eq!(operator.get("/admin/v1/sources").await.ok().items()[0]["lastCheck"], check);

    let app = app.restart().await;
    let operator = operator.at(&app.base);
    let without_secret = |form: &Value| {
        let mut form = form.clone();
        form["auth"].as_object_mut().unwrap().remove("clientSecret");
        form
    };
    let slower = with(without_secret(&form), "timeoutMs", 3_000);
    assert_eq!(operator.put("/admin/v1/sources/x", &slower).await.ok().data()["lastCheck"], check);
    assert_eq!(kept(&operator).await, check);
    let posted = operator.put("/admin/v1/sources/x", &with(slower, "method", "POST")).await.ok();
    assert!(posted.data()["lastCheck"].is_null() && kept(&operator).await.is_null());
}

#[tokio::test]
async fn clauses_are_streamed_as_they_are_decided() {
    let (_app, operator) = TestApp::start_operated().await;
    let (healthy, fault) = (sources::start_healthy().await, sources::faults().swap_remove(0));
    let faulty = sources::start(&fault).await;
    for (id, source) in [("good", &healthy), ("bad", &faulty)] {
        operator.post("/admin/v1/sources", &registration(id, source)).await.ok();
        let mut events = Events::open(&operator, &check(id), &[]).await;
        assert_eq!(events.header("content-type"), "text/event-stream");
        let mut told = Vec::new();
        let report = loop {
            let (name, data) = events.next().await.expect("the stream ended without `done`");
            if name == "done" {
                break data;
            }
            assert_eq!(name, "clause");
            told.push(data);
        };
        assert!(events.next().await.is_none(), "data after `done`");
        assert_eq!((&report["passed"], &report["method"]), (&json!(id == "good"), &json!("GET")));
        let clauses = report["clauses"].as_array().unwrap();
        told.sort_by_key(|clause| clause["index"].as_u64());
        let expected: Vec<Value> = (0..)
            .zip(clauses)
            .map(|(index, clause)| with(with(clause.clone(), "index", index), "count", clauses.len()))
            .collect();
        assert_eq!(told, expected);
    }
    let refused = Events::ask(&operator, &check("y"), &[]).await;
    assert_eq!(refused.status(), 404, "a check that cannot begin has an envelope");
}

#[tokio::test]
async fn check_streams_clauses_and_ends_with_its_reader() {
    let (_app, operator) = TestApp::start_operated().await;
    let system = ExternalSystem::start(many("x", "harbour", 40, 1)).await;
    operator.post("/admin/v1/sources", &system.registration("x")).await.ok();
    let mut readers = Vec::new();
    for _ in 0..4 {
        system.set_reply_at_next_cursor(Reply::Silent);
        let mut events = Events::open(&operator, &check("x"), &[]).await;
        let mut told = Vec::new();
        while told.last() != Some(&json!("limit-default")) {
            let (name, clause) = events.next().await.unwrap();
            assert_eq!(name, "clause");
            told.push(clause["id"].clone());
        }
        assert!(told.contains(&json!("http")) && told.contains(&json!("keyword-chinese")), "{told:?}");
        assert!(!told.contains(&json!("cursor-ends")) && !told.contains(&json!("item-id")), "{told:?}");
        readers.push(events);
    }
    operator.post_empty(&check("x")).await.fails(503, "checks");
    drop(readers);
    system.set_reply(Reply::Status(500));
    eventually("a check may begin", async || {
        (operator.post_empty(&check("x")).await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn uncheckable_source_is_reported() {
    let (app, operator) = TestApp::start_operated().await;
    let source = sources::start_healthy().await;
    operator.post("/admin/v1/sources", &registration("x", &source)).await.ok();
    operator.post_empty(&check("y")).await.fails(404, "id");
    operator.post_empty("/admin/v1/sources/x/check?keyword=%20").await.fails(400, "keyword");
    operator.post_empty("/admin/v1/sources/x/check?keyword=a&keyword=b").await.fails(400, "keyword");
    app.tenant("other").await;
    app.operator().await.caller.on("other").post_empty(&check("x")).await.fails(404, "id");
    app.tenant("acme").await.caller.post_empty(&check("x")).await.fails(403, "admin");
}

#[tokio::test]
async fn concurrent_checks_are_limited_and_end_with_callers() {
    let (_app, operator) = TestApp::start_operated().await;
    let system = ExternalSystem::start(Vec::new()).await;
    system.set_reply(Reply::Silent);
    let registration = with(system.registration("x"), "enabled", false);
    operator.post("/admin/v1/sources", &registration).await.ok();
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let operator = operator.clone();
        running.spawn(async move { operator.post_empty(&check("x")).await });
    }
    eventually("all checks call", async || (system.requests().len() == 4).then_some(())).await;

    let busy = operator.post_empty(&check("x")).await.fails(503, "checks");
    assert_eq!(busy.header("retry-after"), "5");

    running.shutdown().await;
    system.set_reply(Reply::Status(500));
    eventually("a check may begin", async || {
        let answer = operator.post_empty(&check("x")).await;
        (answer.status == 200).then(|| assert_eq!(ids_of(answer.data(), "fail"), ["status"]))
    })
    .await;
}
