//! Operators in a browser (`console.operators`).

use reqwest::Method;
use serde_json::json;

use crate::util::{
    app::{Application, TestApp},
    caller::{Caller, send},
    internals::{Rule, TokenScope, rules},
    items::{item, user},
    paths::filled,
};

const REFUSED: &str = "this operation is for operators: console.operators lists them";

async fn start() -> (TestApp, Application) {
    let app = TestApp::start_with(|config| {
        config.console.operators = vec!["mei@acme".to_owned(), "omar@other".to_owned()];
    })
    .await;
    let acme = app.tenant("acme").await;
    let other = app.tenant("other").await;
    app.sync(&acme.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
    app.sync(&other.caller, "users", &json!([user("mei", "")])).await;
    (app, acme)
}

fn operations() -> impl Iterator<Item = &'static Rule> {
    rules().filter(|rule| matches!(rule.scope, Some(TokenScope::Admin | TokenScope::Tenants)))
}

async fn call(session: &Caller, rule: &Rule) -> crate::util::answer::Answer {
    let method: Method = rule.method.parse().unwrap();
    send(session.request(method, &filled(rule.path))).await
}

#[tokio::test]
async fn operations_are_refused_to_other_people() {
    let (app, _) = start().await;
    let (mei, omar) = (app.web_session("mei").await, app.web_session("omar").await);
    let namesake = app.web_session_at("other", "mei").await;
    assert_eq!(mei.info().await["operator"], true);
    assert_eq!(omar.info().await["operator"], false);
    assert_eq!(namesake.info().await["operator"], false);
    assert!(operations().count() > 25);
    for rule in operations() {
        for session in [&omar, &namesake, &omar.on("other")] {
            call(session, rule).await.fails_at(rule.path, 403, REFUSED);
        }
        let bare = mei.bare_request(rule.method.parse().unwrap(), &filled(rule.path));
        send(bare).await.fails_at(rule.path, 401, "a token is needed");
        let answer = call(&mei, rule).await;
        assert!(
            ![401, 403, 405, 500].contains(&answer.status),
            "{} {}: {}",
            rule.method,
            rule.path,
            answer.text
        );
    }
}

/// Outside operations an operator is an ordinary person.
#[tokio::test]
async fn operator_searches_as_an_ordinary_person() {
    let (app, acme) = start().await;
    let mut private = item("private", "harbour", 2);
    private["visibility"] = json!({"users": ["omar"]});
    app.put_contents(&acme.caller, "article", &[item("public", "harbour", 1), private]).await;
    let search = json!({"keyword": "harbour", "moduleId": "article"});
    let (mei, omar) = (app.web_session("mei").await, app.web_session("omar").await);
    assert_eq!(mei.post("/contents/search", &search).await.ok().ids(), ["public"]);
    assert_eq!(omar.post("/contents/search", &search).await.ok().ids(), ["private", "public"]);
    mei.on("other").post("/contents/search", &search).await.fails(403, "indicated-e-code");
    mei.put("/v1/contents/article", &json!([])).await.fails(403, "application token");
    mei.get("/v1/users/sync").await.fails(403, "application token");
    // The scopes of the pages' application bound the session.
    mei.get("/v1/favorites").await.fails(403, "scope collab");
    mei.post("/v1/directories/create", &json!({"name": "Charts"})).await.ok();
}

#[tokio::test]
async fn operator_acts_on_any_tenant_and_is_audited_by_name() {
    let (app, _) = start().await;
    let mei = app.web_session("mei").await;
    let module = json!({"id": "m", "name": "Charts", "code": "charts", "orderNo": 1, "type": 101, "sources": ["builtin:article"]});
    mei.on("other").post("/admin/v1/modules", &module).await.ok();
    let of = async |tenant: &str| {
        let modules = mei.on(tenant).get("/admin/v1/modules").await.ok();
        modules.ids().contains(&"m")
    };
    assert_eq!((of("acme").await, of("other").await), (false, true));
    mei.on("other").delete("/admin/v1/modules/m").await.ok();
    assert!(!of("other").await);
    mei.on("nobody").get("/admin/v1/modules").await.fails(403, "indicated-e-code");
    let registered = mei.post("/v1/enterprises/register", &json!({"enterpriseName": "New"})).await.ok();
    let code = registered.data().as_str().unwrap().to_owned();
    let audit = mei.on(&code).get("/admin/v1/audit").await.ok();
    let event = &audit.items()[0];
    assert_eq!(
        (&event["action"], &event["clientId"], &event["userId"]),
        (&json!("register"), &json!("operator:mei@acme"), &json!("mei")),
        "{event}"
    );
}

/// Otherwise the tenant could not be unfrozen.
#[tokio::test]
async fn operator_of_a_frozen_tenant_still_operates() {
    let (app, _) = start().await;
    let (mei, omar) = (app.web_session("mei").await, app.web_session("omar").await);
    app.operator().await.caller.post_empty("/v1/enterprises/freeze?eCode=acme").await.ok();
    omar.post_empty("/modules").await.fails(403, "tenant is frozen");
    mei.post_empty("/modules").await.fails(403, "tenant is frozen");
    mei.get("/admin/v1/modules").await.fails(403, "tenant is frozen");
    mei.post_empty("/v1/enterprises/unfreeze?eCode=acme").await.ok();
    omar.post_empty("/modules").await.ok();
}

