use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use reqwest::Response;
use serde_json::{Value, json};
use trawl_connectors::{MAX_CURSOR_BYTES, bounds};

use crate::support::HttpCaller;
use crate::zoo::{self, KEYWORD};

const DOCUMENT: &str = include_str!("../../contract.openapi.json");

fn document() -> Value {
    serde_json::from_str(DOCUMENT).unwrap()
}

fn schema(name: &str) -> Value {
    let components = document()["components"].take();
    json!({"$ref": format!("#/components/schemas/{name}"), "components": components})
}

/// Asks Schemathesis' validator. Null is the schema of OpenAPI documents.
fn violations(schema: &Value, values: &[Value]) -> Vec<Vec<String>> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/schemathesis/venv/bin/python");
    assert!(python.exists(), "{} is not there; ./tests/run installs it", python.display());
    let mut command = Command::new(python);
    command.args(["-c", include_str!("validate.py")]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut validator = command.spawn().unwrap();
    let question = json!([schema, values]).to_string();
    validator.stdin.take().unwrap().write_all(question.as_bytes()).unwrap();
    let output = validator.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn check(schema: &Value, values: &[Value]) {
    for (value, violations) in values.iter().zip(violations(schema, values)) {
        assert!(violations.is_empty(), "{violations:?} in {value}");
    }
}

#[test]
fn description_is_openapi_with_valid_examples() {
    let document = document();
    check(&Value::Null, std::slice::from_ref(&document));
    let operations: Vec<&String> = document["paths"]["/search"].as_object().unwrap().keys().collect();
    assert_eq!(operations, ["get", "post"]);
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 10);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    for (name, described) in document["components"]["schemas"].as_object().unwrap() {
        check(&schema(name), described["examples"].as_array().map_or(&[], Vec::as_slice));
    }
}

fn collect_references<'a>(value: &'a Value, references: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            references.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| collect_references(value, references));
        }
        Value::Array(values) => values.iter().for_each(|value| collect_references(value, references)),
        _ => {}
    }
}

#[test]
fn description_has_the_bounds_of_the_code() {
    let document = document();
    let item = &document["components"]["schemas"]["Item"]["properties"];
    for (field, bound) in [
        ("id", bounds::ID),
        ("title", bounds::TITLE),
        ("subTitle", bounds::SUB_TITLE),
        ("brief", bounds::BRIEF),
        ("image", bounds::IMAGE),
        ("author", bounds::AUTHOR),
        ("action", bounds::ACTION),
        ("attachInfo", bounds::ATTACH_INFO),
        ("attachDescription", bounds::ATTACH_DESCRIPTION),
    ] {
        assert_eq!(item[field]["maxLength"], bound, "{field}");
    }
    let cursor = &document["components"]["schemas"]["Page"]["properties"]["cursor"]["maxLength"];
    assert_eq!(cursor, MAX_CURSOR_BYTES);
}

#[test]
fn guide_quotes_the_example_source() {
    const GUIDE: &str = include_str!("../../README.md");
    const SOURCE: &str = include_str!("../../examples/reference/source.rs");
    let quoted = |language: &str| GUIDE.split_once(language).unwrap().1.split_once("```").unwrap().0;
    let lines: Vec<&str> = quoted("```rust\n").lines().collect();
    assert!(lines.len() > 4);
    for line in lines {
        assert!(SOURCE.contains(line), "the source has no {line:?}");
    }
    check(&schema("Page"), &[serde_json::from_str(quoted("```json\n")).unwrap()]);
}

async fn body(answer: Response) -> Value {
    assert_eq!(answer.headers()["content-type"], "application/json;charset=UTF-8");
    answer.json().await.unwrap()
}

#[tokio::test]
async fn reference_source_matches_the_schemas() {
    let source = HttpCaller::start().await;
    let mut pages = Vec::new();
    for (keyword, limit) in [(KEYWORD, "10"), (KEYWORD, "100"), ("港口", "1"), ("zyzzyva", "10")] {
        pages.push(body(source.search(&[("keyword", keyword), ("limit", limit)]).await).await);
    }
    check(&schema("Page"), &pages);
    let incomplete = source.search(&[]).await;
    let refused = source.search_with(Some("wrong"), &[("keyword", KEYWORD)]).await;
    check(&schema("Failure"), &[body(incomplete).await, body(refused).await]);
}

#[tokio::test]
async fn faults_of_form_violate_the_schemas() {
    // No schema relates numbers to each other, or reads inside a text.
    let beyond_a_schema = [
        "count-off-by-one",
        "total-below-count",
        "total-of-the-page",
        "total-of-what-is-left",
        "ends-before-its-total",
        "action-without-its-tag",
    ];
    let of_form = |clause: &str| {
        clause.starts_with("item-") && !matches!(clause, "item-id-unique" | "item-id-stable")
            || ["code", "message", "data", "count", "total", "cursor"].contains(&clause)
    };
    let (mut faults, mut pages) = (Vec::new(), Vec::new());
    for fault in zoo::faults() {
        if of_form(fault.clause) && !beyond_a_schema.contains(&fault.name) {
            let source = HttpCaller::with(zoo::start(&fault).await).await;
            pages.push(source.page(&[("keyword", KEYWORD), ("limit", "100")]).await);
            pages.push(source.page(&[("keyword", KEYWORD)]).await);
            faults.push(fault);
        }
    }
    assert!(faults.len() > 30, "{}", faults.len());
    for (fault, violations) in faults.iter().zip(violations(&schema("Page"), &pages).chunks(2)) {
        assert!(violations.iter().any(|page| !page.is_empty()), "{fault} violates nothing");
    }
}
