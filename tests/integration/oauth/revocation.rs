//! `POST /oauth2/revoke` (RFC 7009).
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::{Caller, send},
    items::user,
};

async fn ask(app: &TestApp, basic: Option<(&str, &str)>, form: &[(&str, &str)]) -> Answer {
    let request = app.http.post(format!("{}/oauth2/revoke", app.base)).form(form);
    send(match basic {
        Some((id, secret)) => request.basic_auth(id, Some(secret)),
        None => request,
    })
    .await
}

async fn revoke(app: &TestApp, application: &Application, token: &str) -> Answer {
    let form = [("token", token), ("token_type_hint", "access_token")];
    ask(app, Some((&application.client_id, application.secret())), &form).await
}

#[track_caller]
fn refused(answer: &Answer, status: u16, error: &str) {
    assert_eq!((answer.status, &answer.body["error"]), (status, &Value::from(error)), "{}", answer.text);
    assert_eq!(answer.header("cache-control"), "no-store");
}

async fn another_token(app: &TestApp, application: &Application) -> Caller {
    let answer = app.grant(application, &[("grant_type", "client_credentials")]).await;
    app.caller(answer.body["access_token"].as_str().unwrap())
}

#[tokio::test]
async fn revoked_token_is_refused_at_once_and_after_a_restart() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    let (mei, other) = (app.user(&acme, "mei").await, another_token(&app, &acme).await);
    for caller in [&acme.caller, &mei, &other] {
        caller.post_empty("/modules").await.ok();
    }
    for caller in [&acme.caller, &mei] {
        for _ in 0..2 {
            let answer = revoke(&app, &acme, &caller.token).await;
            assert_eq!((answer.status, answer.text.as_str()), (200, ""));
        }
        caller.post_empty("/modules").await.fails(401, "revoked");
    }
    other.post_empty("/modules").await.ok();
    let tokens = [acme.caller.token.clone(), other.token.clone()];
    drop((acme, mei, other));
    let app = app.restart().await;
    app.caller(&tokens[0]).post_empty("/modules").await.fails(401, "revoked");
    app.caller(&tokens[1]).post_empty("/modules").await.ok();
}

#[tokio::test]
async fn client_revokes_only_its_own_tokens() {
    let app = TestApp::start().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    let token = acme.caller.token.as_str();
    refused(&revoke(&app, &other, token).await, 400, "unauthorized_client");
    refused(&ask(&app, None, &[("token", token)]).await, 401, "invalid_client");
    refused(&ask(&app, Some((&acme.client_id, "wrong")), &[("token", token)]).await, 401, "invalid_client");
    let nameless = [("token", token), ("client_id", acme.client_id.as_str())];
    refused(&ask(&app, None, &nameless).await, 401, "invalid_client");
    let both = [("token", token), ("client_id", &acme.client_id), ("client_secret", acme.secret())];
    refused(&ask(&app, Some((&acme.client_id, acme.secret())), &both).await, 400, "invalid_request");
    refused(&ask(&app, Some((&acme.client_id, acme.secret())), &[]).await, 400, "invalid_request");
    let json = app.http.post(format!("{}/oauth2/revoke", app.base)).json(&json!({"token": token}));
    refused(&send(json).await, 400, "invalid_request");
    acme.caller.post_empty("/modules").await.ok();

    // Invalid tokens are accepted, by `client_secret_post` as well.
    assert_eq!(revoke(&app, &acme, "nonsense").await.status, 200);
    assert_eq!(ask(&app, None, &both).await.status, 200);
    acme.caller.post_empty("/modules").await.fails(401, "revoked");
}

#[tokio::test]
async fn public_client_revokes_by_its_id() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let form = json!({"kind": "application", "public": true, "redirectUris": ["https://app.example/back"]});
    let created = operator.post("/admin/v1/applications", &form).await;
    let id = created.ok().body["data"]["clientId"].as_str().unwrap().to_owned();
    let form = [("token", "nonsense"), ("client_id", id.as_str())];
    assert_eq!(ask(&app, None, &form).await.status, 200);
    refused(&ask(&app, Some((&id, "x")), &[("token", "x")]).await, 401, "invalid_client");
}

#[tokio::test]
async fn expired_revocations_are_deleted() {
    let (app, acme) = TestApp::start_with_acme().await;
    revoke(&app, &acme, &acme.caller.token).await;
    let rows = async || app.count_rows("revoked_tokens").await;
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!(rows().await, 1);
    app.execute("UPDATE revoked_tokens SET expires_at = 1").await;
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!(rows().await, 0);
}

/// Order of P-256. A signature (r, order − s) is as valid as (r, s).
const ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];

fn twin(token: &str) -> String {
    use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
    let (said, signature) = token.rsplit_once('.').unwrap();
    let mut signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
    let mut borrow = 0;
    for place in (0..32).rev() {
        let digit = i16::from(ORDER[place]) - i16::from(signature[32 + place]) - borrow;
        borrow = i16::from(digit < 0);
        signature[32 + place] = u8::try_from(digit.rem_euclid(256)).unwrap();
    }
    format!("{said}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

#[tokio::test]
async fn revocation_covers_the_malleated_signature() {
    let (app, acme) = TestApp::start_with_acme().await;
    let other = app.caller(&twin(&acme.caller.token));
    assert_ne!(other.token, acme.caller.token);
    acme.caller.post_empty("/modules").await.ok();
    other.post_empty("/modules").await.ok();
    assert_eq!(revoke(&app, &acme, &acme.caller.token).await.status, 200);
    other.post_empty("/modules").await.fails(401, "revoked");
}
