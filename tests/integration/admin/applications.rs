//! `/admin/v1/applications`.
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::{Caller, send},
    internals::now_millis,
};

const PATH: &str = "/admin/v1/applications";
const BACK: &str = "https://app.example/back";

async fn ask(app: &TestApp, client_id: &str, secret: &str) -> Answer {
    let request = app.http.post(format!("{}/oauth2/token", app.base));
    let request = request.form(&[("grant_type", "client_credentials")]);
    send(request.basic_auth(client_id, Some(secret))).await
}

async fn token(app: &TestApp, client_id: &str, secret: &str) -> Caller {
    let answer = ask(app, client_id, secret).await;
    app.caller(answer.body["access_token"].as_str().unwrap_or_else(|| panic!("no token: {}", answer.text)))
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_else(|| panic!("no {field}: {object}"))
}

async fn create(operator: &Caller, form: Value) -> Value {
    operator.post(PATH, &form).await.ok().body["data"].clone()
}

#[tokio::test]
async fn application_is_registered_shown_and_removed() {
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await.caller.on("acme");
    let form = json!({
        "kind": "application", "name": "Portal", "scopes": ["contents:read", "files"],
        "redirectUris": ["https://portal.example/back"],
    });
    let created = create(&operator, form).await;
    let (id, secret) = (text(&created, "clientId"), text(&created, "clientSecret"));
    assert!(!text(&created, "callbackKey").is_empty());
    let mut expected = json!({
        "clientId": id, "tenant": "acme", "kind": "application", "name": "Portal", "bound": [],
        "scopes": ["contents:read", "files"], "disabled": false,
        "redirectUris": ["https://portal.example/back"], "public": false,
        "createdAt": created["createdAt"], "lastUsedAt": null, "previousSecretUntil": null,
    });
    let path = format!("{PATH}/{id}");
    assert_eq!(operator.get(&path).await.ok().body["data"], expected);
    let caller = token(&app, id, secret).await;
    caller.post_empty("/modules").await.ok();

    let used = operator.get(&path).await.ok().body["data"]["lastUsedAt"].clone();
    assert!(used.as_i64().unwrap() >= created["createdAt"].as_i64().unwrap());
    expected["lastUsedAt"] = used;
    let list = operator.get(PATH).await.ok();
    assert_eq!((list.items().len(), &list.items()[1]), (2, &expected), "{}", list.text);
    assert_eq!(list.items()[0]["clientId"], acme.client_id);
    assert!(!list.text.contains(secret) && !list.text.contains("argon"), "{}", list.text);

    operator.delete(&path).await.ok();
    caller.post_empty("/modules").await.fails(401, "no longer exists");
    assert_eq!(ask(&app, id, secret).await.status, 401);
    operator.get(&path).await.fails(404, "clientId");
    operator.put(&path, &json!({})).await.fails(404, "clientId");
    operator.delete(&path).await.fails(404, "clientId");
    operator.post(&format!("{path}/secret"), &json!({})).await.fails(404, "clientId");
}

