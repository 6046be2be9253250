//! Mappings and answers that are wrong: a clear message, within bounds, at nobody else's cost.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::util::{app::TestApp, eventually, external::with, own_search::OwnSearch};

const TRY: &str = "/admin/v1/sources/try";
const SOURCES: &str = "/admin/v1/sources";

fn mapping() -> Value {
    json!({
        "request": {"query": "{ q: $keyword }"},
        "answer": {"rows": ".rows[]", "id": ".id", "title": ".title", "displayTime": ".time"},
    })
}

/// The mapping with another value at a path, such as `answer.rows`.
fn changed(path: &str, value: impl Into<Value>) -> Value {
    let mut mapping = mapping();
    match path.split_once('.') {
        Some((part, field)) => mapping[part][field] = value.into(),
        None => mapping[path] = value.into(),
    }
    mapping
}

#[tokio::test]
async fn wrong_mapping_is_refused_at_its_registration() {
    let (_app, operator) = TestApp::start_operated().await;
    let system = OwnSearch::always("{}").await;
    let long = format!("\"{}\"", "x".repeat(9_000));
    let cases = [
        ("answer.rows", json!(""), "mapping.answer.rows: is required"),
        ("answer.rows", json!(".a |"), "mapping.answer.rows: is no jq filter"),
        ("answer.rows", json!("((((((("), "mapping.answer.rows: is no jq filter"),
        ("answer.rows", json!("\"(".repeat(2_000)), "mapping"),
        ("answer.rows", json!("(".repeat(8_000)), "mapping"),
        ("answer.rows", json!("[".repeat(8_000)), "mapping"),
        ("answer.rows", json!(long), "mapping.answer.rows: must be at most 8,192 bytes"),
        (
            "answer.rows",
            json!("import \"/etc/passwd\" as $x; $x"),
            "mapping.answer.rows: must not import modules",
        ),
        ("answer.rows", json!("include \"a\"; ."), "mapping.answer.rows: must not import modules"),
        ("answer.id", json!("nope"), "mapping.answer.id: uses the unknown filter `nope`"),
        ("answer.id", json!("$nope"), "mapping.answer.id: uses the unknown variable `$nope`"),
        ("answer.id", json!("$__loc__"), "mapping.answer.id: "),
        ("answer.id", json!("input"), "mapping.answer.id: uses the unknown filter `input`"),
        ("answer.id", json!("get_search_list"), "mapping.answer.id: uses the unknown filter"),
        ("answer.next", json!(".next"), "mapping.paging: must be cursor, page, offset or link"),
        ("paging", json!("cursor"), "mapping.answer.next: is required"),
        ("paging", json!("scroll"), "paging"),
        ("firstPage", json!(0), "mapping.firstPage: is for the paging by page only"),
        ("firstPage", json!(-1), "firstPage"),
        ("request.path", json!("find"), "mapping.request.path: must begin with a slash"),
        ("request.path", json!("/a/../../b"), "mapping.request.path: "),
        ("request.path", json!("/a/%2E%2e/b"), "mapping.request.path: "),
        ("request.path", json!("/a?x=1"), "mapping.request.path: "),
        ("request.path", json!("/a b"), "mapping.request.path: "),
        ("request.path", json!("\\\\evil.example\\a"), "mapping.request.path: "),
        ("request.body", json!("{}"), "mapping.request.body: is for the method POST only"),
        ("request.query", json!("{"), "mapping.request.query: is no jq filter"),
        ("request.unknown", json!("a"), "mapping.request.unknown: is unknown"),
        ("answer.rows", json!(7), "rows"),
        ("answer", json!([]), "answer"),
    ];
    for (path, value, message) in cases {
        let source = system.registration("wiki", &changed(path, value.clone()));
        let refused = operator.post(SOURCES, &source).await.fails(400, message);
        assert!(refused.message().len() < 500, "{path}: {}", refused.text);
    }
    for (source, message) in [
        (
            with(system.registration("wiki", &mapping()), "kind", "graphql"),
            "kind: must be contract or mapping",
        ),
        (with(system.registration("wiki", &mapping()), "mapping", json!([1])), "mapping: must be an object"),
        (
            with(system.registration("wiki", &mapping()), "kind", "contract"),
            "mapping: is for the kind mapping only",
        ),
        (with(system.registration("wiki", &mapping()), "mapping", Value::Null), "mapping: is required"),
        (with(system.registration("try", &mapping()), "kind", "mapping"), "id: must not be `try`"),
    ] {
        operator.post(SOURCES, &source).await.fails(400, message);
    }
    assert!(operator.get(SOURCES).await.ok().items().is_empty() && system.received().is_empty());
}

