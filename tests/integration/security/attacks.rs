//! Injection and cross-tenant attacks on every operation of `/openapi.json`.
//!
//! Hostile text goes into every field, another tenant's ids into the caller's. No answer may show the mark in that
//! tenant's data; its ids are answered like unknown ones.

use std::collections::BTreeSet;

use regex::Regex;
use reqwest::Method;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::{Caller, send},
    files::{put_file, sent, take},
    groups::{group_of, join_code},
    items::{NEW_YEAR, department, item, todo, user},
    sizes::size,
};

const MARK: &str = "xanadu";

const HOSTILE: [&str; 14] = [
    "' OR '1'='1",
    "\"; DROP TABLE users; --",
    "1); DELETE FROM tenants; --",
    "a' UNION SELECT value FROM meta --",
    "%",
    "_%_",
    "*",
    "title:* OR id:*",
    "+tenant:[* TO *] -\"",
    "\\\"\\",
    "../../../../etc/passwd",
    "{{7*7}}${7*7}",
    "\u{202e}\u{0}\u{7f}",
    "<script>alert(1)</script>",
];

struct Operation {
    method: Method,
    path: String,
    query: Vec<String>,
    body: Option<Value>,
}

impl Operation {
    fn all(description: &Value) -> Vec<Self> {
        let mut operations = Vec::new();
        for (path, methods) in description["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let parameters = operation["parameters"].as_array().into_iter().flatten();
                let query = parameters
                    .filter(|parameter| parameter["in"] == "query" && !takes_no_text(&parameter["schema"]));
                let content = operation["requestBody"]["content"].as_object();
                operations.push(Self {
                    method: method.to_uppercase().parse().unwrap(),
                    path: path.clone(),
                    query: query.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect(),
                    body: content
                        .and_then(|content| content.get("application/json"))
                        .map(|content| content["schema"].clone()),
                });
            }
        }
        operations
    }

    /// Sends the text in every parameter and field.
    ///
    /// Each field has its own body, so that no refusal hides others.
    async fn call(&self, caller: &Caller, text: &str, description: &Value) -> Vec<Answer> {
        let encoded: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        let encoded = encoded.replace('+', "%20");
        let segments = self.path.split('/').map(|part| if part.starts_with('{') { &encoded } else { part });
        let path = segments.collect::<Vec<_>>().join("/");
        let mut request = caller.request(self.method.clone(), &path);
        // A wrong number would be refused before the others are read.
        let texts = self.query.iter().filter(|name| !NUMBERS.contains(&name.as_str()));
        request = request.query(&texts.map(|name| (name, text)).collect::<Vec<_>>());
        let Some(schema) = &self.body else { return vec![send(request).await] };
        let everywhere = filled(schema, text, description, 0);
        let mut answers = vec![send(request.json(&everywhere)).await];
        let Some(good) = good_body(&self.path) else { return answers };
        let element = everywhere.get(0).unwrap_or(&everywhere);
        let fields = element.as_object().unwrap().iter().filter(|(_, value)| value.is_string());
        for (field, _) in fields {
            let mut body = good.clone();
            let element = if body.is_array() { &mut body[0] } else { &mut body };
            element[field] = text.into();
            let request = caller.request(self.method.clone(), &crate::util::paths::filled(&self.path));
            answers.push(send(request.json(&body)).await);
        }
        answers
    }
}

