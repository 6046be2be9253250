//! Searches of mapped sources beside built-in content.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::Caller,
    external::with,
    own_search::{OwnSearch, ReceivedRequest},
    paging::walk_by_cursor,
};

const NEW_YEAR: i64 = 1_704_067_200_000;

fn mapping() -> Value {
    json!({
        "request": {"path": "/find", "query": "{ q: $keyword, max: $limit, skip: $offset }"},
        "paging": "offset",
        "answer": {
            "rows": ".found[]", "id": ".key", "title": ".name", "brief": ".html | text", "author": ".by",
            "displayTime": ".when", "action": "\"/show/\\(.key)\"", "total": ".hits",
        },
    })
}

/// 25 rows, by offset, in seconds since 1970.
fn page(request: &ReceivedRequest) -> Response {
    let number = |name: &str| request.parameter(name).parse::<usize>().unwrap();
    let (skip, max) = (number("skip"), number("max"));
    let rows: Vec<Value> = (skip..25.min(skip + max))
        .map(|row| {
            json!({
                "key": row, "name": format!("Row {row}"), "html": "<p>a &amp; b</p>", "by": "Mei",
                "when": NEW_YEAR / 1_000 - i64::try_from(row).unwrap(),
            })
        })
        .collect();
    json!({"found": rows, "hits": 25}).to_string().into_response()
}

async fn start(respond: fn(&ReceivedRequest) -> Response, mapping: Value) -> (TestApp, Caller, OwnSearch) {
    let (app, operator) = TestApp::start_operated().await;
    let system = OwnSearch::start(respond).await;
    operator.register_source(&system.registration("wiki", &mapping), "pages", &["wiki"]).await;
    (app, operator, system)
}

#[tokio::test]
async fn rows_of_a_mapped_source_are_items() {
    let (app, operator, system) = start(page, mapping()).await;
    let source = operator.get("/admin/v1/sources/wiki").await.ok();
    assert_eq!((&source.data()["kind"], &source.data()["mapping"]), (&json!("mapping"), &mapping()));

    let caller = app.tenant("acme").await.caller;
    let answer = caller.search(&[("moduleId", "pages"), ("keyword", "a b&c=d"), ("limit", "3")]).await.ok();
    assert_eq!((answer.total(), answer.items().len()), (25, 3));
    let status = &answer.body["sources"][0];
    assert_eq!((&status["status"], &status["message"]), (&json!("ok"), &Value::Null), "{}", answer.text);
    let action = json!({"web": format!("[OpenUrl]\nurl={}show/0", system.base)}).to_string();
    let expected = json!({
        "id": "0", "title": "Row 0", "brief": "a & b", "author": "Mei", "displayTime": NEW_YEAR, "action": action,
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&answer.items()[0][field], value, "{}", answer.text);
    }
    let [received] = &system.received()[..] else { panic!("one call") };
    assert_eq!((received.uri.path(), received.parameter("q").as_str()), ("/find", "a b&c=d"));
    assert_eq!((received.parameter("max").as_str(), received.parameter("skip").as_str()), ("10", "0"));
}

#[tokio::test]
async fn every_kind_of_paging_ends_with_nothing_lost() {
    let (app, operator) = TestApp::start_operated().await;
    let system = OwnSearch::start(|request| {
        let number = |name: &str| request.parameter(name).parse::<usize>().ok();
        let (from, size) = (number("from").unwrap_or(number("number").unwrap_or(0) * 10), 10);
        let to = 25.min(from + size);
        let rows: Vec<Value> = (from..to)
            .map(|row| json!({"id": row, "title": "a", "time": NEW_YEAR - i64::try_from(row).unwrap()}))
            .collect();
        let next = (to < 25).then(|| to.to_string());
        let link = next
            .as_ref()
            .map(|next| format!("</{}?from={next}>; rel=\"next\"", request.uri.path().trim_matches('/')));
        let body = json!({"rows": rows, "next": next}).to_string();
        match link {
            Some(link) => ([("Link", link)], body).into_response(),
            None => body.into_response(),
        }
    })
    .await;
    let answer = json!({"rows": ".rows[]", "id": ".id", "title": ".title", "displayTime": ".time"});
    let cases = [
        (
            "cursor",
            json!({"request": {"query": "{ from: $cursor }"}, "paging": "cursor", "answer": with(answer.clone(), "next", ".next")}),
        ),
        ("offset", json!({"request": {"query": "{ from: $offset }"}, "paging": "offset", "answer": answer})),
        (
            "page",
            json!({"request": {"query": "{ number: $page }"}, "paging": "page", "firstPage": 0, "answer": answer}),
        ),
        ("link", json!({"request": {"path": "/linked"}, "paging": "link", "answer": answer})),
    ];
    let caller = app.tenant("acme").await.caller;
    for (paging, mapping) in cases {
        operator.register_source(&system.registration(paging, &mapping), paging, &[paging]).await;
        let walk = walk_by_cursor(&caller, &[("moduleId", paging), ("keyword", "a")], 7).await;
        walk.assert_met((0..25).map(|row| row.to_string()));
    }
}

