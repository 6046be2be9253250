//! Sources that limit requests, wait for typing, or end at a depth.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::Caller,
    external::{ExternalSystem, Reply, with},
    items::{NEW_YEAR, many},
    own_search::{OwnSearch, ReceivedRequest},
    paging::walk_by_cursor,
};

async fn search(caller: &Caller, keyword: &str, more: &[(&str, &str)]) -> Answer {
    caller.search(&[&[("keyword", keyword), ("moduleId", "all")], more].concat()).await
}

fn used_up(_: &ReceivedRequest) -> Response {
    let headers = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "90")];
    (StatusCode::FORBIDDEN, headers).into_response()
}

#[tokio::test]
async fn used_up_requests_are_waited_for_until_their_reset() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &many("a", "harbour", 3, 1)).await;
    let operator = app.operator().await.caller.on("acme");
    let system = OwnSearch::start(used_up).await;
    let registration =
        json!({"id": "x", "name": "X", "url": system.base, "auth": {"type": "NONE"}, "timeoutMs": 10_000});
    operator.register_source(&registration, "all", &["builtin:article", "x"]).await;
    for _ in 0..3 {
        let answer = search(&acme.caller, "harbour", &[]).await.ok();
        assert_eq!(answer.ids().len(), 3);
        let report = answer.source("x");
        assert_eq!(
            (&report["status"], &report["retryAt"]),
            (&json!("unavailable"), &json!(NEW_YEAR + 90_000))
        );
    }
    assert_eq!(system.received().len(), 1);
}

#[tokio::test]
async fn calls_beyond_requests_per_minute_are_not_made() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await.caller.on("acme");
    let registration = with(system.registration("x"), "requestsPerMinute", 2);
    operator.register_source(&registration, "all", &["builtin:article", "x"]).await;
    assert_eq!(operator.get("/admin/v1/sources/x").await.ok().data()["requestsPerMinute"], 2);
    let statuses = async |keyword: &str| {
        let answer = search(&acme.caller, keyword, &[]).await.ok();
        answer.source("x").clone()
    };
    for keyword in ["harbour", "harb"] {
        assert_eq!(statuses(keyword).await["status"], "ok");
    }
    let report = statuses("quay").await;
    assert_eq!(report["status"], "unavailable", "{report}");
    assert!(report["message"].as_str().unwrap().contains("2 calls a minute"), "{report}");
    assert!(report["retryAt"].as_i64().unwrap() > NEW_YEAR, "{report}");
    assert_eq!(system.requests().len(), 2);
    let health = operator.get("/admin/v1/sources/x/health").await.ok();
    assert_eq!(health.data()["suspended"], Value::Null, "its own limit is no failure");

    for (limit, message) in [(json!(0), "requestsPerMinute: "), (json!(60_001), "requestsPerMinute: ")] {
        let wrong = with(system.registration("y"), "requestsPerMinute", limit);
        operator.post("/admin/v1/sources", &wrong).await.fails(400, message);
    }
}

#[tokio::test]
async fn source_is_skipped_while_the_keyword_is_typed() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await.caller.on("acme");
    let registration = with(system.registration("x"), "whileTyping", false);
    operator.register_source(&registration, "all", &["x"]).await;

    let typed = search(&acme.caller, "harb", &[("typing", "true")]).await.ok();
    assert_eq!((typed.items().len(), &typed.body["partial"]), (0, &json!(true)), "{}", typed.text);
    assert_eq!(typed.source("x")["status"], "skipped");
    assert!(system.requests().is_empty());
    let whole = search(&acme.caller, "harbour", &[]).await.ok();
    assert_eq!((whole.items().len(), &whole.source("x")["status"]), (3, &json!("ok")));

    operator.put("/admin/v1/sources/x", &system.registration("x")).await.ok();
    let typed = search(&acme.caller, "harbour", &[("typing", "true")]).await.ok();
    assert_eq!(typed.source("x")["status"], "ok", "by default it is asked at each key");
    search(&acme.caller, "harbour", &[("typing", "yes")]).await.fails(400, "typing: ");
}

