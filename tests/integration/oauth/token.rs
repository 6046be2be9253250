//! `POST /oauth2/token`: RFC 6749 §4.4 and §5.2, and token exchange (RFC 8693).

use serde_json::{Value, json};
use trawl::auth::secrets;

use crate::util::{
    answer::Answer,
    app::{Application, LOGIN_ID, TOKEN_EXCHANGE, TestApp, USER_ID},
    caller::send,
    eventually,
    internals::{Kind, Subject, TokenScope, Tokens},
    items::user,
    postgres,
};

const GRANT: (&str, &str) = ("grant_type", "client_credentials");

#[track_caller]
pub(super) fn refused(answer: &Answer, status: u16, error: &str, described: &str) {
    assert_eq!((answer.status, &answer.body["error"]), (status, &Value::from(error)), "{}", answer.text);
    let description = answer.body["error_description"].as_str().unwrap();
    assert!(description.contains(described), "{}", answer.text);
    assert_eq!(answer.header("cache-control"), "no-store");
    assert!(!answer.header("x-request-id").is_empty());
    assert!(answer.body.get("code").is_none(), "this endpoint has no envelope: {}", answer.text);
    if status == 401 {
        assert!(answer.header("www-authenticate").starts_with("Basic"));
    }
}

async fn ask(app: &TestApp, basic: Option<(&str, &str)>, form: &[(&str, &str)]) -> Answer {
    let request = app.http.post(format!("{}/oauth2/token", app.base)).form(form);
    send(match basic {
        Some((id, secret)) => request.basic_auth(id, Some(secret)),
        None => request,
    })
    .await
}

#[tokio::test]
async fn client_authenticates_by_basic_or_post_not_both() {
    let (app, acme) = TestApp::start_with_acme().await;
    let (id, secret) = (acme.client_id.as_str(), acme.secret());
    let posted = [GRANT, ("client_id", id), ("client_secret", secret)];

    for answer in [ask(&app, Some((id, secret)), &[GRANT]).await, ask(&app, None, &posted).await] {
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.body["token_type"], "Bearer");
        assert_eq!(answer.body["expires_in"], 3_600);
        assert_eq!(answer.header("cache-control"), "no-store");
        let caller = app.caller(answer.body["access_token"].as_str().unwrap());
        caller.post_empty("/modules").await.ok();
    }
    refused(&ask(&app, Some((id, secret)), &posted).await, 400, "invalid_request", "two ways");
    let unknown = ask(&app, Some(("nobody", secret)), &[GRANT]).await;
    refused(&unknown, 401, "invalid_client", "");
    let wrong = ask(&app, Some((id, "wrong")), &[GRANT]).await;
    refused(&wrong, 401, "invalid_client", "");
    assert_eq!(unknown.body, wrong.body, "the answer tells whether the application exists");
    refused(&ask(&app, None, &[GRANT]).await, 401, "invalid_client", "");
    let wrong_post = [GRANT, ("client_id", id), ("client_secret", "")];
    refused(&ask(&app, None, &wrong_post).await, 401, "invalid_client", "");
}

/// The hash that is stored of the client's secret.
async fn kept_hash(app: &TestApp, client: &Application) -> String {
    let text = "SELECT secret_hash FROM applications WHERE client_id = ?";
    app.row::<(String,)>(text, vec![client.client_id.as_str().into()]).await.0
}