#[tokio::test]
async fn invalid_application_fields_are_refused_by_name() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let refused = [
        (json!({}), "kind"),
        (json!({"kind": "robot"}), "kind"),
        (json!({"kind": "application", "name": "x".repeat(257)}), "name"),
        (json!({"kind": "application", "scopes": ["everything"]}), "scopes[0]"),
        (json!({"kind": "application", "scopes": ["tenants"]}), "scopes: an application of kind application"),
        (json!({"kind": "application", "scopes": ["admin"]}), "admin"),
        (json!({"kind": "domain", "scopes": ["admin"]}), "admin"),
        (json!({"kind": "application", "bound": ["operations"]}), "bound"),
        (json!({"kind": "domain", "bound": ["a b"]}), "bound[0]"),
        (json!({"kind": "domain", "bound": ["operations", "nobody"]}), "bound[1]: there is no tenant"),
        (json!({"kind": "domain", "bound": ["operations", "operations"]}), "bound[1]"),
        (json!({"kind": "application", "redirectUris": ["http://app.example/"]}), "redirectUris[0]"),
        (json!({"kind": "application", "redirectUris": vec!["https://a.example/"; 21]}), "redirectUris"),
        (json!({"kind": "domain", "public": true, "redirectUris": [BACK]}), "public"),
        (json!({"kind": "application", "public": true}), "redirectUris"),
        (
            json!({"kind": "application", "public": true, "redirectUris": [BACK], "scopes": ["act-as-user"]}),
            "act-as-user",
        ),
        (json!({"kind": "application", "disabled": 1}), "disabled"),
    ];
    for (form, field) in refused {
        operator.post(PATH, &form).await.fails(400, field);
    }
    assert_eq!(operator.get(PATH).await.ok().total(), 1);
    let created = create(&operator, json!({"kind": "application"})).await;
    let scopes: Vec<&str> =
        created["scopes"].as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect();
    assert_eq!(scopes.len(), 7);
    assert!(!scopes.contains(&"act-as-user") && !scopes.contains(&"tenants") && !scopes.contains(&"admin"));
    let id = text(&created, "clientId");
    for (form, field) in [
        (json!({"kind": "domain"}), "kind"),
        (json!({"public": true}), "public"),
        (json!({"scopes": ["tenants"]}), "tenants"),
        (json!({"redirectUris": ["javascript:alert(1)"]}), "redirectUris[0]"),
    ] {
        operator.put(&format!("{PATH}/{id}"), &form).await.fails(400, field);
    }
}

#[tokio::test]
async fn scope_change_applies_to_issued_tokens_at_once() {
    let app = TestApp::start().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    let operator = app.operator().await.caller.on("acme");
    let form = json!({"kind": "domain", "name": "Hub", "scopes": ["contents:read", "contents:write"]});
    let created = create(&operator, form).await;
    let path = format!("{PATH}/{}", text(&created, "clientId"));
    let caller = token(&app, text(&created, "clientId"), text(&created, "clientSecret")).await;

    caller.on("other").post_empty("/modules").await.fails(403, "indicated-e-code");
    operator.put(&path, &json!({"bound": ["other"]})).await.ok();
    caller.on("other").post_empty("/modules").await.ok();
    operator.put(&path, &json!({"bound": []})).await.ok();
    caller.on("other").post_empty("/modules").await.fails(403, "indicated-e-code");

    caller.put("/v1/contents/article", &json!([])).await.ok();
    let changed = operator.put(&path, &json!({"scopes": ["contents:read"], "bound": null})).await.ok();
    assert_eq!(changed.body["data"]["name"], "Hub");
    caller.put("/v1/contents/article", &json!([])).await.fails(403, "contents:write");
    caller.post_empty("/modules").await.ok();
    drop((acme, other));
}

