//! Headers of every answer, and requests without a clear host.

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::send,
    items::{NEW_YEAR, item},
    postgres::is_store,
    program::Server,
    raw::Connection,
};
use serde_json::json;

async fn answers(app: &TestApp, token: &str) -> Vec<Answer> {
    let caller = app.caller(token);
    let mut answers = Vec::new();
    for path in
        ["/healthz", "/openapi.json", "/modules", "/v1/nothing", "/docs/", "/v1/badge/x", "/oauth2/jwks"]
    {
        answers.push(caller.get(path).await);
    }
    answers.push(caller.post_empty("/modules").await);
    answers.push(caller.put("/v1/contents/article", &json!([item("1", "harbour", NEW_YEAR)])).await);
    answers.push(caller.put("/v1/contents/article", &json!({})).await);
    answers
}

#[tokio::test]
async fn every_answer_forbids_sniffing_and_keeps_https() {
    let app = TestApp::start_with(|config| {
        config.public_url = Some("https://search.example/find".parse().unwrap());
    })
    .await;
    let acme = app.tenant("acme").await;
    for token in ["", acme.caller.token.as_str()] {
        for answer in answers(&app, token).await {
            assert_eq!(answer.header("x-content-type-options"), "nosniff", "{}", answer.text);
            assert_eq!(answer.header("strict-transport-security"), "max-age=31536000", "{}", answer.text);
        }
    }
    let plain = TestApp::start().await;
    assert_eq!(plain.caller("").get("/healthz").await.header("strict-transport-security"), "");
}

#[tokio::test]
async fn answers_to_tokens_are_not_stored() {
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await.caller.on("acme");
    for answer in answers(&app, &acme.caller.token).await {
        let kept = answer.header("cache-control");
        assert!(["no-store", "no-cache", "public, max-age=300"].contains(&kept), "{kept}: {}", answer.text);
    }
    assert_eq!(acme.caller.post_empty("/modules").await.header("cache-control"), "no-store");
    assert_eq!(app.caller("forged").post_empty("/modules").await.header("cache-control"), "no-store");
    // Conditional changes still work.
    operator
        .post(
            "/admin/v1/modules",
            &json!({"code": "plans", "name": "Plans", "type": 1, "sources": ["builtin:plans"]}),
        )
        .await
        .ok();
    let listed = operator.get("/admin/v1/modules").await.ok();
    let id = listed.items().iter().find(|module| module["code"] == "plans").unwrap()["id"].as_str().unwrap();
    let path = format!("/admin/v1/modules/{id}");
    let shown = operator.get(&path).await.ok();
    assert_eq!(shown.header("cache-control"), "no-store");
    let tag = shown.header("etag").to_owned();
    let removal =
        async || send(operator.request(reqwest::Method::DELETE, &path).header("if-match", &tag)).await;
    removal().await.ok();
    // Nobody's answers stay as they were.
    let description = app.http.get(format!("{}/openapi.json", app.base)).send().await.unwrap();
    assert!(!description.headers().contains_key("cache-control"));
}

#[tokio::test]
async fn description_page_is_as_protected_as_the_others() {
    let app = TestApp::start().await;
    for path in ["/docs/", "/docs/swagger-ui.css", "/docs/swagger-initializer.js"] {
        let answer = app.caller("").get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        let policy = answer.header("content-security-policy");
        for directive in
            ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]
        {
            assert!(policy.split(';').any(|given| given.trim() == directive), "{directive}: {policy}");
        }
        assert_eq!(answer.header("x-frame-options"), "DENY");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
    }
}

#[tokio::test]
async fn replica_has_a_kept_random_name() {
    if is_store() {
        return; // The settings name it there.
    }
    let directory = tempfile::tempdir().unwrap();
    let name = async |server: &Server| server.readyz().await.unwrap().header("x-trawl-replica").to_owned();
    let mut server = Server::start(directory.path()).await;
    let first = name(&server).await;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert!(first.len() == 32 && !first.contains(host.trim()), "{first}");
    server.terminate();
    server.wait_for_end().await;
    assert_eq!(name(&Server::start(directory.path()).await).await, first);
    let other = tempfile::tempdir().unwrap();
    assert_ne!(name(&Server::start(other.path()).await).await, first);
}

/// RFC 9112 §3.2.
#[tokio::test]
async fn request_without_one_clear_host_is_refused() {
    let app = TestApp::start().await;
    for (hosts, status) in [
        ("host: search.example\r\n", 200),
        ("host: [::1]:8080\r\n", 200),
        ("host:\r\n", 200),
        ("", 400),
        ("host: a.example\r\nhost: b.example\r\n", 400),
        ("host: a.example\r\nHost: a.example\r\n", 400),
        ("host: a.example/b\r\n", 400),
        ("host: a@b.example\r\n", 400),
        ("host: a b\r\n", 400),
    ] {
        let mut connection = Connection::open(&app.base).await;
        connection.write(format!("GET /healthz HTTP/1.1\r\n{hosts}\r\n").as_bytes()).await;
        let answer = connection.read().await;
        assert_eq!(answer.status, status, "{hosts:?}: {answer:?}");
        if status == 400 {
            answer.says(400, "Host: must be sent, once");
        }
    }
    let mut old = Connection::open(&app.base).await;
    old.write(b"GET /healthz HTTP/1.0\r\n\r\n").await;
    assert_eq!(old.read().await.status, 200);
    let mut badge = Connection::open(&app.base).await;
    badge.write(b"GET /v1/badge/x HTTP/1.1\r\n\r\n").await;
    badge.read().await.says(400, "\"date\":\"");
}