#[tokio::test]
async fn hash_of_a_secret_by_an_earlier_version_is_renewed_at_its_use() {
    let (app, acme) = TestApp::start_with_acme().await;
    let (id, secret) = (acme.client_id.as_str(), acme.secret());
    let kept = kept_hash(&app, &acme).await;
    assert!(kept.starts_with("hmac-sha256:") && !kept.contains(secret), "{kept}");
    let old = secrets::hash(&acme.client_secret).unwrap();
    let set = "UPDATE applications SET secret_hash = ? WHERE client_id = ?";
    app.execute_with(set, vec![old.as_str().into(), id.into()]).await;
    if postgres::is_store() {
        // A replica of an earlier version, which could not check another hash.
        let earlier = "INSERT INTO replicas (id, process, version, started_at, seen_at, position, settings) \
                       VALUES ('earlier', 'earlier', '0', 0, 9000000000000, 0, '{}')";
        app.execute(earlier).await;
        assert_eq!(ask(&app, Some((id, secret)), &[GRANT]).await.status, 200);
        assert_eq!(kept_hash(&app, &acme).await, old);
        let other = app.tenant("other").await;
        assert!(kept_hash(&app, &other).await.starts_with("$argon2id$"));
        app.execute("DELETE FROM replicas WHERE id = 'earlier'").await;
    }
    refused(&ask(&app, Some((id, "wrong")), &[GRANT]).await, 401, "invalid_client", "");
    assert_eq!(kept_hash(&app, &acme).await, old);
    for _ in 0..2 {
        assert_eq!(ask(&app, Some((id, secret)), &[GRANT]).await.status, 200);
        assert_eq!(kept_hash(&app, &acme).await, kept, "the key is the same");
    }
}

#[tokio::test]
async fn malformed_token_request_is_refused_by_the_rfc() {
    let (app, acme) = TestApp::start_with_acme().await;
    let basic = Some((acme.client_id.as_str(), acme.secret()));
    refused(&ask(&app, basic, &[]).await, 400, "invalid_request", "grant_type");
    let password = [("grant_type", "password")];
    refused(&ask(&app, basic, &password).await, 400, "unsupported_grant_type", "grant_type");
    refused(&ask(&app, basic, &[GRANT, GRANT]).await, 400, "invalid_request", "grant_type");
    let json = app.http.post(format!("{}/oauth2/token", app.base)).json(&json!({"grant_type": "x"}));
    let json = send(json.basic_auth(&acme.client_id, Some(acme.secret()))).await;
    refused(&json, 400, "invalid_request", "application/x-www-form-urlencoded");
    // Unauthenticated requests have a smaller limit than others.
    let long = ask(&app, basic, &[GRANT, ("scope", &"x".repeat(17 << 10))]).await;
    refused(&long, 413, "invalid_request", "at most 16384 bytes");
}

#[tokio::test]
async fn token_has_only_the_requested_scopes() {
    let app = TestApp::start().await;
    let acme =
        app.register("acme", Kind::Application, &[], vec![TokenScope::ContentsRead, TokenScope::Tasks]).await;
    let all = app.grant(&acme, &[GRANT]).await;
    assert_eq!(all.body["scope"], "tasks contents:read");
    let narrow = app.grant(&acme, &[GRANT, ("scope", "contents:read")]).await;
    assert_eq!(narrow.body["scope"], "contents:read");
    let caller = app.caller(narrow.body["access_token"].as_str().unwrap());
    caller.post_empty("/modules").await.ok();
    caller.post("/api/todo/batch_create", &json!([])).await.fails(403, "tasks");

    let not_its_own = app.grant(&acme, &[GRANT, ("scope", "contents:read files")]).await;
    refused(&not_its_own, 400, "invalid_scope", "files");
    refused(&app.grant(&acme, &[GRANT, ("scope", "everything")]).await, 400, "invalid_scope", "everything");
}

