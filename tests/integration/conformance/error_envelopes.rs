//! Error envelopes of every route.

use std::collections::HashSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::send,
    groups::people,
    internals::{Kind, TokenScope},
    items::{NEW_YEAR, department, item, todo, user},
    raw::Connection,
};

#[tokio::test]
async fn tenant_selection_depends_on_the_application_kind() {
    let app = TestApp::start().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    app.tenant("third").await;
    app.put_contents(&acme.caller, "article", &[item("of-acme", "harbour", 1)]).await;
    app.put_contents(&other.caller, "article", &[item("of-other", "harbour", 1)]).await;
    let [mei] = people(&app, &acme, ["mei"]).await;
    let scopes = vec![TokenScope::ContentsRead];
    let domain = app.register("acme", Kind::Domain, &["other"], scopes.clone()).await;
    let admin = app.register("acme", Kind::Admin, &[], scopes).await;

    let find = async |caller: &crate::util::caller::Caller, code: &str| {
        let request = caller.request(Method::GET, "/contents/search?moduleId=article&keyword=harbour");
        send(request.header("indicated-e-code", code)).await
    };
    assert_eq!(find(&acme.caller, "acme").await.ok().ids(), ["of-acme"]);
    assert_eq!(find(&acme.caller, "").await.ok().ids(), ["of-acme"]);
    assert_eq!(find(&domain.caller, "acme").await.ok().ids(), ["of-acme"]);
    assert_eq!(find(&domain.caller, "other").await.ok().ids(), ["of-other"]);
    assert_eq!(find(&admin.caller, "other").await.ok().ids(), ["of-other"]);
    assert_eq!(find(&admin.caller, "third").await.ok().total(), 0);
    for caller in [&acme.caller, &mei] {
        find(caller, "other").await.fails(403, "indicated-e-code");
    }
    find(&domain.caller, "third").await.fails(403, "indicated-e-code");
    let unknown = find(&domain.caller, "nobody").await.fails(403, "indicated-e-code");
    assert_eq!(unknown.message(), find(&domain.caller, "third").await.message());
}

#[tokio::test]
async fn unknown_path_is_404_and_method_405_with_allow() {
    let (app, acme) = TestApp::start_with_acme().await;
    for path in
        ["/nothing", "/contents", "/contents/search/", "/v1/contents/article/1/remove", "/V1/users/sync"]
    {
        acme.caller.get(path).await.fails(404, path);
        acme.caller.post_empty(path).await.fails(404, path);
    }
    app.caller("").get("/nothing").await.fails(404, "/nothing");
    for (method, path, allowed) in [
        (Method::DELETE, "/contents/search", vec!["GET", "POST"]),
        (Method::PUT, "/contents/search", vec!["GET", "POST"]),
        (Method::GET, "/modules", vec!["POST"]),
        (Method::GET, "/oauth2/token", vec!["POST"]),
        (Method::POST, "/v1/users/sync", vec!["GET", "PUT"]),
        (Method::GET, "/v1/contents/article", vec!["PUT"]),
        (Method::GET, "/api/todo/create", vec!["POST"]),
        (Method::PATCH, "/healthz", vec!["GET"]),
    ] {
        let answer = send(acme.caller.request(method, path)).await.fails(405, path);
        let allow: HashSet<&str> = answer.header("allow").split(',').map(str::trim).collect();
        for method in &allowed {
            assert!(allow.contains(method), "{path}: Allow is {allow:?}");
        }
        assert_eq!(allow.len() - usize::from(allow.contains("HEAD")), allowed.len(), "{path}: {allow:?}");
    }
}

