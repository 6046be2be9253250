//! People's logins, passwords and further departments (decisions 3.7, 9.6, 9.8).

use base64::{Engine, prelude::BASE64_STANDARD};
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use trawl::store::sql;

use crate::util::{
    answer::Answer,
    app::{Application, LOGIN_ID, TestApp},
    caller::Caller,
    directory::{changed_at, read_all, read_one},
    items::{department, item, todo, user},
};

/// The base64 of a digest of 16 bytes.
fn digest(byte: u8) -> String {
    BASE64_STANDARD.encode([byte; 16])
}

async fn start() -> (TestApp, Application) {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    (app, acme)
}

async fn sync(caller: &Caller, rows: Value) -> Answer {
    caller.put("/v1/users/sync", &rows).await.ok()
}

/// Exactly one row failed: this one, for this field.
#[track_caller]
fn only_failure<'a>(answer: &'a Answer, id: &str, field: &str) -> &'a str {
    assert_eq!(answer.ids(), [id], "{}", answer.text);
    let message = answer.items()[0]["message"].as_str().unwrap();
    assert!(message.starts_with(field), "{message}");
    message
}

async fn kept_hash(app: &TestApp, user_id: &str) -> Option<String> {
    let text = "SELECT password_hash FROM users WHERE user_id = ?";
    let row = app.app.store.reader().query_one_raw(sql(text, [user_id.into()])).await.unwrap();
    row.unwrap().try_get("", "password_hash").unwrap()
}

#[tokio::test]
async fn a_password_is_kept_as_a_hash_and_read_by_nobody() {
    let (app, acme) = start().await;
    let mut mei = user("mei", "");
    mei["password"] = digest(1).into();
    let sent = acme.caller.put("/v1/users/sync", &json!([mei])).await.ok();
    assert_eq!(sent.items(), [] as [Value; 0]);
    let hash = kept_hash(&app, "mei").await.unwrap();
    assert!(hash.starts_with("$argon2id$"), "{hash}");
    let read = acme.caller.get("/v1/users/sync").await.ok();
    assert_eq!(read.items()[0]["password"], Value::Null);
    assert!(!read.text.contains(&digest(1)) && !read.text.contains("argon2"));

    // The same password, in the other form too, is no change.
    let before = read_all(&acme.caller, "users").await;
    let hexadecimal = BASE64_STANDARD.encode("01".repeat(16));
    for same in [digest(1), hexadecimal] {
        app.sync(&acme.caller, "users", &json!([{"userId": "mei", "password": same}])).await;
        assert_eq!(kept_hash(&app, "mei").await.as_ref(), Some(&hash));
    }
    assert_eq!(read_all(&acme.caller, "users").await, before);
    // Neither is a row without one.
    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "password": null, "name": "M"}])).await;
    assert_eq!(kept_hash(&app, "mei").await, Some(hash));
    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "password": ""}])).await;
    assert_eq!(kept_hash(&app, "mei").await, None);
}

#[tokio::test]
async fn a_wrong_password_fails_its_row_and_is_not_repeated() {
    let (app, acme) = start().await;
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
        let message = only_failure(&answer, "bad", "password:");
        assert!(!message.contains("hunter2") && !message.contains("4711"), "{message}");
        assert!(!message.contains("5f4dcc3b"), "{message}");
    }
    assert_eq!(read_all(&acme.caller, "users").await.len(), 1);
    assert_eq!(kept_hash(&app, "good").await, None);
}

/// Decisions 3.7 and the epoch of a person: what changes who may be him ends his tokens.
#[tokio::test]
async fn another_password_deletion_and_disabling_end_the_tokens() {
    let (app, acme) = start().await;
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
    // What changes nothing of that, and what happens to others, ends none.
    let token = app.user(&acme, "mei").await;
    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "name": "M", "mobile": "139"}, {"userId": "omar", "loginId": "omar", "name": "O", "sex": 1}])).await;
    token.post_empty("/modules").await.ok();
    lin.post_empty("/modules").await.ok();
}