fn good_body(path: &str) -> Option<Value> {
    Some(match path {
        "/session/second_factor" | "/session/second_factor/remove" => {
            json!({"password": "x", "code": "123456"})
        }
        "/session/second_factor/confirm" => json!({"code": "123456"}),
        "/v1/users/sync" => json!([user("newcomer", "")]),
        "/v1/organizations/sync" => json!([department("new", "")]),
        "/v1/users/status/update" => json!([{"userId": "acme-person", "code": "01"}]),
        "/v1/contents/{moduleCode}" => json!([item("new", "harbour", NEW_YEAR)]),
        "/contents/searches" => json!({"keyword": "harbour", "found": true}),
        "/api/todo/create" => todo(&Uuid::new_v4().to_string(), "sign", "acme-person"),
        "/api/todo/batch_create" => json!([todo(&Uuid::new_v4().to_string(), "sign", "acme-person")]),
        "/api/todo/complete" => json!({"todoTaskId": Uuid::nil().to_string()}),
        "/api/done/create" => todo(&Uuid::new_v4().to_string(), "signed", "acme-person"),
        "/api/done/batch_create" => json!([todo(&Uuid::new_v4().to_string(), "signed", "acme-person")]),
        "/open/v1/devices/bind" => json!({"id": "acme-person", "idType": 3, "deviceId": "new"}),
        "/open/v1/devices/unbind" => json!({"id": "acme-person", "idType": 3, "deviceId": "none"}),
        "/v1/groups" | "/v1/groups/{groupId}/robots" => json!({"name": "New"}),
        "/notificationapi/hook/send" => json!({"msgType": "text", "content": {"text": "high tide"}}),
        "/v1/card_templates/{templateCode}" => json!({"name": "New", "template": {"body": "{{height}}"}}),
        "/v1/favorites" => json!({"itemId": Uuid::new_v4().to_string(), "content": "harbour"}),
        "/v1/favorite/label" | "/v1/directories/create" => json!({"name": Uuid::new_v4().to_string()}),
        "/v1/badge" | "/v1/badge/{badgeId}" => json!({"name": "Star"}),
        "/v1/directories/rename" => json!({"dirId": Uuid::nil().to_string(), "name": "New"}),
        "/v1/directories/authorize" => {
            json!({"dirId": "root", "roleIds": ["viewer"], "authTarget": ["acme-person"], "targetType": 1})
        }
        "/v1/stream/upload" => json!({"fileName": "new.txt"}),
        "/v1/stream/upload/cancel" => json!({"uploadId": Uuid::nil().to_string()}),
        "/v1/stream/upload/commit" | "/v1/stream/multipart/upload/commit" => {
            json!({"uploadId": Uuid::nil().to_string(), "dirId": "root", "fileName": "new.txt", "fileSize": 1})
        }
        "/v1/directories/authorize/remove" => {
            json!({"dirId": "root", "target": "acme-person", "targetType": 1})
        }
        "/v1/enterprises/register" => json!({"enterpriseName": "New"}),
        "/admin/v1/applications" => json!({"kind": "application"}),
        "/admin/v1/subscriptions" => {
            json!({"name": "New", "module": "article", "enabled": false, "feed": {"url": "https://feeds.example/"}})
        }
        _ => return None,
    })
}

const NUMBERS: [&str; 8] = ["limit", "offset", "timeout", "from", "to", "idType", "type", "skip"];

fn takes_no_text(schema: &Value) -> bool {
    let kinds = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    kinds.iter().any(|kind| kind == "integer" || kind == "boolean")
}

fn filled(schema: &Value, text: &str, description: &Value, depth: usize) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        return filled(&description["components"]["schemas"][name], text, description, depth);
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        if let Some(choices) = schema[choice].as_array() {
            let first = choices.iter().find(|choice| choice["type"] != "null");
            return first.map_or(Value::Null, |first| filled(first, text, description, depth));
        }
    }
    let is = |name: &str| match &schema["type"] {
        Value::String(kind) => kind == name,
        Value::Array(kinds) => kinds.iter().any(|kind| kind == name),
        _ => false,
    };
    if is("array") {
        return json!([filled(&schema["items"], text, description, depth + 1)]);
    }
    if is("string") {
        return schema["enum"].as_array().map_or_else(|| json!(text), |names| names[0].clone());
    }
    if is("integer") || is("number") {
        return schema["minimum"]
            .as_f64()
            .map_or(json!(1), |least| if least > 1.0 { json!(least) } else { json!(1) });
    }
    if is("boolean") {
        return json!(false);
    }
    if depth > 4 {
        return Value::Null;
    }
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields
        .map(|(name, field)| (name.clone(), filled(field, text, description, depth + 1)))
        .collect::<Map<_, _>>()
        .into()
}