#[tokio::test]
async fn other_content_type_or_charset_is_415() {
    let (app, acme) = TestApp::start_with_acme().await;
    let body = json!([item("1", "harbour", 1)]).to_string();
    for content_type in
        ["text/plain", "application/xml", "application/json;charset=gbk", "application/jsonx", ""]
    {
        for (method, path) in [
            (Method::PUT, "/v1/contents/article"),
            (Method::PUT, "/v1/users/sync"),
            (Method::POST, "/api/todo/create"),
            (Method::POST, "/contents/search?moduleId=article&keyword=x"),
        ] {
            let request = acme.caller.request(method, path).header("content-type", content_type);
            send(request.body(body.clone())).await.fails(415, "Content-Type");
        }
    }
    app.wait_for_index().await;
    assert_eq!(acme.caller.find("article", "harbour").await, [""; 0]);
    for content_type in
        ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=\"UTF-8\""]
    {
        let request =
            acme.caller.request(Method::PUT, "/v1/contents/article").header("content-type", content_type);
        send(request.body(body.clone())).await.ok();
    }
}

#[tokio::test]
async fn body_of_another_shape_is_400_and_changes_nothing() {
    let (app, acme) = TestApp::start_with_acme().await;
    let lists = [
        (Method::PUT, "/v1/contents/article"),
        (Method::POST, "/v1/contents/article/delete"),
        (Method::PUT, "/v1/users/sync"),
        (Method::PUT, "/v1/organizations/sync"),
        (Method::POST, "/api/todo/batch_create"),
    ];
    let caller = &acme.caller;
    for (method, path) in lists.iter().cloned().chain([(Method::POST, "/api/todo/create")]) {
        for malformed in ["", " ", "{", "[", "[{\"id\":}]", "[] []", "\u{feff}[]", "{\"id\":\"1\"", "nul"] {
            caller.send_text(method.clone(), path, malformed).await.fails(400, "body: ");
        }
        for other in ["null", "true", "5", "\"text\""] {
            caller.send_text(method.clone(), path, other).await.fails(400, "body");
        }
        let not_utf8 = caller.request(method.clone(), path).header("content-type", "application/json");
        send(not_utf8.body(b"[\"\xff\xfe\"]".to_vec())).await.fails(400, "body");
    }
    for (method, path) in lists {
        caller.send_text(method, path, "{}").await.fails(400, "body");
    }
    assert_eq!(*app.app.store.positions().borrow(), 0, "a change was written");
}

/// Serde would read a list as a struct by position.
#[tokio::test]
async fn list_in_place_of_an_object_is_refused() {
    let (_app, acme) = TestApp::start_with_acme().await;
    let caller = &acme.caller;
    let list = json!(["1", null, null, "harbour", null, null, null, null, null, null, null, "mei"]);
    caller.post("/api/todo/create", &list).await.fails(400, "body");
    caller.post("/contents/search", &json!(["harbour", "article"])).await.fails(400, "body");
    for (method, path) in [
        (Method::PUT, "/v1/contents/article"),
        (Method::PUT, "/v1/organizations/sync"),
        (Method::PUT, "/v1/users/sync"),
    ] {
        let answer = send(caller.request(method, path).json(&json!([list]))).await.ok();
        assert_eq!(answer.items().len(), 1, "{path}: {}", answer.text);
    }
    let batch = caller.post("/api/todo/batch_create", &json!([list])).await.ok();
    assert_eq!(batch.data()["error"].as_array().unwrap().len(), 1, "{}", batch.text);
}

/// Book: reference/errors.md.
#[tokio::test]
async fn items_over_the_limit_are_400_and_none_is_stored() {
    let app = TestApp::start_with(|config| {
        config.limits.batch_items = 3;
        config.limits.sync_items = 4;
    })
    .await;
    let acme = app.tenant("acme").await;
    let many = |make: &dyn Fn(String) -> Value, count: usize| -> Value {
        (0..count).map(|number| make(number.to_string())).collect()
    };
    let caller = &acme.caller;
    let items = many(&|id| item(&id, "harbour", 1), 4);
    caller.put("/v1/contents/article", &items).await.fails(400, "at most 3");
    let ids = many(&Value::from, 4);
    caller.post("/v1/contents/article/delete", &ids).await.fails(400, "at most 3");
    let todos = many(&|id| todo(&id, "harbour", "mei"), 4);
    caller.post("/api/todo/batch_create", &todos).await.fails(400, "at most 3");
    let users = many(&|id| user(&id, ""), 5);
    caller.put("/v1/users/sync", &users).await.fails(400, "at most 4");
    let departments = many(&|id| department(&id, ""), 5);
    caller.put("/v1/organizations/sync", &departments).await.fails(400, "at most 4");
    assert_eq!(*app.app.store.positions().borrow(), 0);
    let unknown = app.exchange(&acme, crate::util::app::LOGIN_ID, "0").await;
    assert_eq!(unknown.status, 400, "a user of the refused call was created");

    caller.put("/v1/contents/article", &many(&|id| item(&id, "harbour", 1), 3)).await.ok();
    caller.put("/v1/users/sync", &many(&|id| user(&id, ""), 4)).await.ok();
}

