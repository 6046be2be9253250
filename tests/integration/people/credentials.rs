//! Logins, passwords and deputy departments.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::{LOGIN_ID, TestApp},
    caller::Caller,
    directory::{changed_at, read_all, read_one},
    items::{department, item, todo, user},
};

fn digest(byte: u8) -> String {
    BASE64_STANDARD.encode([byte; 16])
}

async fn sync(caller: &Caller, rows: Value) -> Answer {
    caller.put("/v1/users/sync", &rows).await.ok()
}

async fn kept_hash(app: &TestApp, user_id: &str) -> Option<String> {
    let text = "SELECT password_hash FROM users WHERE user_id = ?";
    app.row::<(Option<String>,)>(text, vec![user_id.into()]).await.0
}

#[tokio::test]
async fn password_is_stored_hashed_and_never_returned() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut mei = user("mei", "");
    mei["password"] = digest(1).into();
    let sent = acme.caller.put("/v1/users/sync", &json!([mei])).await.ok();
    assert_eq!(sent.items(), [] as [Value; 0]);
    let hash = kept_hash(&app, "mei").await.unwrap();
    assert!(hash.starts_with("$argon2id$"), "{hash}");
    let read = acme.caller.get("/v1/users/sync").await.ok();
    assert_eq!(read.items()[0]["password"], Value::Null);
    assert!(!read.text.contains(&digest(1)) && !read.text.contains("argon2"));

    let before = read_all(&acme.caller, "users").await;
    let hexadecimal = BASE64_STANDARD.encode("01".repeat(16));
    for same in [digest(1), hexadecimal] {
        app.sync(&acme.caller, "users", &json!([{"userId": "mei", "password": same}])).await;
        assert_eq!(kept_hash(&app, "mei").await.as_ref(), Some(&hash));
    }
    assert_eq!(read_all(&acme.caller, "users").await, before);
    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "password": null, "name": "M"}])).await;
    assert_eq!(kept_hash(&app, "mei").await, Some(hash));
    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "password": ""}])).await;
    assert_eq!(kept_hash(&app, "mei").await, None);
}

#[tokio::test]
async fn invalid_password_fails_its_row_and_is_not_echoed() {
    let (app, acme) = TestApp::start_with_acme().await;
    for wrong in [
        json!("hunter2-in-plain"),
        json!("5f4dcc3b5aa765d61d8327deb882cf99"),
        json!(BASE64_STANDARD.encode([7; 15])),
        json!(47_114_711),
        json!(["hunter2-in-plain"]),
        json!({"hunter2": true}),
    ] {
        let mut bad = user("bad", "");
        bad["password"] = wrong.clone();
        let answer = sync(&acme.caller, json!([user("good", ""), bad])).await;
        let message = answer.assert_only_failure("bad", "password:");
        assert!(!message.contains("hunter2") && !message.contains("4711"), "{message}");
        assert!(!message.contains("5f4dcc3b"), "{message}");
    }
    assert_eq!(read_all(&acme.caller, "users").await.len(), 1);
    assert_eq!(kept_hash(&app, "good").await, None);
}

/// Book: reference/directory.md.
#[tokio::test]
async fn password_change_deletion_or_disabling_ends_tokens() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut mei = user("mei", "");
    mei["password"] = digest(1).into();
    app.sync(&acme.caller, "users", &json!([mei, user("lin", "")])).await;
    let lin = app.user(&acme, "lin").await;
    for ending in [
        json!([{"userId": "mei", "password": digest(2)}]),
        json!([{"userId": "mei", "password": ""}]),
        json!([{"userId": "mei", "status": 0}, {"userId": "mei", "status": 1}]),
        json!([{"userId": "mei", "isDeleted": true}, {"userId": "mei", "isDeleted": false}]),
    ] {
        let token = app.user(&acme, "mei").await;
        token.post_empty("/modules").await.ok();
        app.sync(&acme.caller, "users", &ending).await;
        token.post_empty("/modules").await.fails(401, "revoked");
        app.user(&acme, "mei").await.post_empty("/modules").await.ok();
    }
    let token = app.user(&acme, "mei").await;
    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "name": "M", "mobile": "139", "isHidden": true}, {"userId": "omar", "loginId": "omar", "name": "O", "sex": 1}])).await;
    token.post_empty("/modules").await.ok();
    lin.post_empty("/modules").await.ok();
}