/// Decisions 9.8: people sign in by the login with the suffix, and read it back.
#[tokio::test]
async fn the_suffix_of_the_enterprise_stands_behind_logins_and_not_behind_numbers() {
    let (app, acme) = start().await;
    app.sync(&acme.caller, "users", &json!([user("early", "")])).await;
    app.execute("UPDATE tenants SET login_suffix = 'acme.example' WHERE code = 'acme'").await;
    // A to-do that was there before its person is his.
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
    app.settled().await;
    let mei = app.user(&acme, "mei@acme.example").await;
    assert_eq!(mei.find("todo", "harbour").await.len(), 1);

    // The same once more, with the suffix too, is no change.
    let before = read_all(&acme.caller, "users").await;
    let mut suffixed = user("mei", "");
    suffixed["loginId"] = "mei@acme.example".into();
    for same in [rows, json!([suffixed])] {
        app.sync(&acme.caller, "users", &same).await;
        assert_eq!(read_all(&acme.caller, "users").await, before);
    }
    // With the suffix it is somebody's already, whichever way it is sent.
    for login in ["mei", "mei@acme.example"] {
        let answer =
            sync(&acme.caller, json!([{"userId": "x", "loginId": login, "name": "X", "sex": 1}])).await;
        only_failure(&answer, "x", "loginId:");
    }
    let long = json!([{"userId": "x", "loginId": "x".repeat(250), "name": "X", "sex": 1}]);
    only_failure(&sync(&acme.caller, long).await, "x", "loginId:");
}

/// A login of one's own stays when the number changes, even where it looks like it.
#[tokio::test]
async fn a_login_of_one_s_own_does_not_follow_the_number() {
    let (app, acme) = start().await;
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
    // Without a number he has no login any more.
    only_failure(
        &sync(&acme.caller, json!([{"userId": "number", "mobile": ""}])).await,
        "number",
        "loginId:",
    );
    app.sync(&acme.caller, "users", &json!([{"userId": "own", "mobile": ""}])).await;
}

/// Whoever falls back on a number that is another one's login fails alone, also where the call itself gave him the number.
#[tokio::test]
async fn a_number_that_is_another_one_s_login_fails_the_row_and_not_the_call() {
    let (app, acme) = start().await;
    app.sync(&acme.caller, "users", &json!([{"userId": "other", "loginId": "139", "name": "O", "sex": 1}]))
        .await;
    let rows = json!([
        {"userId": "mei", "loginId": "mei", "mobile": "139", "name": "M", "sex": 2},
        {"userId": "mei", "loginId": ""},
        user("good", ""),
    ]);
    only_failure(&sync(&acme.caller, rows).await, "mei", "loginId:");
    assert_eq!(read_one(&acme.caller, "users", "mei").await["loginId"], "mei");
    assert_eq!(read_one(&acme.caller, "users", "good").await["loginId"], "good");
    // Someone who is deleted and comes back within the call is held to it too.
    let back = json!([{"userId": "mei", "isDeleted": true}, {"userId": "x", "loginId": "mei", "name": "X", "sex": 1}, {"userId": "mei", "isDeleted": false}]);
    only_failure(&sync(&acme.caller, back).await, "mei", "loginId:");
}

