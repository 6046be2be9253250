//! Changes of a second factor at the account page, and what they end.

use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    authenticator::{AuthenticatorApp, FACTOR, enrol, state},
    caller::Caller,
    console::Operated,
    internals::Config,
    items::user,
    login::{LoginSetup, location, parameter, set_password},
    postgres::open_store,
    program::{Server, create_application},
    session::web_session_at,
};

const CONFIRM: &str = "/session/second_factor/confirm";

async fn offer(session: &Caller, proof: &Value) -> AuthenticatorApp {
    let offered = session.post(FACTOR, proof).await.ok();
    AuthenticatorApp::of(offered.data()["secret"].as_str().unwrap())
}

/// Signs in to the portal with password and code.
async fn sign_in(setup: &LoginSetup, code: &str) -> Answer {
    let mut browser = setup.app.browser();
    let page = browser.open(&setup.parameters()).await;
    let page = browser.submit(&page, "mei", "correct horse").await;
    assert_eq!(page.status, 200, "{}", page.text);
    browser.submit_code(&page, code).await
}

/// Mei, with a session, and with an app that gives its codes.
async fn enrolled(change: impl FnOnce(&mut Config)) -> (LoginSetup, Caller, AuthenticatorApp) {
    let setup = LoginSetup::start_with(change).await;
    let session = setup.app.web_session("mei").await;
    let (authenticator, _) = enrol(&session).await;
    setup.app.forget_used_codes().await;
    (setup, session, authenticator)
}

#[tokio::test]
async fn sign_in_begun_before_the_second_factor_opens_nothing() {
    let all = Operated::start_with(|config| config.console.require_second_factor = true).await;
    let mut thief = all.app.browser();
    let start = format!("{}/session/start?to=/", all.app.base);
    let back = thief.sign_in_at(&start, "mei", "correct horse").await;
    enrol(&all.mei).await;
    let answer = thief.follow(back.as_str()).await;
    assert_eq!(location(&answer).as_str(), format!("{}/?signin=failed", all.app.base));
    assert!(answer.header("set-cookie").is_empty(), "{:?}", answer.headers);
    all.mei.get("/admin/v1/people").await.ok();
}

#[tokio::test]
async fn codes_and_tokens_from_before_the_second_factor_end() {
    let setup = LoginSetup::start().await;
    let (session, code) = (setup.app.web_session("mei").await, setup.sign_in().await);
    let token = setup.app.user(&setup.acme, "mei").await;
    token.post_empty("/modules").await.ok();
    enrol(&session).await;
    assert_eq!(setup.use_code(&code).await.body["error"], "invalid_grant");
    token.post_empty("/modules").await.fails(401, "revoked");
    session.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn offered_factor_is_confirmed_in_its_session_alone() {
    let LoginSetup { app, acme, .. } = LoginSetup::start().await;
    let (first, other) = (app.web_session("mei").await, app.web_session("mei").await);
    let authenticator = offer(&first, &json!({"password": "correct horse"})).await;
    other.post(CONFIRM, &json!({"code": authenticator.code(0)})).await.fails(403, "code");
    let changed = json!([{"userId": "mei", "password": "MTIzNDU2Nzg5MDEyMzQ1Ng=="}]);
    app.sync(&acme.caller, "users", &changed).await;
    let later = app.web_session("mei").await;
    later.post(CONFIRM, &json!({"code": authenticator.code(0)})).await.fails(403, "code");
    assert_eq!(state(&later).await["enabled"], false);
}

#[tokio::test]
async fn hundred_wrong_codes_end_the_offer_alone() {
    let (setup, session, authenticator) = enrolled(|config| config.limits.logins_per_minute = 1_000).await;
    let proof = json!({"password": "correct horse", "code": authenticator.code(0)});
    let renewed = offer(&session, &proof).await;
    let wrong = json!({"code": renewed.wrong_code()});
    for _ in 0..100 {
        session.post(CONFIRM, &wrong).await.fails(403, "code");
    }
    session.post(CONFIRM, &json!({"code": renewed.code(0)})).await.fails(403, "code");
    setup.app.forget_used_codes().await;
    let signed_in = sign_in(&setup, &authenticator.code(0)).await;
    assert!(!parameter(&location(&signed_in), "code").is_empty());
}

#[tokio::test]
async fn wrong_codes_in_a_session_leave_sign_ins_alone() {
    let (setup, session, authenticator) = enrolled(|config| config.limits.logins_per_minute = 4).await;
    let wrong = json!({"code": authenticator.wrong_code()});
    for _ in 0..4 {
        session.post(CONFIRM, &wrong).await.fails(403, "code");
    }
    session.post(CONFIRM, &wrong).await.fails(429, "too many wrong passwords");
    let signed_in = sign_in(&setup, &authenticator.code(0)).await;
    assert!(!parameter(&location(&signed_in), "code").is_empty());
}

#[tokio::test]
async fn secrets_are_not_stored_by_browsers() {
    let LoginSetup { app, .. } = LoginSetup::start().await;
    let session = app.web_session("mei").await;
    let offered = session.post(FACTOR, &json!({"password": "correct horse"})).await.ok();
    let authenticator = AuthenticatorApp::of(offered.data()["secret"].as_str().unwrap());
    let confirmed = session.post(CONFIRM, &json!({"code": authenticator.code(0)})).await.ok();
    for answer in [offered, confirmed, session.get(FACTOR).await.ok()] {
        assert_eq!(answer.header("cache-control"), "private, no-store");
    }
}

#[tokio::test]
async fn refusals_and_recovery_codes_are_logged_without_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path()).await;
    let acme = server.caller(&create_application(directory.path(), "acme").await).await;
    acme.put("/v1/users/sync", &json!([user("mei", "")])).await.ok();
    let store = open_store(directory.path()).await;
    set_password(&store, "mei", "correct horse").await;
    store.close().await.unwrap();
    let session = web_session_at(&server.base, "acme", "mei", "correct horse").await;
    session.post(FACTOR, &json!({"password": "hidden"})).await.fails(403, "password");
    session.post(CONFIRM, &json!({"code": "000000"})).await.fails(403, "code");
    let (authenticator, recovery) = enrol(&session).await;
    let wrong = authenticator.wrong_code();
    let remove = async |code: &str| {
        let proof = json!({"password": "correct horse", "code": code});
        session.post(&format!("{FACTOR}/remove"), &proof).await
    };
    remove(&wrong).await.fails(403, "code");
    remove(&recovery[0]).await.ok();
    let log = server.log();
    for (said, times) in [("a change of a second factor was refused", 3), ("a recovery code was spent", 1)] {
        let lines = log.lines().filter(|line| {
            let names = ["trawl::audit", said, "address=127.0.0.1", "user_id=\"mei\""];
            names.iter().all(|name| line.contains(name))
        });
        assert_eq!(lines.count(), times, "{said}: {log}");
    }
    for secret in ["hidden", "correct horse", &wrong, &recovery[0]] {
        assert!(!log.contains(secret), "{secret:?} is logged: {log}");
    }
}