/// The person has not authenticated as that operator.
#[tokio::test]
async fn person_given_an_operators_login_is_signed_out() {
    let (app, acme) = start().await;
    let (mei, omar) = (app.web_session("mei").await, app.web_session("omar").await);
    mei.get("/admin/v1/modules").await.ok();
    omar.get("/admin/v1/modules").await.fails(403, REFUSED);
    let swapped = json!([{"userId": "mei", "loginId": "mei.chen"}, {"userId": "omar", "loginId": "mei"}]);
    app.sync(&acme.caller, "users", &swapped).await;
    omar.get("/admin/v1/modules").await.fails(401, "the session has ended; sign in again");
    for session in [&mei, &omar] {
        session.assert_ended().await;
    }
    // A new sign-in makes them an operator, audited by their own id.
    app.set_password("omar", "correct horse").await;
    let answer = app.sign_in_to_pages(&mut app.browser(), "acme", "mei", "/").await;
    let omar = app.session_of(&answer);
    let registered = omar.post("/v1/enterprises/register", &json!({"enterpriseName": "New"})).await.ok();
    let audit = omar.on(registered.data().as_str().unwrap()).get("/admin/v1/audit").await.ok();
    let event = &audit.items()[0];
    assert_eq!(
        (&event["clientId"], &event["userId"]),
        (&json!("operator:mei@acme"), &json!("omar")),
        "{event}"
    );
}

/// The login may change hands between password and session.
#[tokio::test]
async fn sign_in_is_bound_to_the_typed_login() {
    let (app, acme) = start().await;
    app.set_password("omar", "correct horse").await;
    let mut browser = app.browser();
    let back =
        browser.sign_in_at(&format!("{}/session/start?tenant=acme", app.base), "omar", "correct horse").await;
    let swapped = json!([{"userId": "mei", "loginId": "mei.chen"}, {"userId": "omar", "loginId": "mei"}]);
    app.sync(&acme.caller, "users", &swapped).await;
    app.session_of(&browser.follow(back.as_str()).await).assert_ended().await;
}

/// Nobody else might be able to undo it.
#[tokio::test]
async fn operator_cannot_lock_themselves_out() {
    let (app, acme) = start().await;
    let mei = app.web_session("mei").await;
    let path = format!("/admin/v1/applications/search-page-{}", acme.tenant_id);
    mei.put(&path, &json!({"disabled": true})).await.fails(409, "signed in by");
    mei.delete(&path).await.fails(409, "signed in by");
    mei.put(&path, &json!({"scopes": ["files"]})).await.ok();
    for fate in ["freeze", "delete"] {
        let path = format!("/v1/enterprises/{fate}?eCode=acme");
        mei.post_empty(&path).await.fails(409, "signed in to");
        mei.on("other").post_empty(&path).await.fails(409, "signed in to");
    }
    mei.get("/admin/v1/modules").await.ok();
    mei.post_empty("/v1/enterprises/freeze?eCode=other").await.ok();
    mei.post_empty("/v1/enterprises/delete?eCode=other").await.ok();
    let operator = app.operator().await.caller;
    operator.on("acme").put(&path, &json!({"disabled": true})).await.ok();
    mei.assert_ended().await;
    operator.post_empty("/v1/enterprises/delete?eCode=acme").await.ok();
}

/// Writes repeat both checks of a session.
#[tokio::test]
async fn queued_write_rechecks_the_session() {
    use std::sync::Arc;

    use crate::util::internals::{Caller, SessionId, SessionRole};

    let (app, acme) = start().await;
    for change in [
        "DELETE FROM sessions",
        "UPDATE sessions SET login_id = 'other'",
        "UPDATE users SET epoch = epoch + 1",
        "UPDATE users SET status = 0",
        "UPDATE sessions SET created_at = 0",
        "UPDATE applications SET is_disabled = TRUE WHERE client_id LIKE 'search-page-%'",
        "UPDATE applications SET epoch = epoch + 1 WHERE client_id LIKE 'search-page-%'",
        "DELETE FROM applications WHERE client_id LIKE 'search-page-%'",
        "UPDATE users SET login_id = 'other' WHERE tenant_id = (SELECT id FROM tenants WHERE code = 'acme') AND user_id = 'mei'",
    ] {
        let session = app.web_session("mei").await;
        let id = SessionId::of(session.cookie.split_once('=').unwrap().1).unwrap();
        let mut callers = Vec::new();
        for role in [SessionRole::Person, SessionRole::Operator] {
            callers.push(app.app.authenticator.authenticate_session(id, role, None).await.unwrap());
        }
        let confirm = async |caller: &Arc<Caller>| {
            let caller = Arc::clone(caller);
            let job = app
                .app
                .store
                .write(move |transaction| Box::pin(async move { caller.confirm(transaction).await }));
            job.await.map_err(|error| error.message)
        };
        for caller in &callers {
            assert_eq!(confirm(caller).await, Ok(()));
        }
        app.execute(change).await;
        for caller in &callers {
            assert_eq!(
                confirm(caller).await,
                Err("the session has ended; sign in again".to_owned()),
                "{change}"
            );
        }
        app.execute("UPDATE users SET status = 1, login_id = user_id").await;
        app.execute("DELETE FROM applications WHERE client_id LIKE 'search-page-%'").await;
        app.forget_callers(acme.tenant_id).await;
    }
}
