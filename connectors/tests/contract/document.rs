use jsonschema::Validator;
use reqwest::Response;
use serde_json::{Value, json};
use trawl_connectors::{MAX_CURSOR_BYTES, bounds};

use crate::support::HttpCaller;
use crate::zoo::{self, KEYWORD};

const DOCUMENT: &str = include_str!("../../contract.openapi.json");

fn document() -> Value {
    serde_json::from_str(DOCUMENT).unwrap()
}

fn validator(schema: &str) -> Validator {
    let components = document()["components"].take();
    let root = json!({"$ref": format!("#/components/schemas/{schema}"), "components": components});
    jsonschema::draft202012::new(&root).unwrap()
}

#[track_caller]
fn check(validator: &Validator, value: &Value) {
    let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?} in {value}");
}

#[test]
fn description_is_openapi_with_valid_examples() {
    let parsed = oas3::from_json(DOCUMENT).unwrap();
    let operations: Vec<_> = parsed.operations().map(|(path, method, _)| (path, method)).collect();
    assert_eq!(operations.len(), 2, "{operations:?}");
    let document = document();
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 10);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let validator = validator(name);
        for example in schema["examples"].as_array().into_iter().flatten() {
            check(&validator, example);
        }
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
    check(&validator("Page"), &serde_json::from_str(quoted("```json\n")).unwrap());
}

async fn body(answer: Response) -> Value {
    assert_eq!(answer.headers()["content-type"], "application/json;charset=UTF-8");
    answer.json().await.unwrap()
}

#[tokio::test]
async fn reference_source_matches_the_schemas() {
    let source = HttpCaller::start().await;
    let (page, failure) = (validator("Page"), validator("Failure"));
    for (keyword, limit) in [(KEYWORD, "10"), (KEYWORD, "100"), ("港口", "1"), ("zyzzyva", "10")] {
        check(&page, &body(source.search(&[("keyword", keyword), ("limit", limit)]).await).await);
    }
    check(&failure, &body(source.search(&[]).await).await);
    check(&failure, &body(source.search_with(Some("wrong"), &[("keyword", KEYWORD)]).await).await);
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
    let page = validator("Page");
    let mut checked = 0;
    for fault in zoo::faults() {
        if of_form(fault.clause) && !beyond_a_schema.contains(&fault.name) {
            let source = HttpCaller::with(zoo::start(&fault).await).await;
            let answer = source.page(&[("keyword", KEYWORD), ("limit", "100")]).await;
            let first = source.page(&[("keyword", KEYWORD)]).await;
            assert!(!page.is_valid(&answer) || !page.is_valid(&first), "{fault}: {first}");
            checked += 1;
        }
    }
    assert!(checked > 30, "{checked}");
}
