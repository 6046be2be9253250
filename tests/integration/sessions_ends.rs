//! What ends a session: its time, its person, his password, the application, the tenant, and too many others.

use serde_json::json;
use trawl::store::now_millis;

use crate::util::{
    app::{Application, TestApp},
    items::user,
    login::{Landscape, location, parameter},
    session::WebSession,
};

async fn start() -> (TestApp, Application) {
    let Landscape { app, acme, .. } = Landscape::start().await;
    (app, acme)
}

/// What was changed behind the server's back is seen.
fn look_again(app: &TestApp, acme: &Application) {
    app.app.authenticator.forget_callers(acme.tenant_id);
}

/// The only session's times of use and of beginning, epoch milliseconds.
async fn times(app: &TestApp) -> (i64, i64) {
    use sea_orm::ConnectionTrait;
    let row = app
        .app
        .store
        .reader()
        .query_one_raw(trawl::store::sql("SELECT used_at, created_at FROM sessions", []));
    let row = row.await.unwrap().unwrap();
    (row.try_get("", "used_at").unwrap(), row.try_get("", "created_at").unwrap())
}

async fn count(app: &TestApp) -> i64 {
    use sea_orm::ConnectionTrait;
    let row =
        app.app.store.reader().query_one_raw(trawl::store::sql("SELECT COUNT(*) AS n FROM sessions", []));
    row.await.unwrap().unwrap().try_get("", "n").unwrap()
}

#[tokio::test]
async fn a_session_that_is_not_used_for_long_is_over() {
    let (app, acme) = start().await;
    let session = app.web_session("mei").await;
    // Its use is in memory alone so far; it is what counts.
    session.post_empty("/modules").await.ok();
    app.execute("UPDATE sessions SET used_at = 0").await;
    look_again(&app, &acme);
    let before = now_millis();
    session.post_empty("/modules").await.ok();
    app.app.upkeep.make_round().await.unwrap();
    assert!(times(&app).await.0 >= before, "it is not written down");
    // Nobody uses it for the 480 minutes of the settings, and the server is another one by then.
    let app = app.restart().await;
    app.execute("UPDATE sessions SET used_at = used_at - 479 * 60000").await;
    let session = WebSession { base: app.base.clone(), http: app.http.clone(), ..session };
    session.post_empty("/modules").await.ok();
    let app = app.restart().await;
    let session = WebSession { base: app.base.clone(), http: app.http.clone(), ..session };
    app.execute("UPDATE sessions SET used_at = used_at - 480 * 60000").await;
    session.is_over().await;
    app.app.upkeep.make_round().await.unwrap();
    assert_eq!(count(&app).await, 0);
}

