//! Devices, and tokens bound to them.

use serde_json::json;

use crate::util::{
    answer::Answer,
    app::{Application, LOGIN_ID, TOKEN_EXCHANGE, TestApp},
    caller::Caller,
    items::user,
};

async fn start() -> (TestApp, Application) {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut mei = user("mei", "");
    mei["platformUserId"] = json!("platform-mei");
    mei["loginId"] = json!("mei@acme");
    app.sync(&acme.caller, "users", &json!([mei, user("omar", "")])).await;
    (app, acme)
}

async fn bind(caller: &Caller, id: &str, id_type: i64, device: &str) -> Answer {
    let body = json!({"id": id, "idType": id_type, "deviceId": device, "name": "A phone"});
    caller.post("/open/v1/devices/bind", &body).await
}

async fn devices(caller: &Caller, query: &str) -> Vec<String> {
    let answer = caller.get(&format!("/open/v1/devices{query}")).await.ok();
    answer.items().iter().map(|device| device["deviceId"].as_str().unwrap().to_owned()).collect()
}

async fn token_with(app: &TestApp, application: &Application, device: &str) -> Answer {
    let form = [
        ("grant_type", TOKEN_EXCHANGE),
        ("subject_token_type", LOGIN_ID),
        ("subject_token", "mei@acme"),
        ("device_id", device),
    ];
    app.grant(application, &form).await
}

#[tokio::test]
async fn devices_are_bound_listed_and_unbound_by_every_id_type() {
    let (_app, acme) = start().await;
    let bound = bind(&acme.caller, "platform-mei", 1, "phone").await.ok();
    assert_eq!((&bound.data()["deviceId"], &bound.data()["name"]), (&json!("phone"), &json!("A phone")));
    assert!(bound.data()["boundAt"].as_i64().unwrap() > 0);
    bind(&acme.caller, "mei@acme", 2, "tablet").await.ok();
    bind(&acme.caller, "mei", 3, "laptop").await.ok();
    let all = ["phone", "tablet", "laptop"];
    for query in
        ["?id=platform-mei", "?id=platform-mei&idType=1", "?id=mei%40acme&idType=2", "?id=mei&idType=3"]
    {
        assert_eq!(devices(&acme.caller, query).await, all, "{query}");
    }
    let again = json!({"id": "mei", "idType": 3, "deviceId": "phone", "name": "Work phone"});
    let again = acme.caller.post("/open/v1/devices/bind", &again).await.ok();
    assert_eq!(
        (&again.data()["name"], &again.data()["boundAt"]),
        (&json!("Work phone"), &bound.data()["boundAt"])
    );

    let one = json!({"id": "platform-mei", "deviceId": "tablet", "reason": 1});
    let answer = acme.caller.post("/open/v1/devices/unbind", &one).await.ok();
    assert!(answer.data().is_null());
    assert_eq!(devices(&acme.caller, "?id=mei&idType=3").await, ["phone", "laptop"]);
    acme.caller.post("/open/v1/devices/unbind", &one).await.ok();
    let all = json!([{"id": "mei", "idType": 3}, {"id": "omar", "idType": 3, "reason": 2}]);
    acme.caller.post("/open/v1/devices/unbind", &all).await.ok();
    assert_eq!(devices(&acme.caller, "?id=mei&idType=3").await, [] as [String; 0]);
}

#[tokio::test]
async fn invalid_fields_are_refused_by_name() {
    let (_app, acme) = start().await;
    for (body, field) in [
        (json!({"deviceId": "phone"}), "id"),
        (json!({"id": "mei", "idType": 3}), "deviceId"),
        (json!({"id": "mei", "idType": 3, "deviceId": ""}), "deviceId"),
        (json!({"id": "mei", "idType": 4, "deviceId": "phone"}), "idType"),
        (json!({"id": "mei", "idType": "3", "deviceId": "phone"}), "idType"),
        (json!({"id": "mei", "idType": 3, "deviceId": "phone", "name": "x".repeat(300)}), "name"),
        (json!({"id": 5, "deviceId": "phone"}), "id"),
        (json!(["mei"]), "object"),
    ] {
        acme.caller.post("/open/v1/devices/bind", &body).await.fails(400, field);
    }
    bind(&acme.caller, "nobody", 3, "phone").await.fails(404, "id");
    acme.caller.get("/open/v1/devices").await.fails(400, "id");
    acme.caller.get("/open/v1/devices?id=nobody").await.fails(404, "id");
    acme.caller.get("/open/v1/devices?id=mei&idType=9").await.fails(400, "idType");
    for (body, field) in [
        (json!({"id": "mei", "idType": 3, "reason": 3}), "reason"),
        (json!({"id": "mei", "idType": 3, "deviceId": ""}), "deviceId"),
        (json!([{"id": "mei", "idType": 3}, {"id": "mei", "idType": 0}]), "[1].idType"),
        (json!([[]]), "[0]."),
        (json!("mei"), "object"),
    ] {
        acme.caller.post("/open/v1/devices/unbind", &body).await.fails(400, field);
    }
}

