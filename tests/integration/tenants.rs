//! `/v1/enterprises/…`: registering, freezing and deleting tenants.

use serde_json::{Value, json};
use std::collections::HashSet;
use trawl::registry::modules::DEFAULT_MODULES;

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::{Caller, send},
    eventually,
    internals::{Kind, TokenScope},
    items::{department, item, todo, user},
};

async fn domain(app: &TestApp, home: &str, bound: &[&str]) -> Application {
    let scopes = vec![TokenScope::Tenants, TokenScope::ContentsRead, TokenScope::ContentsWrite];
    app.register(home, Kind::Domain, bound, scopes).await
}

async fn register(caller: &Caller, body: Value) -> String {
    let answer = caller.post("/v1/enterprises/register", &body).await.ok();
    answer.body["data"].as_str().unwrap().to_owned()
}

async fn decide(caller: &Caller, fate: &str, code: &str) -> Answer {
    caller.post_empty(&format!("/v1/enterprises/{fate}?eCode={code}")).await
}

async fn decided(caller: &Caller, fate: &str, code: &str) {
    assert_eq!(decide(caller, fate, code).await.ok().body["data"], code);
}

#[tokio::test]
async fn new_enterprise_has_built_in_modules_and_its_own_code() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let mut codes = HashSet::new();
    for _ in 0..20 {
        let code = register(&operator, json!({"enterpriseName": "Acme"})).await;
        assert_eq!(code.len(), 8, "{code}");
        assert!(code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()), "{code}");
        assert!(!code.contains(['0', 'o', '1', 'l', 'i']), "{code}");
        assert!(codes.insert(code.clone()), "{code} was issued twice");
        let modules = operator.on(&code).post_empty("/modules").await.ok();
        assert_eq!(modules.items().len(), DEFAULT_MODULES.len());
    }
}

#[tokio::test]
async fn code_of_an_enterprise_is_chosen_by_operators_only() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let form = json!({"enterpriseName": "Acme", "eCode": "acme-2.de"});
    assert_eq!(register(&operator, form.clone()).await, "acme-2.de");
    assert_eq!(
        operator.on("acme-2.de").post_empty("/modules").await.ok().items().len(),
        DEFAULT_MODULES.len()
    );
    let path = "/v1/enterprises/register";
    operator.post(path, &form).await.fails(409, "eCode: is taken");
    for wrong in ["a b", "a/1", "ä", &"x".repeat(65)] {
        let form = json!({"enterpriseName": "Acme", "eCode": wrong});
        operator.post(path, &form).await.fails(400, "eCode: ");
    }
    // A taken code and a free one are refused alike.
    let domain = domain(&app, "home", &[]).await.caller;
    for code in ["acme-2.de", "free"] {
        let form = json!({"enterpriseName": "Acme", "eCode": code});
        domain.post(path, &form).await.fails(403, "eCode: only an admin application may choose it");
    }
    assert_eq!(register(&domain, json!({"enterpriseName": "Acme", "eCode": ""})).await.len(), 8);
    decided(&operator, "delete", "acme-2.de").await;
    assert_eq!(register(&operator, form).await, "acme-2.de", "the code is free again");
}

#[tokio::test]
async fn invalid_enterprise_fields_are_refused_by_name() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let long = "x".repeat(513);
    for (body, field) in [
        (json!({}), "enterpriseName"),
        (json!({"enterpriseName": " "}), "enterpriseName"),
        (json!({"enterpriseName": null}), "enterpriseName"),
        (json!({"enterpriseName": 5}), "enterpriseName"),
        (json!({"enterpriseName": long}), "enterpriseName"),
        (json!({"enterpriseName": "a\nb"}), "enterpriseName"),
        (json!({"enterpriseName": "a", "contactPhone": long}), "contactPhone"),
        (
            json!({"enterpriseName": "a", "enterpriseIntroduction": "x".repeat(16_385)}),
            "enterpriseIntroduction",
        ),
        (json!({"enterpriseName": "a", "isAllowManage": "yes"}), "isAllowManage"),
        (json!([]), "object"),
    ] {
        operator.post("/v1/enterprises/register", &body).await.fails(400, field);
    }
    for fate in ["delete", "freeze", "unfreeze"] {
        let path = format!("/v1/enterprises/{fate}");
        operator.post_empty(&path).await.fails(400, "eCode");
        operator.post_empty(&format!("{path}?eCode=")).await.fails(400, "eCode");
        operator.post_empty(&format!("{path}?eCode=a&eCode=b")).await.fails(400, "eCode");
        decide(&operator, fate, "nobody").await.fails(404, "eCode");
    }
}