/// Decisions 9.6: deputy departments count for visibility, and must be there.
#[tokio::test]
async fn further_departments_count_for_what_one_sees() {
    let (app, acme) = start().await;
    let tree = json!([department("d1", ""), department("d1a", "d1"), department("d2", "")]);
    app.sync(&acme.caller, "organizations", &tree).await;
    app.sync(&acme.caller, "users", &json!([user("mei", "d2")])).await;
    let of = |id: &str, department: &str| {
        let mut item = item(id, "harbour", 1);
        item["visibility"] = json!({"departments": [department]});
        item
    };
    app.keep(&acme.caller, "article", &[of("1", "d1"), of("1a", "d1a"), of("2", "d2")]).await;
    let mei = app.user(&acme, "mei").await;
    assert_eq!(mei.find("article", "harbour").await, ["2"]);
    let deputies = |ids: Value| json!([{"userId": "mei", "deputyOrgIds": ids}]);
    app.sync(&acme.caller, "users", &deputies(json!(["d1a", "d1a"]))).await;
    assert_eq!(read_one(&acme.caller, "users", "mei").await["deputyOrgIds"], json!(["d1a"]));
    assert_eq!(mei.find("article", "harbour").await, ["1", "1a", "2"]);
    only_failure(&sync(&acme.caller, deputies(json!(["d1a", "d9"]))).await, "mei", "deputyOrgIds:");
    // One that is deleted can be kept, and not be joined.
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "d1a", "isDeleted": true}])).await;
    app.sync(&acme.caller, "users", &deputies(json!(["d1a", "d1"]))).await;
    let joins = json!([{"userId": "lin", "loginId": "lin", "name": "L", "sex": 1, "deputyOrgIds": ["d1a"]}]);
    only_failure(&sync(&acme.caller, joins).await, "lin", "deputyOrgIds:");
    let many: Vec<String> = (0..101).map(|id| format!("d{id}")).collect();
    only_failure(&sync(&acme.caller, deputies(json!(many))).await, "mei", "deputyOrgIds:");
    app.sync(&acme.caller, "users", &deputies(json!([]))).await;
    assert_eq!(mei.find("article", "harbour").await, ["2"]);
}

/// A platform id is one person's, and is kept when it was given.
#[tokio::test]
async fn a_platform_id_that_is_given_is_kept() {
    let (app, acme) = start().await;
    let mut mei = user("mei", "");
    mei["platformUserId"] = "p-mei".into();
    app.sync(&acme.caller, "users", &json!([mei, user("lin", "")])).await;
    assert_eq!(read_one(&acme.caller, "users", "mei").await["platformUserId"], "p-mei");
    let generated = read_one(&acme.caller, "users", "lin").await["platformUserId"].clone();
    assert_eq!(generated.as_str().unwrap().len(), 36);
    let taken = json!([{"userId": "lin", "platformUserId": "p-mei"}]);
    only_failure(&sync(&acme.caller, taken).await, "lin", "platformUserId:");
    // Two swap within one call.
    let swap = json!([
        {"userId": "mei", "platformUserId": "third"},
        {"userId": "lin", "platformUserId": "p-mei"},
        {"userId": "mei", "platformUserId": generated},
    ]);
    app.sync(&acme.caller, "users", &swap).await;
    assert_eq!(read_one(&acme.caller, "users", "lin").await["platformUserId"], "p-mei");
    assert!(changed_at(&read_one(&acme.caller, "users", "mei").await) > 0);
}

/// More passwords than are hashed at once, and those that are wrong among them.
#[tokio::test]
async fn many_passwords_of_one_call_each_go_to_their_own_row() {
    let (app, acme) = start().await;
    let people: Vec<Value> = (0..24_u8)
        .map(|number| {
            let mut person = user(&format!("u{number}"), "");
            person["password"] = if number == 5 { "x".into() } else { digest(number).into() };
            person
        })
        .collect();
    let answer = sync(&acme.caller, people.into()).await;
    only_failure(&answer, "u5", "password:");
    let before = read_all(&acme.caller, "users").await;
    assert_eq!(before.len(), 23);
    // Each row's own password is no change, another one's is.
    let again: Value = (6..24_u8)
        .map(|number| json!({"userId": format!("u{number}"), "password": digest(number)}))
        .collect();
    app.sync(&acme.caller, "users", &again).await;
    assert_eq!(read_all(&acme.caller, "users").await, before);
    app.sync(&acme.caller, "users", &json!([{"userId": "u6", "password": digest(7)}])).await;
    assert_ne!(read_all(&acme.caller, "users").await, before);
}