#[tokio::test]
async fn device_list_is_unbound_all_or_nothing() {
    let (_app, acme) = start().await;
    bind(&acme.caller, "mei", 3, "phone").await.ok();
    let body = json!([{"id": "mei", "idType": 3}, {"id": "nobody", "idType": 3}]);
    acme.caller.post("/open/v1/devices/unbind", &body).await.fails(404, "id");
    assert_eq!(devices(&acme.caller, "?id=mei&idType=3").await, ["phone"]);
}

#[tokio::test]
async fn device_limit_of_a_person_is_enforced() {
    let (_app, acme) = start().await;
    for number in 0..100 {
        bind(&acme.caller, "mei", 3, &format!("device-{number}")).await.ok();
    }
    bind(&acme.caller, "mei", 3, "one-more").await.fails(409, "deviceId");
    bind(&acme.caller, "mei", 3, "device-7").await.ok();
}

#[tokio::test]
async fn unbinding_a_device_revokes_only_its_token() {
    let (app, acme) = start().await;
    let refused = token_with(&app, &acme, "phone").await;
    assert_eq!((refused.status, &refused.body["error"]), (400, &json!("invalid_request")));
    bind(&acme.caller, "mei", 3, "phone").await.ok();
    bind(&acme.caller, "mei", 3, "laptop").await.ok();
    let mut callers = Vec::new();
    for device in ["phone", "laptop"] {
        let answer = token_with(&app, &acme, device).await;
        callers.push(app.caller(answer.body["access_token"].as_str().unwrap()));
    }
    callers.push(app.user(&acme, "mei@acme").await);
    for caller in &callers {
        caller.post_empty("/modules").await.ok();
    }
    let unbind = json!({"id": "mei", "idType": 3, "deviceId": "phone"});
    acme.caller.post("/open/v1/devices/unbind", &unbind).await.ok();
    callers[0].post_empty("/modules").await.fails(401, "revoked");
    callers[1].post_empty("/modules").await.ok();
    callers[2].post_empty("/modules").await.ok();
    bind(&acme.caller, "mei", 3, "phone").await.ok();
    callers[0].post_empty("/modules").await.fails(401, "revoked");
    let app = app.restart().await;
    app.caller(&callers[0].token).post_empty("/modules").await.fails(401, "revoked");
    app.caller(&callers[1].token).post_empty("/modules").await.ok();
}

#[tokio::test]
async fn user_token_reaches_only_its_own_devices() {
    let (app, acme) = start().await;
    let mei = app.user(&acme, "mei@acme").await;
    bind(&acme.caller, "omar", 3, "omars-phone").await.ok();
    mei.post("/open/v1/devices/bind", &json!({"deviceId": "phone"})).await.ok();
    bind(&mei, "mei@acme", 2, "tablet").await.ok();
    assert_eq!(devices(&mei, "").await, ["phone", "tablet"]);
    assert_eq!(devices(&mei, "?id=mei&idType=3").await, ["phone", "tablet"]);
    // Unknown people and others are answered alike.
    let of_another = mei.get("/open/v1/devices?id=omar&idType=3").await.fails(403, "own devices");
    let of_nobody = mei.get("/open/v1/devices?id=nobody&idType=3").await.fails(403, "own devices");
    assert_eq!(of_another.message(), of_nobody.message());
    bind(&mei, "omar", 3, "mine").await.fails(403, "own devices");
    mei.post("/open/v1/devices/unbind", &json!({"id": "omar", "idType": 3})).await.fails(403, "own devices");
    assert_eq!(devices(&acme.caller, "?id=omar&idType=3").await, ["omars-phone"]);
    mei.post("/open/v1/devices/unbind", &json!({})).await.ok();
    assert_eq!(devices(&mei, "").await, [] as [String; 0]);
}

#[tokio::test]
async fn users_of_another_tenant_are_unknown() {
    let (app, acme) = start().await;
    bind(&acme.caller, "mei", 3, "phone").await.ok();
    let other = app.tenant("other").await;
    for (id, id_type) in [("platform-mei", 1), ("mei@acme", 2), ("mei", 3)] {
        bind(&other.caller, id, id_type, "theirs").await.fails(404, "id");
        let unbind = json!({"id": id, "idType": id_type});
        other.caller.post("/open/v1/devices/unbind", &unbind).await.fails(404, "id");
    }
    assert_eq!(devices(&acme.caller, "?id=mei&idType=3").await, ["phone"]);
}