#[tokio::test]
async fn filter_or_answer_that_goes_wrong_is_named_within_bounds() {
    let (_app, operator) = TestApp::start_operated().await;
    let row = |field: &str, value: Value| {
        let mut row = json!({"id": 1, "title": "a", "time": "2024-01-01"});
        row[field] = value;
        json!({"rows": [row]}).to_string()
    };
    let good = row("id", json!(1));
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let many = json!({"rows": vec![json!({"id": 1}); 1_001]}).to_string();
    let huge = row("title", json!("x".repeat(1_500_000)));
    let filters = [
        // The filter has no end, or too much of it.
        ("answer.rows", "def f: f; f", "take more than 1 s of processor time"),
        ("answer.rows", "last(repeat(1))", "take more than 1 s of processor time"),
        ("answer.rows", "range(0; infinite)", "yields more than 1000 rows"),
        ("answer.rows", "range(1000000)", "yields more than 1000 rows"),
        ("answer.rows", "[limit(1000000000; repeat(\"xxxxxxxxxxxxxxxx\"))]", "mapping: its filters"),
        ("answer.rows", "def f: [f]; f", "mapping: its filters"),
        ("answer.rows", "def f: 1 + f; f", "mapping: its filters"),
        ("answer.rows", "\"x\" * 10000000000", "mapping: its filters"),
        ("answer.rows", "reduce range(60) as $i (\"x\"; . + .)", "mapping: its filters"),
        // 512 MiB, made of 256.
        ("answer.rows", "reduce range(29) as $i (\"x\"; . + .) | {rows: length}", "need too much memory"),
        ("answer.rows", "until(false; .)", "take more than 1 s of processor time"),
        ("answer.id", "recurse", "answer.id yields an object, not text"),
        ("request.query", "def f: f; f", "take more than 1 s of processor time"),
        ("request.query", "{ q: (\"x\" * 10000000000) }", "mapping: its filters"),
        // The wrong kind of value.
        ("answer.rows", ".rows", "answer.rows: yields one array of 1 values"),
        ("answer.rows", ".rows.id", "answer.rows: cannot index"),
        ("answer.rows", ".id[]", "answer.rows: cannot"),
        ("answer.rows", "error(\"hush\")", "answer.rows: hush"),
        ("answer.rows", "halt", "answer.rows: must not use halt"),
        ("answer.rows", "1", "`id` is missing"),
        ("answer.id", ".", "answer.id yields an object, not text"),
        ("answer.id", "null", "`id` is missing"),
        ("answer.displayTime", "\"soon\"", "answer.displayTime yields soon, which is no time"),
        ("answer.displayTime", "nan", "which is no time"),
        ("answer.displayTime", "1e300", "which is no time"),
        ("answer.displayTime", "[]", "which is no time"),
        ("answer.action", "\"javascript:alert(1)\"", "opens a script instead of an address"),
        ("answer.action", "\"http://[\"", "which is no address"),
        ("answer.action", "{ web: 1 }", "holds a value that is not text"),
        ("request.query", "[]", "request.query: yields an array, not an object"),
        ("request.query", "{ q: {} }", "request.query: `q` is an object, not text"),
        ("request.headers", "{ Host: \"evil\" }", "`Host` must not be set"),
        ("request.headers", "{ \"X-A\": \"a\\r\\nHost: evil\" }", "a value that no header can hold"),
        ("request.headers", "{ \"\": \"a\" }", "is no header's name"),
    ];
    let answers = [
        ("", "answer: is not JSON"),
        ("<html>", "answer: is not JSON"),
        ("{\"rows\": [", "answer: is not JSON"),
        ("# comment\n{}", "answer: is not JSON"),
        ("[]", "answer.rows: cannot index"),
        ("null", "answer.rows: cannot"),
        ("{\"rows\": {}}", "rows: []"),
        (&deep, "answer: must be nested at most 64 levels"),
        (&many, "answer.rows: yields more than 1000 rows"),
        (&huge, "`title` is too long and was cut"),
    ];
    let cases =
        filters.iter().map(|(path, filter, message)| (changed(path, *filter), good.as_str(), *message));
    let cases = cases.chain(answers.iter().map(|(answer, message)| (mapping(), *answer, *message)));
    for (mapping, answer, message) in cases {
        let system = OwnSearch::always(answer).await;
        let source = system.registration("wiki", &mapping);
        // A filter that hardly gets a turn on a busy machine ends by the clock first.
        let trial = eventually("an end by itself", async || {
            let trial = operator.post(TRY, &json!({"source": source, "keyword": "a"})).await.ok();
            (!trial.text.contains("its filters take longer than")).then_some(trial)
        })
        .await;
        let missing = trial.data()["missing"].as_array().unwrap().iter();
        let missing = missing.map(|fault| format!("{} {}", fault["field"], fault["message"]));
        let told = ["failure", "problems", "rows"].map(|name| format!("{name}: {}", trial.data()[name]));
        let told = told.into_iter().chain(missing).collect::<Vec<_>>().join(", ").replace(['"', '\\'], "");
        assert!(told.contains(message), "{mapping}: {told}");
    }
}

#[tokio::test]
async fn filters_without_end_take_no_other_source_with_them() {
    let (app, operator) = TestApp::start_operated().await;
    let system =
        OwnSearch::always(json!({"rows": [{"id": 1, "title": "a", "time": 1_704_067_200}]}).to_string())
            .await;
    let endless = changed("answer.rows", "def f: f; f");
    for id in ["bad", "worse"] {
        operator.post(SOURCES, &system.registration(id, &endless)).await.ok();
    }
    operator.post(SOURCES, &system.registration("good", &mapping())).await.ok();
    operator.register_module("pages", &["bad", "worse", "good"]).await;
    operator.register_module("good-pages", &["good"]).await;
    let caller = app.tenant("acme").await.caller;

    let [broken, whole] = ["pages", "good-pages"].map(|module| {
        join_all((0..14).map(move |number| (module, number.to_string())).map(|(module, keyword)| {
            let caller = caller.clone();
            async move { caller.search(&[("moduleId", module), ("keyword", &keyword)]).await.ok() }
        }))
    });
    let (broken, whole) = tokio::join!(broken, whole);
    for answer in &whole {
        assert_eq!((answer.items().len(), &answer.body["partial"]), (1, &json!(false)), "{}", answer.text);
    }
    for answer in &broken {
        assert_eq!(
            (answer.items().len(), &answer.source("good")["status"]),
            (1, &json!("ok")),
            "{}",
            answer.text
        );
        assert_eq!(answer.body["partial"], true, "{}", answer.text);
    }
}
