//! The HTTP page, from `/openapi.json` and the access rules.

use std::fmt::Write as _;

use serde_json::Value;
use trawl::server::{
    routes::rules,
    rule::{RequiredIdentity, Rule},
};

use super::{assert_current, cell};
use crate::util::app::TestApp;

#[tokio::test]
async fn http_page_is_current() {
    let app = TestApp::start().await;
    let description = app.caller("").get("/openapi.json").await.body;
    let mut page = String::new();
    for tag in description["tags"].as_array().unwrap() {
        operations(&mut page, &description["paths"], tag);
    }
    let tags: Vec<&Value> = description["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            assert!(
                tags.contains(&&operation["tags"][0]),
                "the tag of {path} is missing in server/openapi.rs"
            );
        }
    }
    page.push_str("## Objects\n\n| Object | Fields |\n|---|---|\n");
    for (name, schema) in description["components"]["schemas"].as_object().unwrap() {
        if !name.contains("Envelope") && !name.contains("Failure") {
            writeln!(page, "| `{name}` | {} |", fields(schema)).unwrap();
        }
    }
    assert_current("http.md", &page);
}

fn operations(page: &mut String, paths: &Value, tag: &Value) {
    let name = tag["name"].as_str().unwrap();
    writeln!(page, "## {name}\n\n{}.\n", cell(tag["description"].as_str().unwrap())).unwrap();
    page.push_str("| Operation | Purpose | Caller | Input | `data` |\n|---|---|---|---|---|\n");
    for (path, methods) in paths.as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if operation["tags"][0] == name {
                let method = method.to_uppercase();
                let summary = cell(operation["summary"].as_str().unwrap());
                let purpose = summary.split(". ").next().unwrap();
                let (caller, input, data) = (caller(&method, path), input(operation), data(operation));
                writeln!(page, "| `{method} {path}` | {purpose} | {caller} | {input} | {data} |").unwrap();
            }
        }
    }
    page.push('\n');
}

fn caller(method: &str, path: &str) -> String {
    let Rule { identity, scope, .. } =
        rules().find(|rule| (rule.method, rule.path) == (method, path)).unwrap();
    let identity = match identity {
        RequiredIdentity::Anyone => "anyone",
        RequiredIdentity::Application => "application",
        RequiredIdentity::User => "user",
        RequiredIdentity::Either => "application or user",
        RequiredIdentity::PageSession => "session of a page",
    };
    scope.map_or(identity.to_owned(), |scope| format!("{identity}, `{scope}`"))
}

/// The parameters, and the object of the body.
fn input(operation: &Value) -> String {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let mut input: Vec<String> = parameters
        .filter(|parameter| parameter["in"] != "path")
        .map(|parameter| {
            format!("`{}`{}", parameter["name"].as_str().unwrap(), star(parameter["required"] == true))
        })
        .collect();
    for (content, body) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
        let kind = if content == "application/json" { kind(&body["schema"]) } else { format!("`{content}`") };
        input.push(format!("body: {kind}"));
    }
    input.join(", ")
}

/// The type of `data` in a success, or of an answer without envelope.
fn data(operation: &Value) -> String {
    let Some(contents) = operation["responses"]["200"]["content"].as_object() else { return String::new() };
    let one = |(content, body): (&String, &Value)| {
        if content == "application/json" { kind(&body["schema"]) } else { format!("`{content}`") }
    };
    contents.iter().map(one).collect::<Vec<_>>().join(" or ")
}

fn fields(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .map(|value| format!("`{}`", value.as_str().unwrap()))
            .collect::<Vec<_>>()
            .join(" or ");
    }
    let mut fields = Vec::new();
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let is_required = required.contains(&Value::from(name.as_str()))
            || property["description"].as_str().is_some_and(|text| text.contains("Required"));
        fields.push(format!("`{name}`{} {}", star(is_required), kind(property)));
    }
    if fields.is_empty() { kind(schema) } else { fields.join(", ") }
}

fn star(is_required: bool) -> &'static str {
    if is_required { "\\*" } else { "" }
}

fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return object(reference.rsplit_once('/').unwrap().1);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let kinds = choices.iter().filter(|choice| choice["type"] != "null").map(kind);
        return kinds.collect::<Vec<_>>().join(" or ");
    }
    let name = match &schema["type"] {
        Value::String(name) => name.as_str(),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("any")
        }
        _ => "any",
    };
    if name == "array" { format!("{}\\[\\]", kind(&schema["items"])) } else { name.to_owned() }
}

/// An envelope is named by its `data`.
fn object(name: &str) -> String {
    let Some((_, data)) = name.split_once("Envelope_") else { return format!("`{name}`") };
    let data = data.trim_start_matches("Option_");
    let (data, list) = data.strip_prefix("Vec_").map_or((data, ""), |data| (data, "\\[\\]"));
    match data {
        "String" => format!("string{list}"),
        "Value" => "any".to_owned(),
        data => format!("`{data}`{list}"),
    }
}