/// Book: how-to/operate.md.
#[tokio::test]
async fn domain_application_manages_its_own_set() {
    let app = TestApp::start().await;
    app.tenant("bound").await;
    app.tenant("stranger").await;
    let domain = domain(&app, "home", &["bound"]).await.caller;
    let code = register(&domain, json!({"enterpriseName": "Acme"})).await;
    app.put_contents(&domain.on(&code), "article", &[item("1", "harbour", 1)]).await;
    assert_eq!(domain.on(&code).find("article", "harbour").await, ["1"]);
    for code in [code.as_str(), "bound"] {
        for fate in ["freeze", "unfreeze", "delete"] {
            decided(&domain, fate, code).await;
        }
    }
    for fate in ["freeze", "unfreeze", "delete"] {
        let (there, not_there) =
            (decide(&domain, fate, "stranger").await, decide(&domain, fate, "nobody").await);
        assert_eq!(there.clone().fails(403, "eCode").message(), not_there.fails(403, "eCode").message());
    }
    // The header must name an own tenant and has no effect.
    let path = "/v1/enterprises/register";
    let body = json!({"enterpriseName": "Acme"});
    domain.on("stranger").post(path, &body).await.fails(403, "indicated-e-code");
    assert_ne!(register(&domain.on("home"), body).await, "home");
}

/// Book: how-to/operate.md, `isAllowManage`.
#[tokio::test]
async fn unmanageable_tenant_is_managed_by_its_registrar_only() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let owner = domain(&app, "home", &[]).await.caller;
    let code = register(&owner, json!({"enterpriseName": "Acme", "isAllowManage": false})).await;
    let other = domain(&app, "elsewhere", &[&code]).await.caller;
    for fate in ["freeze", "unfreeze", "delete"] {
        decide(&other, fate, &code).await.fails(403, "eCode");
    }
    other.on(&code).post_empty("/modules").await.fails(403, "indicated-e-code");
    owner.on(&code).post_empty("/modules").await.ok();
    decided(&owner, "freeze", &code).await;
    decided(&operator, "unfreeze", &code).await;

    let open = register(&owner, json!({"enterpriseName": "Open", "isAllowManage": true})).await;
    let third = domain(&app, "elsewhere", &[&open]).await.caller;
    third.on(&open).post_empty("/modules").await.ok();
    decided(&third, "delete", &open).await;
}

const FROZEN: &str = "tenant is frozen";

#[tokio::test]
async fn frozen_tenant_is_refused_and_unfreezing_restores_it() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let acme = app.tenant("acme").await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    app.put_contents(&acme.caller, "article", &[item("1", "harbour", 1)]).await;
    let mei = app.user(&acme, "mei").await;
    let domain = domain(&app, "home", &["acme"]).await.caller;
    let frozen_home =
        app.register("acme", Kind::Domain, &["home"], vec![TokenScope::ContentsRead]).await.caller;
    let callers = [&acme.caller, &mei, &domain.on("acme"), &operator.on("acme"), &frozen_home.on("home")];
    for caller in callers {
        caller.post_empty("/modules").await.ok();
    }

    decided(&operator, "freeze", "acme").await;
    decided(&operator, "freeze", "acme").await;
    for caller in callers {
        caller.post_empty("/modules").await.fails(403, FROZEN);
        let write = caller.put("/v1/contents/article", &json!([])).await;
        write.fails(403, FROZEN);
    }
    domain.post_empty("/modules").await.ok();
    let refused = app.grant(&acme, &[("grant_type", "client_credentials")]).await;
    assert_eq!((refused.status, refused.body["error"].as_str()), (400, Some("unauthorized_client")));
    assert_eq!(refused.body["error_description"], FROZEN);
    // An unauthenticated caller does not learn of the freeze.
    let request = app.http.post(format!("{}/oauth2/token", app.base));
    let wrong = request.form(&[("grant_type", "client_credentials")]).basic_auth(&acme.client_id, Some("x"));
    assert_eq!(send(wrong).await.status, 401);

    decided(&operator, "unfreeze", "acme").await;
    decided(&operator, "unfreeze", "acme").await;
    for caller in callers {
        caller.post_empty("/modules").await.ok();
    }
    assert_eq!(mei.find("article", "harbour").await, ["1"]);
    assert_eq!(app.grant(&acme, &[("grant_type", "client_credentials")]).await.status, 200);
}

#[tokio::test]
async fn operator_of_a_frozen_tenant_still_operates() {
    let app = TestApp::start().await;
    let operator = app.operator().await;
    let domain = domain(&app, "home", &[]).await.caller;
    let caller = &operator.caller;
    decided(caller, "freeze", "operations").await;
    caller.post_empty("/modules").await.fails(403, FROZEN);
    caller.get("/admin/v1/modules").await.fails(403, FROZEN);
    caller.get("/admin/v1/applications").await.ok();
    let answer = app.grant(&operator, &[("grant_type", "client_credentials")]).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    decided(&app.caller(answer.body["access_token"].as_str().unwrap()), "unfreeze", "operations").await;
    caller.post_empty("/modules").await.ok();

    decided(caller, "freeze", "home").await;
    decide(&domain, "unfreeze", "home").await.fails(403, FROZEN);
    domain.post("/v1/enterprises/register", &json!({"enterpriseName": "x"})).await.fails(403, FROZEN);
}