/// Makes data in every area of a tenant; returns its ids.
async fn populate(app: &TestApp, name: &str) -> (Application, BTreeSet<String>) {
    let tenant = app.tenant(name).await;
    let id = |of: &str| format!("{name}-{of}");
    app.sync(&tenant.caller, "organizations", &json!([department(&id("department"), "")])).await;
    let mut person = user(&id("person"), &id("department"));
    person["platformUserId"] = json!(id("platform-person"));
    person["name"] = json!(format!("Someone {name}"));
    app.sync(&tenant.caller, "users", &json!([person])).await;
    app.put_contents(
        &tenant.caller,
        "article",
        &[item(&id("article"), &format!("harbour {name}"), NEW_YEAR)],
    )
    .await;
    let task = todo(&id("task"), &format!("sign {name}"), &id("person"));
    let created = tenant.caller.post("/api/todo/create", &task).await.ok();
    let mut task = todo(&id("done-task"), &format!("signed {name}"), &id("person"));
    task["endComment"] = json!(format!("seen by {name}"));
    let done = tenant.caller.post("/api/done/create", &task).await.ok();
    let device = json!({"id": id("person"), "idType": 3, "deviceId": id("device")});
    tenant.caller.post("/open/v1/devices/bind", &device).await.ok();
    let someone = app.user(&tenant, &id("person")).await;
    let label = someone.post("/v1/favorite/label", &json!({"name": id("label"), "remark": name})).await.ok();
    let label = label.data()["id"].as_str().unwrap().to_owned();
    let favorite =
        json!({"itemId": id("favorite"), "content": format!("harbour {name}"), "labelList": [&label]});
    someone.post("/v1/favorites", &favorite).await.ok();
    let folder = someone.post("/v1/directories/create", &json!({"name": id("folder")})).await.ok();
    let folder = folder.data()["id"].as_str().unwrap().to_owned();
    let badge = tenant.caller.post("/v1/badge", &json!({"name": id("badge"), "remark": name})).await.ok();
    let badge = badge.data()["id"].as_str().unwrap().to_owned();
    let operator = app.operator().await.caller.on(name);
    let source = json!({
        "id": id("source"), "name": id("source"), "url": "http://127.0.0.1:9/search", "method": "GET",
        "auth": {"type": "NONE"},
    });
    operator.register_source(&source, &id("module"), &["builtin:article"]).await;
    let said = populate_group(app, &tenant, name, &operator).await;
    app.wait_for_index().await;
    let named = [
        "department",
        "person",
        "platform-person",
        "article",
        "task",
        "done-task",
        "device",
        "source",
        "module",
        "template",
        "favorite",
    ];
    let mut ids: BTreeSet<String> = named.into_iter().map(id).chain(said).collect();
    let file = put_file(&someone, &folder, &format!("harbour {name}.txt"), name.as_bytes()).await;
    ids.extend([label, badge, file, sent(&someone, name.as_bytes()).await, folder]);
    ids.insert(name.to_owned());
    ids.insert(tenant.client_id.clone());
    for task in [created, done] {
        ids.insert(task.data()["id"].as_str().unwrap().to_owned());
    }
    (tenant, ids)
}

/// Makes a group and a robot that sent a card. Returns their ids.
async fn populate_group(app: &TestApp, tenant: &Application, name: &str, operator: &Caller) -> [String; 5] {
    let person = format!("{name}-person");
    let form = json!({"name": format!("Template {name}"), "template": {"body": name}});
    let template = operator.put(&format!("/v1/card_templates/{name}-template"), &form).await.ok();
    let owner = app.user(tenant, &person).await;
    let group = group_of(&owner, json!({"name": format!("Group {name}"), "isPublic": true})).await;
    let code = join_code(&owner, &group, false).await;
    let robots = format!("/v1/groups/{group}/robots");
    let robot = owner.post(&robots, &json!({"name": format!("Robot {name}")})).await.ok();
    let content = json!({
        "brief": format!("harbour {name}"), "templateId": template.data()["templateId"], "data": {"at": name},
    });
    let card = json!({"msgType": "card_template", "content": content});
    let said = send(app.http.post(robot.data()["url"].as_str().unwrap()).json(&card)).await.ok();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (robot, said) = (robot.data(), said.data());
    [group, code, text(&robot["robotId"]), text(&said["id"]), text(&said["content"]["templateId"])]
}

/// Draws texts or ids for each operation and caller; `PROPTEST_CASES` sets their number.
fn draws() -> (fastrand::Rng, usize) {
    let drawn = usize::try_from(trawl_seeds::count(size(2, 4))).unwrap();
    (fastrand::Rng::with_seed(trawl_seeds::seed()), drawn)
}

