//! Ends of sessions.

use serde_json::json;

use crate::util::{
    app::{Application, TestApp},
    internals::{Config, now_millis},
    items::user,
    login::{LoginSetup, location, parameter},
    postgres,
};

async fn start() -> (TestApp, Application) {
    let LoginSetup { app, acme, .. } = LoginSetup::start().await;
    (app, acme)
}

/// Last use and creation in epoch milliseconds.
async fn times(app: &TestApp) -> (i64, i64) {
    app.row("SELECT used_at, created_at FROM sessions", Vec::new()).await
}

#[tokio::test]
async fn unused_session_expires() {
    let (app, acme) = start().await;
    let session = app.web_session("mei").await;
    session.post_empty("/modules").await.ok();
    app.execute("UPDATE sessions SET used_at = 0").await;
    app.forget_callers(acme.tenant_id).await;
    let before = now_millis();
    session.post_empty("/modules").await.ok();
    app.app.maintenance.make_round().await.unwrap();
    assert!(times(&app).await.0 >= before, "the use is written");
    // After the 480 minutes of the settings, over a restart.
    let app = app.restart().await;
    app.execute("UPDATE sessions SET used_at = used_at - 479 * 60000").await;
    let session = session.at(&app.base);
    session.post_empty("/modules").await.ok();
    let app = app.restart().await;
    let session = session.at(&app.base);
    app.execute("UPDATE sessions SET used_at = used_at - 480 * 60000").await;
    session.assert_ended().await;
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!(app.count_rows("sessions").await, 0);
}

/// Returns the statement that ends it.
async fn refuse_updates(app: &TestApp) -> &'static str {
    if postgres::url_of(app.data()).is_none() {
        app.execute(
            "CREATE TRIGGER no_room BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ABORT, 'no room'); END",
        )
        .await;
        return "DROP TRIGGER no_room";
    }
    app.execute(
        "CREATE FUNCTION no_room() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN RAISE ''no room''; END'",
    )
    .await;
    app.execute("CREATE TRIGGER no_room BEFORE UPDATE ON sessions EXECUTE FUNCTION no_room()").await;
    "DROP FUNCTION no_room CASCADE"
}