/// It may well have been used lately.
#[tokio::test]
async fn no_session_goes_while_uses_cannot_be_written_down() {
    let (app, acme) = start().await;
    let session = app.web_session("mei").await;
    app.app.upkeep.make_round().await.unwrap();
    app.execute("CREATE TRIGGER full BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ABORT, 'no room'); END")
        .await;
    session.post_empty("/modules").await.ok();
    // As if it had not been used for long before that, which no trigger minds.
    app.execute("CREATE TABLE kept AS SELECT * FROM sessions").await;
    app.execute("DELETE FROM sessions").await;
    app.execute("UPDATE kept SET used_at = used_at - 481 * 60000").await;
    app.execute("INSERT INTO sessions SELECT * FROM kept").await;
    app.execute("DROP TABLE kept").await;
    app.app.upkeep.make_round().await.unwrap_err();
    assert_eq!(count(&app).await, 1, "it is removed");
    app.execute("DROP TRIGGER full").await;
    app.app.upkeep.make_round().await.unwrap();
    look_again(&app, &acme);
    session.post_empty("/modules").await.ok();
    // What was written down is what counts from now on.
    let app = app.restart().await;
    app.app.upkeep.make_round().await.unwrap();
    let session = WebSession { base: app.base.clone(), http: app.http.clone(), ..session };
    session.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn a_session_is_over_a_week_after_the_sign_in_however_it_is_used() {
    let (app, acme) = start().await;
    let session = app.web_session("mei").await;
    app.execute("UPDATE sessions SET created_at = created_at - 167 * 3600000").await;
    look_again(&app, &acme);
    session.post_empty("/modules").await.ok();
    app.execute("UPDATE sessions SET created_at = created_at - 3600000").await;
    look_again(&app, &acme);
    session.is_over().await;
    app.app.upkeep.make_round().await.unwrap();
    assert_eq!(count(&app).await, 0);
}

#[tokio::test]
async fn what_ends_tokens_of_a_person_ends_his_sessions() {
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
        session.is_over().await;
        app.sync(&acme.caller, "users", &json!([{"userId": "mei", "status": 1, "isDeleted": false}])).await;
        session.is_over().await;
    }
    omar.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn without_its_application_nobody_is_signed_in() {
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

    // What it may less, nobody does by it, at once.
    operator.put(&path, &json!({"scopes": ["files"]})).await.ok();
    session.post_empty("/modules").await.fails(403, "contents:read");
    operator.put(&path, &json!({"scopes": ["contents:read"]})).await.ok();
    session.post_empty("/modules").await.ok();

    operator.put(&path, &json!({"disabled": true})).await.ok();
    session.is_over().await;
    assert_eq!(start().await.as_str(), format!("{}/x?signin=refused", app.base));
    operator.put(&path, &json!({"disabled": false})).await.ok();
    session.is_over().await;

    // One that comes again is another one.
    let session = app.web_session("mei").await;
    operator.delete(&path).await.ok();
    session.is_over().await;
    app.web_session("mei").await.post_empty("/modules").await.ok();
    session.is_over().await;
    let audit = operator.get("/admin/v1/audit?limit=50").await.ok();
    let made = audit
        .items()
        .iter()
        .filter(|deed| deed["action"] == "create" && deed["objectId"] == shown.data()["clientId"]);
    assert_eq!(made.count(), 2, "{}", audit.text);
}

/// By http too, at an address that no other application may have people sent back to.
#[tokio::test]
async fn its_application_can_be_narrowed_whatever_the_servers_address_is() {
    let change = |config: &mut trawl::config::Config| {
        config.public_url = Some("http://search.intranet".parse().unwrap());
    };
    let Landscape { app, acme, .. } = Landscape::start_with(change).await;
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
async fn a_frozen_tenant_signs_nobody_in() {
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
    session.is_over().await;
    app.app.upkeep.make_round().await.unwrap();
    assert_eq!(count(&app).await, 0);
}

#[tokio::test]
async fn the_least_used_of_too_many_sessions_of_a_person_goes() {
    let (app, acme) = start().await;
    app.sync(&acme.caller, "users", &json!([user("omar", "")])).await;
    let omar = app.web_session("omar").await;
    let (first, second) = (app.web_session("mei").await, app.web_session("mei").await);
    app.execute(
        "INSERT INTO sessions (id, tenant_id, user_id, user_epoch, login_id, client_id, client_epoch, created_at, used_at) \
         WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 48) \
         SELECT randomblob(32), tenant_id, user_id, user_epoch, login_id, client_id, client_epoch, created_at, used_at + 10000 + n \
         FROM numbers, (SELECT * FROM sessions WHERE user_id = 'mei' LIMIT 1)",
    )
    .await;
    assert_eq!(count(&app).await, 51);
    // The first one is used, so it is the second one that goes.
    first.post_empty("/modules").await.ok();
    app.execute("UPDATE sessions SET used_at = used_at - 100000").await;
    first.post_empty("/modules").await.ok();
    app.app.upkeep.make_round().await.unwrap();
    let third = app.web_session("mei").await;
    assert_eq!(count(&app).await, 51);
    second.is_over().await;
    for session in [&first, &third, &omar] {
        session.post_empty("/modules").await.ok();
    }
}

/// The session that a browser had ends with the next one.
#[tokio::test]
async fn a_browser_has_one_session() {
    let (app, _) = start().await;
    let session = app.web_session("mei").await;
    let mut browser = app.browser();
    let page = location(&browser.follow(&format!("{}/session/start", app.base)).await);
    let page = browser.follow(page.as_str()).await;
    let back = location(&browser.submit(&page, "mei", "correct horse").await);
    let both = format!("{}; {}", browser.cookie.clone().unwrap(), session.cookie);
    browser.cookie = Some(both);
    let next = app.session_of(&browser.follow(back.as_str()).await);
    assert_ne!(next.cookie, session.cookie);
    session.is_over().await;
    next.post_empty("/modules").await.ok();
}
