//! `ETag` and `If-Match` of what operators change (RFC 9110 §13.1.1).

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::{Caller, send},
    external::with,
};

/// A path, and bodies of its PUT that differ.
struct Object {
    path: String,
    body: Value,
    other: Value,
    third: Value,
    is_removable: bool,
}

fn source() -> Value {
    json!({
        "id": "crm", "name": "Customers", "url": "https://crm.example/search",
        "auth": {"type": "API_KEY", "key": "very secret"},
    })
}

fn module() -> Value {
    json!({"id": "m-1", "code": "handbook", "name": "Handbook", "type": 101, "sources": ["builtin:article"]})
}

fn subscription() -> Value {
    json!({
        "id": "news", "name": "News", "module": "article", "enabled": false,
        "feed": {"url": "https://news.example/feed"},
    })
}

async fn objects(operator: &Caller) -> Vec<Object> {
    operator.post("/admin/v1/sources", &source()).await.ok();
    operator.post("/admin/v1/modules", &module()).await.ok();
    operator.post("/admin/v1/subscriptions", &subscription()).await.ok();
    let application = json!({"name": "Portal", "kind": "application", "scopes": ["contents:read"]});
    let application = operator.post("/admin/v1/applications", &application).await.ok();
    let client_id = application.data()["clientId"].as_str().unwrap();
    vec![
        Object {
            path: "/admin/v1/sources/crm".to_owned(),
            body: with(source(), "timeoutMs", 900),
            other: with(source(), "name", "Clients"),
            third: with(source(), "pageSize", 7),
            is_removable: true,
        },
        Object {
            path: "/admin/v1/modules/m-1".to_owned(),
            body: with(module(), "orderNo", 3),
            other: with(module(), "name", "Manual"),
            third: with(module(), "icon", "book"),
            is_removable: true,
        },
        Object {
            path: "/admin/v1/subscriptions/news".to_owned(),
            body: with(subscription(), "keepDays", 9),
            other: with(subscription(), "name", "Press"),
            third: with(subscription(), "intervalMinutes", 7),
            is_removable: true,
        },
        Object {
            path: "/admin/v1/vocabulary".to_owned(),
            body: json!({"neverCorrect": ["Trawler"]}),
            other: json!({"neverCorrect": ["harbuor"]}),
            third: json!({}),
            is_removable: false,
        },
        Object {
            path: format!("/admin/v1/applications/{client_id}"),
            body: json!({"name": "Intranet"}),
            other: json!({"name": "Website"}),
            third: json!({"name": "Portal"}),
            is_removable: true,
        },
        Object {
            path: "/admin/v1/tenants/acme".to_owned(),
            body: json!({"labelLimit": 7}),
            other: json!({"labelLimit": 8}),
            third: json!({"labelLimit": 9}),
            is_removable: false,
        },
    ]
}

async fn put_if(caller: &Caller, path: &str, tag: &str, body: &Value) -> Answer {
    send(caller.request(Method::PUT, path).header("if-match", tag).json(body)).await
}

fn tag(answer: &Answer) -> String {
    let tag = answer.header("etag").to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 10, "{tag:?}: {}", answer.text);
    tag
}

#[tokio::test]
async fn change_with_an_outdated_tag_is_refused_and_changes_nothing() {
    let (_app, operator) = TestApp::start_operated().await;
    for Object { path, body, other, is_removable, .. } in objects(&operator).await {
        let read = operator.get(&path).await.ok();
        let first = tag(&read);
        assert_eq!(tag(&operator.get(&path).await.ok()), first, "{path}: reading changes the tag");

        let second = tag(&put_if(&operator, &path, &first, &body).await.ok());
        assert_ne!(second, first, "{path}");
        let now = operator.get(&path).await.ok();
        assert_eq!(tag(&now), second, "{path}: the tag of the PUT is not that of the GET");

        let outdated = [first.as_str(), "", "\"\"", "\"x\", \"y\""];
        for outdated in outdated {
            put_if(&operator, &path, outdated, &other).await.fails(412, "If-Match: ");
            assert_eq!(operator.get(&path).await.ok().data(), now.data(), "{path}");
        }
        for malformed in ["no quotes", "\"", "w/\"x\"", "\"a\"b\"", "\"a\" \"b\""] {
            put_if(&operator, &path, malformed, &other).await.fails(400, "If-Match: ");
        }
        let list = format!("{first}, W/{second}");
        let third = tag(&put_if(&operator, &path, &list, &other).await.ok());
        put_if(&operator, &path, "*", &body).await.ok();
        let lines = operator.request(Method::PUT, &path).header("if-match", "\"x\"");
        send(lines.header("if-match", tag(&operator.get(&path).await.ok())).json(&body)).await.ok();
        operator.put(&path, &other).await.ok();
        if is_removable {
            let remove = |tag: &str| send(operator.request(Method::DELETE, &path).header("if-match", tag));
            remove(&second).await.fails(412, "If-Match: ");
            let now = tag(&operator.get(&path).await.ok());
            if !path.contains("/sources/") {
                assert_eq!(now, third, "{path}: equal settings have equal tags");
            }
            remove(&now).await.ok();
            operator.get(&path).await.fails(404, "");
            remove(&now).await.fails(404, "");
            put_if(&operator, &path, &now, &other).await.fails(404, "");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn simultaneous_changes_with_one_tag_have_one_winner() {
    let (_app, operator) = TestApp::start_operated().await;
    for Object { path, body, other, third, .. } in objects(&operator).await {
        for _ in 0..10 {
            let now = tag(&operator.put(&path, &third).await.ok());
            let (one, two) =
                tokio::join!(put_if(&operator, &path, &now, &body), put_if(&operator, &path, &now, &other),);
            let winner = match (one.status, two.status) {
                (200, 412) => one,
                (412, 200) => two,
                _ => panic!("{path}: {} {}", one.text, two.text),
            };
            assert_eq!(tag(&operator.get(&path).await.ok()), tag(&winner), "{path}");
        }
    }
}

#[tokio::test]
async fn tag_of_a_source_follows_its_secret_and_ignores_its_health() {
    let (_app, operator) = TestApp::start_operated().await;
    operator.post("/admin/v1/sources", &source()).await.ok();
    let path = "/admin/v1/sources/crm";
    let before = tag(&operator.get(path).await.ok());
    let mut kept = source();
    kept["auth"].as_object_mut().unwrap().remove("key");
    assert_eq!(tag(&operator.put(path, &kept).await.ok()), before, "nothing is changed");
    let mut another = source();
    another["auth"]["key"] = "another secret".into();
    assert_ne!(tag(&operator.put(path, &another).await.ok()), before);
}