/// The default limit is 8 MiB (book: reference/configuration.md).
#[tokio::test]
async fn body_over_the_limit_is_413_and_keeps_the_connection() {
    let (app, acme) = TestApp::start_with_acme().await;
    let body = json!([item("1", &"x".repeat(9 << 20), 1)]).to_string();
    let head = format!(
        "PUT /v1/contents/article HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\n",
        acme.caller.token
    );
    for announced in [true, false] {
        let mut connection = Connection::open(&app.base).await;
        if announced {
            connection.write(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await;
        } else {
            let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
            connection.write(format!("{head}transfer-encoding: chunked\r\n\r\n{chunk}").as_bytes()).await;
        }
        let answer = connection.read().await;
        assert_eq!(answer.status, 413, "{}", answer.body);
        assert!(answer.head.contains("x-request-id: "), "{}", answer.head);
        let envelope: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(envelope["code"], 413);
        assert!(envelope["message"].as_str().unwrap().contains("8388608"), "{envelope}");
        connection.write(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
        assert_eq!(connection.read().await.status, 200);
    }
    assert_eq!(*app.app.store.positions().borrow(), 0);
}

#[tokio::test]
async fn sync_body_may_exceed_the_ordinary_limit() {
    let app = TestApp::start_with(|config| {
        config.limits.body_bytes = 1_000;
        config.limits.sync_body_bytes = 100_000;
    })
    .await;
    let acme = app.tenant("acme").await;
    let users: Value = (0..50).map(|number| user(&format!("user-{number}"), "")).collect();
    assert!(users.to_string().len() > 1_000);
    app.sync(&acme.caller, "users", &users).await;
    acme.caller.put("/v1/contents/article", &users).await.fails(413, "at most 1000 bytes");
}

#[tokio::test]
async fn every_answer_carries_the_callers_or_a_new_request_id() {
    let (_app, acme) = TestApp::start_with_acme().await;
    let mut seen = HashSet::new();
    for path in ["/healthz", "/modules", "/nothing", "/openapi.json", "/contents/search?keyword="] {
        let request = acme.caller.request(Method::GET, path);
        let own = send(request.try_clone().unwrap().header("x-request-id", "mine-1")).await;
        assert_eq!(own.header("x-request-id"), "mine-1", "{path}");
        for odd in ["x".repeat(129), "a b".to_owned(), "a\"b".to_owned()] {
            let other = send(request.try_clone().unwrap().header("x-request-id", &odd)).await;
            assert_ne!(other.header("x-request-id"), odd, "{path}");
            assert!(!other.header("x-request-id").is_empty(), "{path}");
        }
        let id = send(request).await.header("x-request-id").to_owned();
        assert!(!id.is_empty() && seen.insert(id), "{path}");
    }
}

/// Book: reference/errors.md.
#[tokio::test]
async fn writes_over_the_rate_limit_are_429() {
    let app = TestApp::start_with(|config| config.limits.writes_per_minute = 2).await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    let write = async |application: &Application, id: &str| {
        application.caller.put("/v1/contents/article", &json!([item(id, "harbour", NEW_YEAR)])).await
    };
    write(&acme, "1").await.ok();
    write(&acme, "2").await.ok();
    let refused = write(&acme, "3").await.fails(429, "2 writing calls in a minute");
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
    write(&other, "1").await.ok();
    app.wait_for_index().await;
    assert_eq!(acme.caller.find("article", "harbour").await, ["1", "2"]);
}