/// Book: reference/directory.md.
#[tokio::test]
async fn enterprise_suffix_applies_to_logins_not_numbers() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("early", "")])).await;
    app.execute("UPDATE tenants SET login_suffix = 'acme.example' WHERE code = 'acme'").await;
    // A to-do sent before its person existed reaches them.
    let task = todo("t1", "harbour lease", "mei@acme.example");
    acme.caller.post("/api/todo/create", &task).await.ok();
    let number = json!({"userId": "lin", "mobile": "13900000000", "name": "Lin", "sex": 1});
    let rows = json!([user("mei", ""), number, user("early", "")]);
    app.sync(&acme.caller, "users", &rows).await;
    for (id, login) in [("mei", "mei@acme.example"), ("lin", "13900000000"), ("early", "early@acme.example")]
    {
        assert_eq!(read_one(&acme.caller, "users", id).await["loginId"], login);
        assert_eq!(app.exchange(&acme, LOGIN_ID, login).await.status, 200, "{login}");
    }
    assert_eq!(app.exchange(&acme, LOGIN_ID, "mei").await.status, 400);
    app.wait_for_index().await;
    let mei = app.user(&acme, "mei@acme.example").await;
    assert_eq!(mei.find("todo", "harbour").await.len(), 1);

    let before = read_all(&acme.caller, "users").await;
    let mut suffixed = user("mei", "");
    suffixed["loginId"] = "mei@acme.example".into();
    for same in [rows, json!([suffixed])] {
        app.sync(&acme.caller, "users", &same).await;
        assert_eq!(read_all(&acme.caller, "users").await, before);
    }
    for login in ["mei", "mei@acme.example"] {
        let answer =
            sync(&acme.caller, json!([{"userId": "x", "loginId": login, "name": "X", "sex": 1}])).await;
        answer.assert_only_failure("x", "loginId:");
    }
    let long = json!([{"userId": "x", "loginId": "x".repeat(250), "name": "X", "sex": 1}]);
    sync(&acme.caller, long).await.assert_only_failure("x", "loginId:");
}

#[tokio::test]
async fn explicit_login_does_not_follow_the_number() {
    let (app, acme) = TestApp::start_with_acme().await;
    let people = json!([
        {"userId": "own", "loginId": "139", "mobile": "139", "name": "O", "sex": 1},
        {"userId": "number", "mobile": "137", "name": "N", "sex": 1},
    ]);
    app.sync(&acme.caller, "users", &people).await;
    app.sync(
        &acme.caller,
        "users",
        &json!([{"userId": "own", "mobile": "138"}, {"userId": "number", "mobile": "136"}]),
    )
    .await;
    assert_eq!(read_one(&acme.caller, "users", "own").await["loginId"], "139");
    assert_eq!(read_one(&acme.caller, "users", "number").await["loginId"], "136");
    sync(&acme.caller, json!([{"userId": "number", "mobile": ""}]))
        .await
        .assert_only_failure("number", "loginId:");
    app.sync(&acme.caller, "users", &json!([{"userId": "own", "mobile": ""}])).await;
}

/// Even when the call itself set that number.
#[tokio::test]
async fn number_equal_to_another_login_fails_only_its_row() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([{"userId": "other", "loginId": "139", "name": "O", "sex": 1}]))
        .await;
    let rows = json!([
        {"userId": "mei", "loginId": "mei", "mobile": "139", "name": "M", "sex": 2},
        {"userId": "mei", "loginId": ""},
        user("good", ""),
    ]);
    sync(&acme.caller, rows).await.assert_only_failure("mei", "loginId:");
    assert_eq!(read_one(&acme.caller, "users", "mei").await["loginId"], "mei");
    assert_eq!(read_one(&acme.caller, "users", "good").await["loginId"], "good");
    // The rule holds for a person deleted and recreated within the call.
    let back = json!([{"userId": "mei", "isDeleted": true}, {"userId": "x", "loginId": "mei", "name": "X", "sex": 1}, {"userId": "mei", "isDeleted": false}]);
    sync(&acme.caller, back).await.assert_only_failure("mei", "loginId:");
}