#[tokio::test]
async fn deleted_tenant_leaves_nothing_and_frees_its_code() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let acme = app.tenant("acme").await;
    app.sync(&acme.caller, "organizations", &json!([department("d1", "")])).await;
    app.sync(&acme.caller, "users", &json!([user("mei", "d1")])).await;
    let many: Vec<Value> = (0..600).map(|number| item(&number.to_string(), "harbour", number)).collect();
    app.put_contents(&acme.caller, "article", &many).await;
    acme.caller.post("/api/todo/create", &todo("1", "Sign", "mei")).await.ok();
    let mei = app.user(&acme, "mei").await;
    mei.post_empty("/modules").await.ok();
    let bound = domain(&app, "home", &["acme"]).await.caller;
    bound.on("acme").post_empty("/modules").await.ok();
    let vocabulary = json!({"neverCorrect": ["harbuor"]});
    operator.on("acme").put("/admin/v1/vocabulary", &vocabulary).await.ok();

    decided(&operator, "delete", "acme").await;
    for caller in [&acme.caller, &mei] {
        caller.post_empty("/modules").await.fails(401, "no longer exists");
    }
    assert_eq!(app.grant(&acme, &[("grant_type", "client_credentials")]).await.status, 401);
    decide(&operator, "delete", "acme").await.fails(404, "eCode");
    operator.on("acme").post_empty("/modules").await.fails(403, "indicated-e-code");

    // A new tenant with the code belongs to no other set.
    let again = app.tenant("acme").await;
    assert_ne!(again.tenant_id, acme.tenant_id);
    assert_eq!(again.caller.find("article", "harbour").await, [""; 0]);
    bound.on("acme").post_empty("/modules").await.fails(403, "indicated-e-code");
    decide(&bound, "freeze", "acme").await.fails(403, "eCode");

    let contents = format!("SELECT COUNT(*) AS rows FROM contents WHERE tenant_id = {}", acme.tenant_id);
    eventually("the removal of the rows", async || (app.number(&contents).await == 0).then_some(())).await;
    app.app.maintenance.make_round().await.unwrap();
    app.wait_for_index().await;
    for table in
        ["users", "organizations", "contents", "tasks", "applications", "search_modules", "vocabularies"]
    {
        let text = format!("SELECT COUNT(*) AS rows FROM {table} WHERE tenant_id = {}", acme.tenant_id);
        assert_eq!(app.number(&text).await, 0, "{table}");
    }
    let text = format!("SELECT COUNT(*) AS rows FROM tenants WHERE id = {}", acme.tenant_id);
    assert_eq!(app.number(&text).await, 0);
    again.caller.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn remaining_rows_are_unfindable_and_removed_after_start() {
    let (app, acme) = TestApp::start_with_acme().await;
    let other = app.tenant("other").await;
    app.put_contents(&acme.caller, "article", &[item("1", "harbour", 1)]).await;
    app.put_contents(&other.caller, "article", &[item("2", "harbour", 1)]).await;
    // The process ended right after its answer.
    app.execute("UPDATE tenants SET removed_at = 1, code = code || '/' || id WHERE code = 'acme'").await;
    let tokens = [acme.caller.token.clone(), other.caller.token.clone()];
    let tenant_id = acme.tenant_id;
    drop((acme, other));

    let app = app.restart_rebuilding().await;
    app.caller(&tokens[0]).post_empty("/modules").await.fails(401, "no longer exists");
    let other = app.caller(&tokens[1]);
    let found = eventually("the index is filled", async || {
        let found = other.find("article", "harbour").await;
        (!found.is_empty()).then_some(found)
    });
    assert_eq!(found.await, ["2"]);
    let text = format!("SELECT COUNT(*) AS rows FROM contents WHERE tenant_id = {tenant_id}");
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!(app.number(&text).await, 0);
    assert_eq!(app.number("SELECT COUNT(*) AS rows FROM tenants WHERE removed_at IS NOT NULL").await, 0);
}

#[tokio::test]
async fn caller_may_delete_its_own_tenant() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let domain = domain(&app, "home", &[]).await.caller;
    for (caller, code) in [(&domain, "home"), (&operator, "operations")] {
        decided(caller, "delete", code).await;
        caller.post_empty("/modules").await.fails(401, "no longer exists");
    }
}