/// An unwritten use might still save the session.
#[tokio::test]
async fn no_session_expires_while_uses_cannot_be_stored() {
    let (app, acme) = start().await;
    let session = app.web_session("mei").await;
    app.app.maintenance.make_round().await.unwrap();
    let accept_updates = refuse_updates(&app).await;
    session.post_empty("/modules").await.ok();
    // Unused for long; the trigger must not fire.
    app.execute("CREATE TABLE kept AS SELECT * FROM sessions").await;
    app.execute("DELETE FROM sessions").await;
    app.execute("UPDATE kept SET used_at = used_at - 481 * 60000").await;
    app.execute("INSERT INTO sessions SELECT * FROM kept").await;
    app.execute("DROP TABLE kept").await;
    app.app.maintenance.make_round().await.unwrap_err();
    assert_eq!(app.count_rows("sessions").await, 1, "the session is removed");
    app.execute(accept_updates).await;
    app.app.maintenance.make_round().await.unwrap();
    app.forget_callers(acme.tenant_id).await;
    session.post_empty("/modules").await.ok();
    let app = app.restart().await;
    app.app.maintenance.make_round().await.unwrap();
    let session = session.at(&app.base);
    session.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn used_session_ends_a_week_after_the_sign_in() {
    let (app, acme) = start().await;
    let session = app.web_session("mei").await;
    app.execute("UPDATE sessions SET created_at = created_at - 167 * 3600000").await;
    app.forget_callers(acme.tenant_id).await;
    session.post_empty("/modules").await.ok();
    app.execute("UPDATE sessions SET created_at = created_at - 3600000").await;
    app.forget_callers(acme.tenant_id).await;
    session.assert_ended().await;
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!(app.count_rows("sessions").await, 0);
}

#[tokio::test]
async fn events_that_end_tokens_end_sessions() {
    let (app, acme) = start().await;
    app.sync(&acme.caller, "users", &json!([user("omar", "")])).await;
    let omar = app.web_session("omar").await;
    for change in [
        json!({"userId": "mei", "password": "MTIzNDU2Nzg5MDEyMzQ1Ng=="}),
        json!({"userId": "mei", "status": 0}),
        json!({"userId": "mei", "isDeleted": true}),
    ] {
        let session = app.web_session("mei").await;
        session.post_empty("/modules").await.ok();
        app.sync(&acme.caller, "users", &json!([change])).await;
        session.assert_ended().await;
        app.sync(&acme.caller, "users", &json!([{"userId": "mei", "status": 1, "isDeleted": false}])).await;
        session.assert_ended().await;
    }
    omar.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn removed_or_narrowed_application_ends_sessions() {
    let (app, acme) = start().await;
    let operator = app.operator().await.caller.on("acme");
    let path = format!("/admin/v1/applications/search-page-{}", acme.tenant_id);
    let start = || async {
        location(&app.browser().follow(&format!("{}/session/start?tenant=acme&to=/x", app.base)).await)
    };
    let session = app.web_session("mei").await;
    let shown = operator.get(&path).await.ok();
    let expected = json!([format!("{}/session/callback", app.base)]);
    assert_eq!((&shown.data()["redirectUris"], &shown.data()["public"]), (&expected, &json!(true)));
    assert_eq!(shown.data()["scopes"], json!(["contents:read", "files"]));

    operator.put(&path, &json!({"scopes": ["files"]})).await.ok();
    session.post_empty("/modules").await.fails(403, "contents:read");
    operator.put(&path, &json!({"scopes": ["contents:read"]})).await.ok();
    session.post_empty("/modules").await.ok();

    operator.put(&path, &json!({"disabled": true})).await.ok();
    session.assert_ended().await;
    assert_eq!(start().await.as_str(), format!("{}/x?signin=refused", app.base));
    operator.put(&path, &json!({"disabled": false})).await.ok();
    session.assert_ended().await;

    let session = app.web_session("mei").await;
    operator.delete(&path).await.ok();
    session.assert_ended().await;
    app.web_session("mei").await.post_empty("/modules").await.ok();
    session.assert_ended().await;
    let audit = operator.get("/admin/v1/audit?limit=50").await.ok();
    let made = audit
        .items()
        .iter()
        .filter(|event| event["action"] == "create" && event["objectId"] == shown.data()["clientId"]);
    assert_eq!(made.count(), 2, "{}", audit.text);
}

/// Over HTTP, too, for a redirect URI that no other application may use.
#[tokio::test]
async fn application_can_be_narrowed_at_any_server_url() {
    let change = |config: &mut Config| {
        config.public_url = Some("http://search.intranet".parse().unwrap());
    };
    let LoginSetup { app, acme, .. } = LoginSetup::start_with(change).await;
    let page = app.browser().follow(&format!("{}/session/start?tenant=acme&moved=1", app.base)).await;
    assert_eq!(location(&page).path(), "/oauth2/authorize");
    let operator = app.operator().await.caller.on("acme");
    let path = format!("/admin/v1/applications/search-page-{}", acme.tenant_id);
    let changed = operator.put(&path, &json!({"scopes": ["files"]})).await.ok();
    assert_eq!(changed.data()["scopes"], json!(["files"]));
    operator.put(&path, &json!({"scopes": ["act-as-user"]})).await.fails(400, "scopes");
    let elsewhere = json!({"redirectUris": ["http://other.intranet/"]});
    operator.put(&path, &elsewhere).await.fails(400, "redirectUris[0]");
}

#[tokio::test]
async fn frozen_tenant_signs_nobody_in() {
    let (app, _) = start().await;
    let operator = app.operator().await.caller;
    let session = app.web_session("mei").await;
    let mut browser = app.browser();
    let page = location(&browser.follow(&format!("{}/session/start?tenant=acme", app.base)).await);
    let page = browser.follow(page.as_str()).await;
    operator.post_empty("/v1/enterprises/freeze?eCode=acme").await.ok();
    session.post_empty("/modules").await.fails(403, "tenant is frozen");
    let started = location(&app.browser().follow(&format!("{}/session/start?tenant=acme", app.base)).await);
    assert_eq!(started.as_str(), format!("{}/?signin=refused", app.base));
    let back = location(&browser.submit(&page, "mei", "correct horse").await);
    assert_eq!(parameter(&back, "error"), "access_denied");
    let answer = browser.follow(back.as_str()).await;
    assert_eq!(location(&answer).as_str(), format!("{}/?signin=refused", app.base));
    operator.post_empty("/v1/enterprises/unfreeze?eCode=acme").await.ok();
    session.post_empty("/modules").await.ok();
    operator.post_empty("/v1/enterprises/delete?eCode=acme").await.ok();
    session.assert_ended().await;
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!(app.count_rows("sessions").await, 0);
}

#[tokio::test]
async fn session_over_the_limit_replaces_the_least_recent() {
    let (app, acme) = start().await;
    app.sync(&acme.caller, "users", &json!([user("omar", "")])).await;
    let omar = app.web_session("omar").await;
    let (first, second) = (app.web_session("mei").await, app.web_session("mei").await);
    for n in 1..=48_u8 {
        let another = "INSERT INTO sessions (id, tenant_id, user_id, user_epoch, login_id, client_id, client_epoch, created_at, used_at) \
             SELECT ?, tenant_id, user_id, user_epoch, login_id, client_id, client_epoch, created_at, used_at + 90000 \
             FROM sessions WHERE user_id = 'mei' ORDER BY used_at LIMIT 1";
        app.execute_with(another, vec![vec![n; 32].into()]).await;
    }
    assert_eq!(app.count_rows("sessions").await, 51);
    first.post_empty("/modules").await.ok();
    app.execute("UPDATE sessions SET used_at = used_at - 100000").await;
    first.post_empty("/modules").await.ok();
    app.app.maintenance.make_round().await.unwrap();
    let third = app.web_session("mei").await;
    assert_eq!(app.count_rows("sessions").await, 51);
    second.assert_ended().await;
    for session in [&first, &third, &omar] {
        session.post_empty("/modules").await.ok();
    }
}

#[tokio::test]
async fn new_sign_in_ends_the_browsers_previous_session() {
    let (app, _) = start().await;
    let session = app.web_session("mei").await;
    let mut browser = app.browser();
    let back = browser.sign_in_at(&format!("{}/session/start", app.base), "mei", "correct horse").await;
    let both = format!("{}; {}", browser.cookie.clone().unwrap(), session.cookie);
    browser.cookie = Some(both);
    let next = app.session_of(&browser.follow(back.as_str()).await);
    assert_ne!(next.cookie, session.cookie);
    session.assert_ended().await;
    next.post_empty("/modules").await.ok();
}