/// Book: explanation/visibility.md.
#[tokio::test]
async fn deputy_departments_count_for_visibility() {
    let (app, acme) = TestApp::start_with_acme().await;
    let tree = json!([department("d1", ""), department("d1a", "d1"), department("d2", "")]);
    app.sync(&acme.caller, "organizations", &tree).await;
    app.sync(&acme.caller, "users", &json!([user("mei", "d2")])).await;
    let of = |id: &str, department: &str| {
        let mut item = item(id, "harbour", 1);
        item["visibility"] = json!({"departments": [department]});
        item
    };
    app.put_contents(&acme.caller, "article", &[of("1", "d1"), of("1a", "d1a"), of("2", "d2")]).await;
    let mei = app.user(&acme, "mei").await;
    assert_eq!(mei.find("article", "harbour").await, ["2"]);
    let deputies = |ids: Value| json!([{"userId": "mei", "deputyOrgIds": ids}]);
    app.sync(&acme.caller, "users", &deputies(json!(["d1a", "d1a"]))).await;
    assert_eq!(read_one(&acme.caller, "users", "mei").await["deputyOrgIds"], json!(["d1a"]));
    assert_eq!(mei.find("article", "harbour").await, ["1", "1a", "2"]);
    sync(&acme.caller, deputies(json!(["d1a", "d9"]))).await.assert_only_failure("mei", "deputyOrgIds:");
    // A deleted department may stay assigned, not be newly assigned.
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "d1a", "isDeleted": true}])).await;
    app.sync(&acme.caller, "users", &deputies(json!(["d1a", "d1"]))).await;
    let joins = json!([{"userId": "lin", "loginId": "lin", "name": "L", "sex": 1, "deputyOrgIds": ["d1a"]}]);
    sync(&acme.caller, joins).await.assert_only_failure("lin", "deputyOrgIds:");
    let many: Vec<String> = (0..101).map(|id| format!("d{id}")).collect();
    sync(&acme.caller, deputies(json!(many))).await.assert_only_failure("mei", "deputyOrgIds:");
    app.sync(&acme.caller, "users", &deputies(json!([]))).await;
    assert_eq!(mei.find("article", "harbour").await, ["2"]);
}

#[tokio::test]
async fn given_platform_id_is_kept_and_unique() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut mei = user("mei", "");
    mei["platformUserId"] = "p-mei".into();
    app.sync(&acme.caller, "users", &json!([mei, user("lin", "")])).await;
    assert_eq!(read_one(&acme.caller, "users", "mei").await["platformUserId"], "p-mei");
    let generated = read_one(&acme.caller, "users", "lin").await["platformUserId"].clone();
    assert_eq!(generated.as_str().unwrap().len(), 36);
    let taken = json!([{"userId": "lin", "platformUserId": "p-mei"}]);
    sync(&acme.caller, taken).await.assert_only_failure("lin", "platformUserId:");
    let swap = json!([
        {"userId": "mei", "platformUserId": "third"},
        {"userId": "lin", "platformUserId": "p-mei"},
        {"userId": "mei", "platformUserId": generated},
    ]);
    app.sync(&acme.caller, "users", &swap).await;
    assert_eq!(read_one(&acme.caller, "users", "lin").await["platformUserId"], "p-mei");
    assert!(changed_at(&read_one(&acme.caller, "users", "mei").await) > 0);
}

#[tokio::test]
async fn passwords_of_one_call_reach_their_own_rows() {
    let (app, acme) = TestApp::start_with_acme().await;
    let people: Vec<Value> = (0..24_u8)
        .map(|number| {
            let mut person = user(&format!("u{number}"), "");
            person["password"] = if number == 5 { "x".into() } else { digest(number).into() };
            person
        })
        .collect();
    let answer = sync(&acme.caller, people.into()).await;
    answer.assert_only_failure("u5", "password:");
    let before = read_all(&acme.caller, "users").await;
    assert_eq!(before.len(), 23);
    let again: Value = (6..24_u8)
        .map(|number| json!({"userId": format!("u{number}"), "password": digest(number)}))
        .collect();
    app.sync(&acme.caller, "users", &again).await;
    assert_eq!(read_all(&acme.caller, "users").await, before);
    app.sync(&acme.caller, "users", &json!([{"userId": "u6", "password": digest(7)}])).await;
    assert_ne!(read_all(&acme.caller, "users").await, before);
}
