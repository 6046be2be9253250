//! `PUT /v1/users/sync` (book: reference/directory.md).

use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::{LOGIN_ID, TestApp, USER_ID},
    caller::Caller,
    items::{department, user},
};

async fn sync(caller: &Caller, rows: Value) -> Answer {
    caller.put("/v1/users/sync", &rows).await.ok()
}

async fn is_there(app: &TestApp, application: &crate::util::app::Application, login: &str) -> bool {
    app.exchange(application, LOGIN_ID, login).await.status == 200
}

#[tokio::test]
async fn invalid_rows_fail_alone_and_name_their_field() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "organizations", &json!([department("d1", "")])).await;
    for (change, field) in [
        (json!({"name": null}), "name:"),
        (json!({"name": ""}), "name:"),
        (json!({"name": 5}), "name:"),
        (json!({"sex": null}), "sex:"),
        (json!({"sex": 3}), "sex:"),
        (json!({"sex": "1"}), "sex:"),
        (json!({"status": 2}), "status:"),
        (json!({"isDeleted": "yes"}), "isDeleted:"),
        (json!({"orgId": "nowhere"}), "orgId:"),
        (json!({"loginId": ""}), "loginId:"),
        (json!({"loginId": "good-1"}), "loginId:"),
        (json!({"loginId": "a\u{1}b"}), "loginId:"),
    ] {
        let mut bad = user("bad", "d1");
        bad.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let rows = json!([user("good-1", "d1"), bad, user("good-2", "d1")]);
        sync(&acme.caller, rows).await.assert_only_failure("bad", field);
        assert!(is_there(&app, &acme, "good-1").await && is_there(&app, &acme, "good-2").await);
        assert!(!is_there(&app, &acme, "bad").await, "{change}");
    }
    let no_id = sync(&acme.caller, json!([{"loginId": "x", "name": "X", "sex": 1}, 5, null, "text"])).await;
    assert_eq!(no_id.ids(), ["", "", "", ""]);
}

#[tokio::test]
async fn absent_and_null_keep_and_empty_text_clears() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "organizations", &json!([department("d1", "")])).await;
    let only_d1 = json!({"id": "1", "title": "harbour", "visibility": {"departments": ["d1"]}});
    app.put_contents(&acme.caller, "article", &[only_d1]).await;
    let with_mobile =
        json!([{"userId": "u", "loginId": "mei", "mobile": "139", "name": "Mei", "sex": 2, "orgId": "d1"}]);
    app.sync(&acme.caller, "users", &with_mobile).await;
    let mei = app.user(&acme, "mei").await;

    // Unknown fields are ignored.
    app.sync(&acme.caller, "users", &json!([{"userId": "u", "orgId": null, "shoeSize": 38}])).await;
    assert_eq!(mei.find("article", "harbour").await, ["1"], "null is no change");
    app.sync(&acme.caller, "users", &json!([{"userId": "u", "orgId": ""}])).await;
    assert_eq!(mei.find("article", "harbour").await, [""; 0], "an empty text is null");
    app.sync(&acme.caller, "users", &json!([{"userId": "u", "loginId": ""}])).await;
    assert!(is_there(&app, &acme, "139").await, "without a login the mobile number stands in");
    assert!(!is_there(&app, &acme, "mei").await);
    let cleared = sync(&acme.caller, json!([{"userId": "u", "mobile": ""}])).await;
    cleared.assert_only_failure("u", "loginId:");
    assert!(is_there(&app, &acme, "139").await);
}

#[tokio::test]
async fn logins_are_unique_and_can_change_hands() {
    let (app, acme) = TestApp::start_with_acme().await;
    let caller = &acme.caller;
    app.sync(caller, "users", &json!([user("a", ""), user("b", "")])).await;
    // The first row with a login in a call wins.
    let twice = json!([user("c", ""), {"userId": "d", "loginId": "c", "name": "D", "sex": 1}]);
    sync(caller, twice).await.assert_only_failure("d", "loginId:");
    let swap = json!([{"userId": "a", "loginId": "x"}, {"userId": "b", "loginId": "a"}, {"userId": "a", "loginId": "b"}]);
    app.sync(caller, "users", &swap).await;
    let id_behind = async |login: &str| {
        use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
        let token = app.user(&acme, login).await.token;
        let claims = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
        serde_json::from_slice::<Value>(&claims).unwrap()["sub"].clone()
    };
    assert_eq!((id_behind("a").await, id_behind("b").await), ("b".into(), "a".into()));
}

#[tokio::test]
async fn login_taken_meanwhile_fails_only_its_row() {
    let (app, acme) = TestApp::start_with_acme().await;
    let caller = &acme.caller;
    app.sync(
        caller,
        "users",
        &json!([{"userId": "old", "loginId": "lin", "mobile": "138", "name": "Lin", "sex": 1}]),
    )
    .await;
    app.sync(caller, "users", &json!([{"userId": "old", "isDeleted": true}])).await;
    app.sync(caller, "users", &json!([{"userId": "new", "loginId": "lin", "name": "Lin 2", "sex": 1}])).await;
    let back = json!([user("good", ""), {"userId": "old", "isDeleted": false}]);
    sync(caller, back).await.assert_only_failure("old", "loginId:");
    assert!(is_there(&app, &acme, "good").await);

    app.sync(caller, "users", &json!([{"userId": "other", "loginId": "138", "name": "O", "sex": 1}])).await;
    app.sync(
        caller,
        "users",
        &json!([{"userId": "third", "loginId": "third", "mobile": "138", "name": "T", "sex": 1}]),
    )
    .await;
    sync(caller, json!([{"userId": "third", "loginId": ""}])).await.assert_only_failure("third", "loginId:");
}

/// Book: explanation/visibility.md.
#[tokio::test]
async fn ids_and_logins_of_another_tenant_are_free() {
    let app = TestApp::start().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    let platform_id = "0c6a3ad2-2f5e-4f0c-9d9e-0d5b7a3f0a11";
    let people =
        json!([{"userId": "u", "loginId": "mei", "name": "Mei", "sex": 2, "platformUserId": platform_id}]);
    let departments = json!([{"orgId": "d", "name": "D", "platformOrgId": platform_id}]);
    for tenant in [&acme, &other] {
        app.sync(&tenant.caller, "users", &people).await;
        app.sync(&tenant.caller, "organizations", &departments).await;
        assert!(is_there(&app, tenant, "mei").await);
    }
    let same = json!([{"userId": "v", "loginId": "v", "name": "V", "sex": 2, "platformUserId": platform_id}]);
    sync(&acme.caller, same).await.assert_only_failure("v", "platformUserId:");
}

#[tokio::test]
async fn person_of_a_deleted_department_can_be_changed_and_deleted() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "organizations", &json!([department("d1", "")])).await;
    app.sync(&acme.caller, "users", &json!([user("mei", "d1"), user("omar", "d1")])).await;
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "d1", "isDeleted": true}])).await;
    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "name": "Mei Chen"}])).await;
    app.sync(&acme.caller, "users", &json!([{"userId": "omar", "orgId": "d1", "isDeleted": true}])).await;
    assert!(is_there(&app, &acme, "mei").await);
    assert_eq!(app.exchange(&acme, USER_ID, "omar").await.status, 400);
    sync(&acme.caller, json!([user("new", "d1")])).await.assert_only_failure("new", "orgId:");
}