#[tokio::test]
async fn disabling_an_application_revokes_its_tokens_for_good() {
    let (app, acme, [mei]) = TestApp::start_with_people(["mei"]).await;
    mei.post_empty("/modules").await.ok();
    let operator = app.operator().await.caller.on("acme");
    let path = format!("{PATH}/{}", acme.client_id);
    let disabled = operator.put(&path, &json!({"disabled": true})).await.ok();
    assert_eq!(disabled.body["data"]["disabled"], true);
    for caller in [&acme.caller, &mei] {
        caller.post_empty("/modules").await.fails(401, "revoked");
    }
    let (refused, unknown) =
        (ask(&app, &acme.client_id, acme.secret()).await, ask(&app, "nobody", acme.secret()).await);
    assert_eq!((refused.status, &refused.body), (401, &unknown.body));

    operator.put(&path, &json!({"disabled": false})).await.ok();
    for caller in [&acme.caller, &mei] {
        caller.post_empty("/modules").await.fails(401, "revoked");
    }
    token(&app, &acme.client_id, acme.secret()).await.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn operator_cannot_disable_or_remove_its_own_application() {
    let app = TestApp::start().await;
    let operator = app.operator().await;
    let path = format!("{PATH}/{}", operator.client_id);
    operator.caller.delete(&path).await.fails(409, "itself");
    operator.caller.put(&path, &json!({"disabled": true})).await.fails(409, "itself");
    operator.caller.put(&path, &json!({"scopes": ["contents:read"]})).await.fails(409, "admin");
    operator.caller.put(&path, &json!({"name": "Ops"})).await.ok();
    let second = app.operator().await;
    second.caller.delete(&path).await.ok();
    operator.caller.get(PATH).await.fails(401, "no longer exists");
}

#[tokio::test]
async fn rotated_secret_overlaps_with_the_previous_one() {
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await.caller.on("acme");
    let path = format!("{PATH}/{}/secret", acme.client_id);
    for (form, field) in [
        (json!({"overlapSeconds": -1}), "overlapSeconds"),
        (json!({"overlapSeconds": 2_592_001}), "overlapSeconds"),
    ] {
        operator.post(&path, &form).await.fails(400, field);
    }
    let is_taken = async |secret: &str| ask(&app, &acme.client_id, secret).await.status == 200;
    let rotated = operator.post_empty(&path).await.ok().body["data"].clone();
    let second = text(&rotated, "clientSecret");
    let day = i64::try_from(std::time::Duration::from_hours(23).as_millis()).unwrap();
    assert!(rotated["previousSecretUntil"].as_i64().unwrap() > now_millis() + day);
    let shown = operator.get(&format!("{PATH}/{}", acme.client_id)).await.ok();
    assert_eq!(shown.body["data"]["previousSecretUntil"], rotated["previousSecretUntil"]);
    assert!(is_taken(acme.secret()).await && is_taken(second).await && !is_taken("wrong").await);
    acme.caller.post_empty("/modules").await.ok();

    // A retry after a lost response must not end the secret in use.
    operator.post_empty(&path).await.fails(409, "overlapSeconds 0");
    assert!(is_taken(acme.secret()).await && is_taken(second).await);

    app.execute("UPDATE applications SET previous_secret_until = 1").await;
    assert!(!is_taken(acme.secret()).await && is_taken(second).await);

    let rotated = operator.post(&path, &json!({"overlapSeconds": 0})).await.ok().body["data"].clone();
    assert!(rotated["previousSecretUntil"].is_null());
    assert!(!is_taken(second).await && is_taken(text(&rotated, "clientSecret")).await);
    acme.caller.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn public_application_has_no_secret() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let created =
        create(&operator, json!({"kind": "application", "public": true, "redirectUris": [BACK]})).await;
    assert_eq!((&created["public"], &created["clientSecret"]), (&json!(true), &Value::Null));
    let id = text(&created, "clientId");
    operator.post(&format!("{PATH}/{id}/secret"), &json!({})).await.fails(409, "public");
}

#[tokio::test]
async fn applications_of_other_tenants_are_not_found() {
    let app = TestApp::start().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    let operator = app.operator().await.caller;
    let path = format!("{PATH}/{}", other.client_id);
    let on_acme = operator.on("acme");
    let list = on_acme.get(PATH).await.ok();
    assert_eq!((list.total(), &list.items()[0]["clientId"]), (1, &json!(acme.client_id)));
    on_acme.get(&path).await.fails(404, "clientId");
    on_acme.put(&path, &json!({"disabled": true})).await.fails(404, "clientId");
    on_acme.delete(&path).await.fails(404, "clientId");
    on_acme.post_empty(&format!("{path}/secret")).await.fails(404, "clientId");
    operator.on("other").get(&path).await.ok();
    other.caller.post_empty("/modules").await.ok();
}

#[tokio::test]
async fn last_use_survives_a_restart() {
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await;
    acme.caller.post_empty("/modules").await.ok();
    let path = format!("{PATH}/{}", acme.client_id);
    let shown = operator.caller.on("acme").get(&path).await.ok().body["data"]["lastUsedAt"].clone();
    assert!(shown.is_i64());
    let written = async || {
        let text = "SELECT last_used_at FROM applications WHERE client_id = ?";
        app.row::<(Option<i64>,)>(text, vec![acme.client_id.as_str().into()]).await.0
    };
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!(written().await, shown.as_i64());
    acme.caller.post_empty("/modules").await.ok();
    let shown = operator.caller.on("acme").get(&path).await.ok().body["data"]["lastUsedAt"].clone();
    let token = operator.caller.token.clone();
    drop((acme, operator));
    let app = app.restart().await;
    let again = app.caller(&token).on("acme").get(&path).await.ok().body["data"]["lastUsedAt"].clone();
    assert_eq!(again, shown);
}