async fn rows(app: &TestApp) -> Vec<i64> {
    let mut counts = Vec::new();
    for table in ["tenants", "applications", "signing_keys", "meta"] {
        counts.push(app.count_rows(table).await);
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_text_is_stored_and_searched_as_plain_text() {
    let app = TestApp::start().await;
    populate(&app, MARK).await;
    let (acme, _) = populate(&app, "acme").await;
    let description = app.caller("").get("/openapi.json").await.body;
    let callers =
        [acme.caller.clone(), app.user(&acme, "acme-person").await, app.operator().await.caller.on("acme")];
    let before = rows(&app).await;
    let (mut random, drawn) = draws();
    let mut taken = 0;
    let operations = Operation::all(&description);
    for operation in &operations {
        for caller in &callers {
            for text in random.choose_multiple(HOSTILE, drawn) {
                for answer in operation.call(caller, text, &description).await {
                    let of =
                        format!("{} {} with {text:?}: {}", operation.method, operation.path, answer.text);
                    assert!(![500, 503].contains(&answer.status), "{} {of}", answer.status);
                    assert!(!shows(&operation.path, &answer), "shows another tenant's data: {of}");
                    taken += usize::from(is_taken(&answer));
                }
            }
        }
    }
    // Valid input reaches the code that it could harm.
    assert!(taken > 20 * drawn, "{taken}");
    // Hostile registrations must not remove rows.
    let after = rows(&app).await;
    assert!(before.iter().zip(&after).all(|(before, after)| before <= after), "{before:?} {after:?}");
    acme.caller.post_empty("/modules").await.ok();
}

/// Whether input was taken as a whole and in its rows.
fn is_taken(answer: &Answer) -> bool {
    answer.status == 200 && answer.data().as_array().is_none_or(Vec::is_empty) && answer.body["total"] != 1
}

/// Metrics and the list of tenants are exempt: an operator sees all tenants there.
fn shows(path: &str, answer: &Answer) -> bool {
    !["/metrics", "/admin/v1/tenants"].contains(&path) && answer.text.contains(MARK)
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_another_tenant_are_answered_like_unknown_ids() {
    let app = TestApp::start().await;
    let (their_tenant, theirs) = populate(&app, MARK).await;
    let (acme, _) = populate(&app, "acme").await;
    let description = app.caller("").get("/openapi.json").await.body;
    let mei = app.user(&acme, "acme-person").await;
    let (mut random, drawn) = draws();
    let mut asked = 0;
    // Reads first: writes create rows of the caller with these names.
    let mut operations = Operation::all(&description);
    operations.sort_by_key(|operation| operation.method != Method::GET);
    for operation in &operations {
        // These differ on every call; the login page names the application.
        if ["/metrics", "/readyz", "/oauth2/authorize", "/session/start"].contains(&operation.path.as_str()) {
            continue;
        }
        for caller in [&acme.caller, &mei] {
            for (number, id) in random.choose_multiple(theirs.iter().enumerate(), drawn) {
                let nothing = match Uuid::parse_str(id) {
                    Ok(_) => Uuid::from_u128(number as u128).to_string(),
                    Err(_) => format!("nothing-{number}"),
                };
                let answers = operation.call(caller, id, &description).await;
                let expected = operation.call(caller, &nothing, &description).await;
                for (answer, expected) in answers.iter().zip(&expected) {
                    let of = format!("{} {} with {id:?}", operation.method, operation.path);
                    assert_eq!(answer.status, expected.status, "{of}: {} {}", answer.text, expected.text);
                    assert_eq!(neutral(answer, id), neutral(expected, &nothing), "{of}");
                    asked += 1;
                }
            }
        }
    }
    assert!(asked > 125 * drawn, "{asked}");
    let left = app.operator().await.caller.on(MARK);
    assert_eq!(left.find("article", "harbour").await, [format!("{MARK}-article")]);
    assert_eq!(left.get("/v1/badge/list").await.ok_rfc3339().total(), 1);
    assert_eq!(left.get(&format!("/open/v1/devices?id={MARK}-person&idType=3")).await.ok().items().len(), 1);
    app.wait_for_index().await;
    let person = app.user(&their_tenant, &format!("{MARK}-person")).await;
    let folders = person.get("/v1/directories/list").await.ok();
    assert_eq!(folders.items()[0]["name"], format!("{MARK}-folder"));
    let folder = folders.items()[0]["id"].as_str().unwrap();
    let files = person.get(&format!("/v1/directories/file/list?dirId={folder}")).await.ok();
    assert_eq!(take(&person, files.ids()[0], None).await, MARK.as_bytes());
    assert_eq!((person.find("todo", "sign").await.len(), person.find("done", "signed").await.len()), (1, 1));
}

/// Drops the requested id and the parts that vary.
fn neutral(answer: &Answer, id: &str) -> String {
    let differs = Regex::new(
        r#"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9]{13}|"date":"[^"]+"|"createdDate":"[^"]+"|"tookMs":[0-9.]+|"v3\.[^"]+"|expires=[0-9]+&signature=[^"]+|[0-9.]+e-0[0-9]"#,
    );
    differs.unwrap().replace_all(&answer.text.replace(id, "ID"), "*").into_owned()
}
