//! Lists in request bodies, as `/openapi.json` describes them.

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{app::TestApp, caller::Caller, items::user, paths::filled};

const JSON_SCHEMA: &str = "/requestBody/content/application~1json/schema";

/// A list in a request body.
struct List {
    method: Method,
    path: String,
    /// Names of fields that lead to it; `[]` stands for the first item of a list.
    place: Vec<String>,
    schema: Value,
}

impl List {
    fn all(description: &Value) -> Vec<Self> {
        let mut lists = Vec::new();
        for (path, methods) in description["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let Some(schema) = operation.pointer(JSON_SCHEMA) else { continue };
                let mut found = Vec::new();
                find_lists(schema, &[], description, &mut found);
                lists.extend(found.into_iter().map(|(place, schema)| Self {
                    method: method.to_uppercase().parse().unwrap(),
                    path: path.clone(),
                    place,
                    schema,
                }));
            }
        }
        lists
    }

    fn name(&self) -> String {
        format!("{} {} {}", self.method, self.path, self.place.join("."))
    }

    /// A body that holds only this list, with `length` items.
    fn body(&self, length: usize) -> Value {
        let item = match self.schema["items"]["type"].as_str() {
            Some("string") => json!("x"),
            Some("array") => json!([]),
            _ => json!({}),
        };
        self.place.iter().rev().fold(vec![item; length].into(), |inner, step| match step.as_str() {
            "[]" => json!([inner]),
            field => json!({field: inner}),
        })
    }

    /// The list's place within its row, as messages name it.
    fn field(&self) -> String {
        let is_of_rows = self.place.first().is_some_and(|step| step == "[]");
        let place = &self.place[usize::from(is_of_rows)..];
        let named = place.iter().fold(String::new(), |named, step| match step.as_str() {
            "[]" => named + "[0]",
            field if named.is_empty() => field.to_owned(),
            field => format!("{named}.{field}"),
        });
        if named.is_empty() { "body".to_owned() } else { named }
    }

    fn refusal(&self) -> [String; 2] {
        let most = self.schema["maxItems"].as_u64().unwrap();
        let most = if most < 1_000 { most.to_string() } else { format!("{},000", most / 1_000) };
        [format!("{}: must ", self.field()), format!("at most {most} ")]
    }

    /// The answer to the first caller who may call.
    async fn send(&self, callers: &[Caller], body: &Value) -> String {
        for caller in callers {
            let answer = caller.send_text(self.method.clone(), &filled(&self.path), body.to_string()).await;
            if ![401, 403].contains(&answer.status) {
                return answer.text;
            }
        }
        panic!("nobody may call {}", self.name());
    }
}

fn find_lists(schema: &Value, place: &[String], description: &Value, found: &mut Vec<(Vec<String>, Value)>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let named = description.pointer(reference.strip_prefix('#').unwrap()).unwrap();
        return find_lists(named, place, description, found);
    }
    let step = |name: &str| [place, &[name.to_owned()]].concat();
    for choice in ["oneOf", "anyOf", "allOf"].iter().filter_map(|choice| schema[choice].as_array()).flatten()
    {
        find_lists(choice, place, description, found);
    }
    if schema["items"].is_object() {
        found.push((place.to_vec(), schema.clone()));
        find_lists(&schema["items"], &step("[]"), description, found);
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        find_lists(field, &step(name), description, found);
    }
}

async fn lists(app: &TestApp) -> Vec<List> {
    List::all(&app.caller("").get("/openapi.json").await.body)
}

#[tokio::test]
async fn every_list_of_a_body_tells_its_maximum() {
    let app = TestApp::start().await;
    let lists = lists(&app).await;
    assert!(lists.len() > 35, "{}", lists.len());
    let endless = lists.iter().filter(|list| !list.schema["maxItems"].is_u64());
    assert_eq!(endless.map(List::name).collect::<Vec<_>>(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn list_longer_than_its_maximum_is_refused_by_its_name() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    let operator = app.operator().await.caller.on("acme");
    let callers = [acme.caller.clone(), app.user(&acme, "mei").await, operator];
    let mut wrong = Vec::new();
    for list in lists(&app).await {
        let most = usize::try_from(list.schema["maxItems"].as_u64().unwrap()).unwrap();
        let [field, maximum] = list.refusal();
        let refused = list.send(&callers, &list.body(most + 1)).await;
        if !(refused.contains(&field) && refused.contains(&maximum)) {
            wrong.push(format!("one more is not refused by {}: {refused}", list.name()));
        }
        let whole = list.send(&callers, &list.body(most)).await;
        if whole.contains(&field) && whole.contains(&maximum) {
            wrong.push(format!("as many are refused by {}: {whole}", list.name()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn list_is_refused_before_what_follows_is_read() {
    let (_app, acme) = TestApp::start_with_acme().await;
    for (path, items, most) in
        [("/v1/contents/article", 1_000, "1,000 items"), ("/v1/users/sync", 10_000, "10,000 items")]
    {
        let body = |items: usize| format!("[{}0 no JSON", "0,".repeat(items));
        let refused = acme.caller.send_text(Method::PUT, path, body(items)).await;
        refused.fails(400, &format!("body: must hold at most {most}"));
        acme.caller.send_text(Method::PUT, path, body(items - 1)).await.fails(400, "malformed JSON");
    }
}