#[tokio::test]
async fn failure_of_the_system_is_the_status_of_its_source() {
    type Respond = fn(&ReceivedRequest) -> Response;
    let failures: [(Respond, &str, &str); 4] = [
        (|_| StatusCode::UNAUTHORIZED.into_response(), "unauthorized", "401"),
        (|_| json!({"error": "quota \u{1b}[31mexceeded"}).to_string().into_response(), "error", "quota"),
        (|_| "<html>".into_response(), "invalid", "answer: is not JSON"),
        (|_| json!({"hits": 0}).to_string().into_response(), "invalid", "answer.rows: cannot"),
    ];
    for (respond, status, message) in failures {
        let mut mapping = mapping();
        mapping["answer"]["error"] = ".error".into();
        let (app, _, _) = start(respond, mapping).await;
        let caller = app.tenant("acme").await.caller;
        let answer = caller.search(&[("moduleId", "pages"), ("keyword", "a")]).await;
        let source = &answer.body["sources"][0];
        assert_eq!(source["status"], status, "{}", answer.text);
        let text = source["message"].as_str().unwrap();
        assert!(text.contains(message) && !text.contains('\u{1b}'), "{text}");
    }
}

#[tokio::test]
async fn error_in_the_body_of_a_later_page_ends_its_chain() {
    let shallow = |request: &ReceivedRequest| {
        if request.parameter("skip") == "20" {
            return json!({"error": "The scroll context has expired"}).to_string().into_response();
        }
        page(request)
    };
    let busy = |request: &ReceivedRequest| {
        if request.parameter("skip") == "20" {
            return json!({"error": "API rate limit exceeded"}).to_string().into_response();
        }
        page(request)
    };
    let passing = |request: &ReceivedRequest| {
        if request.parameter("skip") == "20" {
            return json!({"error": "The search timed out"}).to_string().into_response();
        }
        page(request)
    };
    let mut mapping = mapping();
    mapping["answer"]["error"] = ".error".into();
    let (app, ..) = start(shallow, mapping.clone()).await;
    let caller = app.tenant("acme").await.caller;
    let parameters = [("moduleId", "pages"), ("keyword", "a")];
    walk_by_cursor(&caller, &parameters, 7).await.assert_met((0..20).map(|row| row.to_string()));
    let whole = [&parameters[..], &[("paging", "cursor"), ("limit", "50")]].concat();
    let answer = caller.search(&whole).await.ok();
    let message = answer.body["sources"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("it shows no more: 20 of the 25") && message.contains("context has expired"),
        "{message}"
    );

    // Others keep their place.
    for (system, status) in [(busy as fn(&ReceivedRequest) -> Response, "unavailable"), (passing, "error")] {
        let (app, ..) = start(system, mapping.clone()).await;
        let answer = app.tenant("acme").await.caller.search(&whole).await.ok();
        let source = &answer.body["sources"][0];
        assert_eq!((&source["status"], &answer.body["partial"]), (&json!(status), &json!(true)), "{source}");
        assert!(answer.cursor().is_some());
    }
}

#[tokio::test]
async fn answer_that_its_system_calls_incomplete_makes_the_search_partial() {
    let cut = |request: &ReceivedRequest| {
        let lost = if request.parameter("q") == "cut" { json!("2 of 5 shards failed") } else { json!(0) };
        json!({"found": [{"key": 1, "name": "Row", "when": 0}], "hits": 1, "lost": lost})
            .to_string()
            .into_response()
    };
    let mut mapping = mapping();
    mapping["answer"]["incomplete"] = ".lost".into();
    let (app, ..) = start(cut, mapping).await;
    let caller = app.tenant("acme").await.caller;
    for (keyword, partial, message) in
        [("cut", true, json!("2 of 5 shards failed")), ("whole", false, Value::Null)]
    {
        let parameters = [("moduleId", "pages"), ("keyword", keyword), ("paging", "cursor")];
        let answer = caller.search(&parameters).await.ok();
        let source = &answer.body["sources"][0];
        assert_eq!((&source["status"], &source["message"]), (&json!("ok"), &message), "{}", answer.text);
        assert_eq!(answer.body["cursor"], Value::Null, "its pages end");
        assert_eq!((answer.items().len(), &answer.body["partial"]), (1, &partial.into()), "{}", answer.text);
    }
}

#[tokio::test]
async fn check_of_a_mapped_source_decides_what_it_can() {
    let (_app, operator, _) = start(page, mapping()).await;
    let report = operator.post_empty("/admin/v1/sources/wiki/check?keyword=a").await.ok();
    let verdict = |id: &str| {
        let clauses = report.data()["clauses"].as_array().unwrap();
        clauses.iter().find(|clause| clause["id"] == id).unwrap()["verdict"].as_str().unwrap()
    };
    for id in
        ["http", "envelope", "item-id", "total", "cursor-ends", "cursor-complete", "order", "concurrency"]
    {
        assert_eq!(verdict(id), "pass", "{id}: {}", report.text);
    }
    for id in ["keyword-required", "limit-default"] {
        assert_eq!(verdict(id), "unknown", "{id}");
    }
    // This system finds every word.
    assert_eq!(verdict("keyword-unknown"), "fail");
}