#[tokio::test]
async fn refused_depth_ends_the_list_and_is_told() {
    let system = ExternalSystem::start(many("x", "harbour", 35, 1)).await;
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await.caller.on("acme");
    operator.register_source(&system.registration("x"), "all", &["x"]).await;
    system.set_reply_at(Some(("20", Reply::Status(422))));
    let parameters = [("keyword", "harbour"), ("moduleId", "all"), ("limit", "10"), ("paging", "cursor")];
    let mut cursor = None;
    let mut items = 0;
    for _ in 0..4 {
        let next = cursor.as_deref().map(|cursor| ("cursor", cursor));
        let answer = acme.caller.search(&[&parameters[..], next.as_slice()].concat()).await.ok();
        items += answer.items().len();
        cursor = answer.cursor();
        if cursor.is_none() {
            assert_eq!(items, 20);
            assert_eq!(answer.source("x")["status"], "ok", "{}", answer.text);
            let message = answer.source("x")["message"].as_str().unwrap();
            assert!(message.contains("shows no more") && message.contains("422"), "{message}");
            return;
        }
    }
    panic!("the list has no end");
}

#[tokio::test]
async fn items_of_a_mapped_source_open_at_its_site() {
    let (app, operator) = TestApp::start_operated().await;
    let answer = json!({"rows": [{"id": 7, "time": NEW_YEAR, "title": "Plan"}]}).to_string();
    let system = OwnSearch::always(answer).await;
    let mapping = json!({"answer": {
        "rows": ".rows[]", "id": ".id", "title": ".title", "displayTime": ".time", "action": "\"/browse/\\(.id)\"",
    }});
    let registration = with(system.registration("wiki", &mapping), "site", "https://port.example.net");
    operator.register_source(&registration, "pages", &["wiki"]).await;
    assert_eq!(operator.get("/admin/v1/sources/wiki").await.ok().data()["site"], "https://port.example.net");
    let caller = app.tenant("acme").await.caller;
    let answer = caller.search(&[("moduleId", "pages"), ("keyword", "plan")]).await.ok();
    let action = json!({"web": "[OpenUrl]\nurl=https://port.example.net/browse/7"}).to_string();
    assert_eq!(answer.items()[0]["action"], action, "{}", answer.text);

    for site in
        ["port.example.net", "ftp://port.example.net", "https://mei:secret@port.example.net", "https://h/?a"]
    {
        let wrong = with(registration.clone(), "site", site);
        operator.put("/admin/v1/sources/wiki", &wrong).await.fails(400, "site: ");
    }
    let contract = json!({"name": "C", "url": system.base, "auth": {"type": "NONE"}, "site": "https://h"});
    operator.post("/admin/v1/sources", &contract).await.fails(400, "site: is for the kind mapping only");
}

#[tokio::test]
async fn short_pages_of_a_mapped_source_are_followed_to_an_empty_one() {
    // Rights hide two of three rows on each page.
    fn page(request: &ReceivedRequest) -> Response {
        let page: usize = request.parameter("page").parse().unwrap();
        let time = NEW_YEAR - i64::try_from(page).unwrap();
        let visible = (page < 6).then(|| json!({"id": page, "title": "a", "time": time}));
        json!(Vec::from_iter(visible)).to_string().into_response()
    }
    let (app, operator) = TestApp::start_operated().await;
    let system = OwnSearch::start(page).await;
    let mapping = json!({
        "request": {"query": "{ q: $keyword, $page }"}, "paging": "page",
        "answer": {"rows": ".[]", "id": ".id", "title": ".title", "displayTime": ".time"},
    });
    operator.register_source(&system.registration("desk", &mapping), "all", &["desk"]).await;
    let caller = app.tenant("acme").await.caller;
    let walk = walk_by_cursor(&caller, &[("moduleId", "all"), ("keyword", "a")], 10).await;
    assert_eq!(walk.ids.len(), 5);
    let report = search(&caller, "a", &[]).await.ok().source("desk").clone();
    assert_eq!((&report["status"], &report["message"]), (&json!("ok"), &Value::Null), "{report}");
}
