//! A person's own sessions (`/v1/sessions`).

use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::Caller,
    cluster::{Cluster, at},
    items::user,
    login::{LoginSetup, location, set_password},
    postgres,
    program::Server,
    session::web_session_at,
};

const SESSIONS: &str = "/v1/sessions";

async fn ids(session: &Caller) -> Vec<String> {
    let sessions = session.get(SESSIONS).await.ok();
    sessions.items().iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
}

async fn own_id(session: &Caller) -> String {
    let sessions = session.get(SESSIONS).await.ok();
    let own = sessions.items().iter().find(|session| session["isCurrent"] == true).unwrap();
    own["id"].as_str().unwrap().to_owned()
}

async fn start() -> (TestApp, Caller, Caller) {
    let LoginSetup { app, acme, .. } = LoginSetup::start().await;
    app.sync(&acme.caller, "users", &json!([user("omar", "")])).await;
    let (first, second) = (app.web_session("mei").await, app.web_session("mei").await);
    (app, first, second)
}

#[tokio::test]
async fn own_sessions_are_listed_with_browser_and_address() {
    let (app, first, second) = start().await;
    app.web_session("omar").await;
    app.execute("UPDATE sessions SET user_agent = 'Firefox'").await;
    assert_eq!(ids(&first).await.len(), 2);
    assert_ne!(own_id(&first).await, own_id(&second).await);
    let listed = first.get(SESSIONS).await.ok();
    for session in listed.items() {
        assert_eq!([&session["address"], &session["userAgent"]], [&json!("127.0.0.1"), &json!("Firefox")]);
        assert_eq!([&session["issuer"], &session["application"]], [&Value::Null, &json!("trawl")]);
        assert!(session["createdAt"].as_i64() <= session["usedAt"].as_i64());
    }
    assert!(!listed.text.contains(first.cookie.split('=').nth(1).unwrap()));
    app.execute("UPDATE sessions SET created_at = 0").await;
    let third = app.web_session("mei").await;
    assert_eq!(ids(&third).await, [own_id(&third).await], "an expired session is listed");
}

#[tokio::test]
async fn user_agent_is_kept_without_control_characters_and_cut() {
    let LoginSetup { app, .. } = LoginSetup::start().await;
    let mut browser = app.browser();
    browser.user_agent = Some("é".repeat(300));
    let answer = app.sign_in_to_pages(&mut browser, "acme", "mei", "/").await;
    let listed = app.session_of(&answer).get(SESSIONS).await.ok();
    assert_eq!(listed.items()[0]["userAgent"], "é".repeat(256));
}

#[tokio::test]
async fn ended_session_is_refused_and_others_go_on() {
    let (app, first, second) = start().await;
    let omar = app.web_session("omar").await;
    let (own, other) = (own_id(&second).await, own_id(&omar).await);
    for wrong in [&other, "x", &"0".repeat(64)] {
        first.delete(&format!("{SESSIONS}/{wrong}")).await.fails(404, "id");
    }
    omar.post_empty("/modules").await.ok();
    first.delete(&format!("{SESSIONS}/{own}")).await.ok();
    second.assert_ended().await;
    first.delete(&format!("{SESSIONS}/{own}")).await.fails(404, "id");
    first.post_empty("/modules").await.ok();
    omar.post_empty("/modules").await.ok();
    let operator = app.operator().await.caller.on("acme");
    let event = operator.get("/admin/v1/audit?objectKind=session").await.ok().items()[0].clone();
    assert_eq!(
        [&event["action"], &event["userId"], &event["objectId"]],
        [&json!("end"), &json!("mei"), &json!(own)]
    );
}

#[tokio::test]
async fn all_other_sessions_end_at_once() {
    let (app, first, second) = start().await;
    let (third, omar) = (app.web_session("mei").await, app.web_session("omar").await);
    assert_eq!(first.delete(SESSIONS).await.ok().data()["sessions"], 2);
    second.assert_ended().await;
    third.assert_ended().await;
    for session in [&first, &omar] {
        session.post_empty("/modules").await.ok();
    }
    let operator = app.operator().await.caller.on("acme");
    let event = operator.get("/admin/v1/audit?action=sign-out-elsewhere").await.ok().items()[0].clone();
    assert_eq!([&event["objectKind"], &event["objectId"]], [&json!("user"), &json!("mei")]);
}

#[tokio::test]
async fn sign_ins_and_tokens_from_before_end_with_all_other_sessions() {
    let setup = LoginSetup::start().await;
    let (app, session, code) = (&setup.app, setup.app.web_session("mei").await, setup.sign_in().await);
    let mut other = app.browser();
    let start = format!("{}/session/start?to=/", app.base);
    let back = other.sign_in_at(&start, "mei", "correct horse").await;
    let token = app.user(&setup.acme, "mei").await;
    token.post_empty("/modules").await.ok();
    session.delete(SESSIONS).await.ok();
    let answer = other.follow(back.as_str()).await;
    assert_eq!(location(&answer).as_str(), format!("{}/?signin=failed", app.base));
    assert_eq!(setup.use_code(&code).await.body["error"], "invalid_grant");
    token.post_empty("/modules").await.fails(401, "revoked");
    session.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn token_neither_sees_nor_ends_sessions() {
    let setup = LoginSetup::start().await;
    let session = setup.app.web_session("mei").await;
    let token = setup.app.user(&setup.acme, "mei").await;
    let own = format!("{SESSIONS}/{}", own_id(&session).await);
    token.get(SESSIONS).await.fails(401, "x-trawl-session");
    for path in [SESSIONS, &own] {
        token.delete(path).await.fails(401, "x-trawl-session");
    }
    session.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn session_that_another_replica_ended_is_refused_at_once() {
    let mut cluster = Cluster::new("own_sessions");
    let (one, other) = (cluster.add().await, cluster.add().await);
    let acme = cluster.application("acme", "application").await;
    let caller = one.caller(&acme).await;
    caller.put("/v1/users/sync", &json!([user("mei", "")])).await.ok();
    let store = postgres::open(&cluster.url).await;
    set_password(&store, "mei", "correct horse").await;
    let session = |server: &Server| {
        let base = server.base.clone();
        async move { web_session_at(&base, "acme", "mei", "correct horse").await }
    };
    let (mine, lost) = (session(&one).await, session(&other).await);
    at(&other, &mine).post_empty("/modules").await.ok();
    at(&one, &lost).post_empty("/modules").await.ok();
    at(&one, &mine).delete(SESSIONS).await.ok();
    for server in [&one, &other] {
        at(server, &lost).post_empty("/modules").await.fails(401, "the session has ended");
    }
    at(&other, &mine).post_empty("/modules").await.ok();
    store.close().await.unwrap();
}