#[tokio::test]
async fn user_token_is_exchanged_for_a_login_or_an_id() {
    let (app, acme) = TestApp::start_with_acme().await;
    let person = json!([{"userId": "u-1", "loginId": "mei", "name": "Mei", "sex": 2}]);
    app.sync(&acme.caller, "users", &person).await;
    for (kind, subject) in [(LOGIN_ID, "mei"), (LOGIN_ID, "Mei"), (USER_ID, "u-1")] {
        let answer = app.exchange(&acme, kind, subject).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.body["issued_token_type"], "urn:ietf:params:oauth:token-type:access_token");
        let scope = answer.body["scope"].as_str().unwrap();
        assert!(scope.contains("contents:read"), "{scope}");
        assert!(!scope.contains("act-as-user"), "{scope}");
        app.caller(answer.body["access_token"].as_str().unwrap()).post_empty("/modules").await.ok();
    }
    for (kind, subject) in
        [(LOGIN_ID, "u-1"), (USER_ID, "mei"), (USER_ID, "U-1"), (LOGIN_ID, ""), (LOGIN_ID, "nobody")]
    {
        refused(&app.exchange(&acme, kind, subject).await, 400, "invalid_request", "subject_token");
    }
    refused(&app.exchange(&acme, "login", "mei").await, 400, "invalid_request", "subject_token_type");
    let missing = [("grant_type", TOKEN_EXCHANGE), ("subject_token_type", LOGIN_ID)];
    refused(&app.grant(&acme, &missing).await, 400, "invalid_request", "subject_token");
    let other_type = [
        ("grant_type", TOKEN_EXCHANGE),
        ("subject_token_type", LOGIN_ID),
        ("subject_token", "mei"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:refresh_token"),
    ];
    refused(&app.grant(&acme, &other_type).await, 400, "invalid_request", "requested_token_type");
}

#[tokio::test]
async fn disabled_person_gets_no_token_and_loses_existing_ones() {
    let app = TestApp::start().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    let no_exchange = app.register("acme", Kind::Application, &[], vec![TokenScope::ContentsRead]).await;
    let people = json!([user("mei", ""), user("omar", ""), user("lin", "")]);
    app.sync(&acme.caller, "users", &people).await;

    let answer = app.exchange(&no_exchange, LOGIN_ID, "mei").await;
    refused(&answer, 400, "unauthorized_client", "act-as-user");
    let foreign = app.exchange(&other, LOGIN_ID, "mei").await;
    refused(&foreign, 400, "invalid_request", "subject_token");
    let unknown = app.exchange(&other, LOGIN_ID, "nobody").await;
    assert_eq!(foreign.body, unknown.body, "the answer tells of another tenant's user");

    let (omar, lin) = (app.user(&acme, "omar").await, app.user(&acme, "lin").await);
    omar.post_empty("/modules").await.ok();
    lin.post_empty("/modules").await.ok();
    let gone = json!([{"userId": "omar", "status": 0}, {"userId": "lin", "isDeleted": true}]);
    app.sync(&acme.caller, "users", &gone).await;
    for (caller, login) in [(&omar, "omar"), (&lin, "lin")] {
        caller.post_empty("/modules").await.fails(401, "no longer");
        refused(&app.exchange(&acme, LOGIN_ID, login).await, 400, "invalid_request", "subject_token");
    }
    app.sync(&acme.caller, "users", &json!([{"userId": "omar", "status": 1}])).await;
    omar.post_empty("/modules").await.fails(401, "revoked");
    app.user(&acme, "omar").await.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn expired_token_is_401_with_its_reason() {
    let (app, acme) = TestApp::start_with_acme().await;
    let tokens = Tokens::load(&app.app.store, &app.app.keys, app.base.clone(), 0).await.unwrap();
    let token = tokens.issue(subject(&acme)).await.unwrap();
    let caller = app.caller(&token);
    let answer = eventually("expiry", async || {
        let answer = caller.post_empty("/modules").await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    answer.fails(401, "expired");
}

fn subject(application: &Application) -> Subject {
    Subject {
        client_id: application.client_id.clone(),
        tenant_id: application.tenant_id,
        epoch: 0,
        user: None,
        scopes: [TokenScope::ContentsRead].into_iter().collect(),
    }
}

#[tokio::test]
async fn token_of_another_server_is_401() {
    let (app, stranger) = (TestApp::start().await, TestApp::start().await);
    let (acme, _) = (app.tenant("acme").await, stranger.tenant("acme").await);
    let foreign = stranger.app.authenticator.tokens().issue(subject(&acme)).await.unwrap();
    app.caller(&foreign).post_empty("/modules").await.fails(401, "the token is not valid");
}
