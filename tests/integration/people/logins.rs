//! Logins that differ in case alone (book: reference/directory.md).

use serde_json::{Value, json};

use crate::util::{
    app::{Application, LOGIN_ID, TestApp},
    internals::fold_logins,
    items::{todo, user},
    login::{LoginSetup, claims, location},
};

fn with_login(id: &str, login: &str) -> Value {
    let mut user = user(id, "");
    user["loginId"] = login.into();
    user
}

/// The person who signs in by this login.
async fn person(app: &TestApp, acme: &Application, login: &str) -> Option<String> {
    let answer = app.exchange(acme, LOGIN_ID, login).await;
    Some(claims(answer.body["access_token"].as_str()?)["sub"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn person_signs_in_by_a_login_of_any_case() {
    let (app, acme) = TestApp::start_with_acme().await;
    let people = [
        ("mei", "mei.chen@acme.example"),
        ("unal", "ÜNAL"),
        ("sisyphus", "Σίσυφος"),
        ("renee", "rene\u{301}e"),
    ];
    let rows = people.map(|(id, login)| with_login(id, login));
    app.sync(&acme.caller, "users", &json!(rows)).await;
    for (login, id) in [
        ("Mei.Chen@Acme.Example", "mei"),
        ("MEI.CHEN@ACME.EXAMPLE", "mei"),
        ("ünal", "unal"),
        ("ΣΊΣΥΦΟΣ", "sisyphus"),
        ("ren\u{e9}e", "renee"),
        ("RENE\u{301}E", "renee"),
    ] {
        let subject = person(&app, &acme, people.iter().find(|person| person.0 == id).unwrap().1).await;
        assert!(subject.is_some());
        assert_eq!(person(&app, &acme, login).await, subject, "{login}");
    }
    assert_eq!(person(&app, &acme, "mei.chen@acme.exampl").await, None);
}

#[tokio::test]
async fn password_signs_in_by_a_login_of_any_case() {
    let setup = LoginSetup::start().await;
    let mut browser = setup.app.browser();
    let page = browser.open(&setup.parameters()).await;
    location(&browser.submit(&page, "MEI", "correct horse").await);
    let page = browser.open(&setup.parameters()).await;
    assert_eq!(browser.submit(&page, "MEI", "Correct horse").await.status, 403);
}

#[tokio::test]
async fn password_of_long_ago_signs_in() {
    let setup = LoginSetup::start().await;
    setup.app.execute("UPDATE users SET created_at = 1, updated_at = 1").await;
    assert!(!setup.sign_in().await.is_empty());
}

#[tokio::test]
async fn task_of_a_login_in_any_case_reaches_its_person() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([with_login("mei", "Mei.Chen")])).await;
    for (id, login) in [("1", "mei.chen"), ("2", "MEI.CHEN"), ("3", "Omar"), ("4", "omar"), ("5", "ÜNAL")] {
        acme.caller.post("/api/todo/create", &todo(id, "approve", login)).await.ok();
    }
    // People who come later.
    app.sync(&acme.caller, "users", &json!([with_login("omar", "OMAR"), with_login("unal", "ünal")])).await;
    app.wait_for_index().await;
    for (login, count) in [("mei.chen", 2), ("omar", 2), ("ünal", 1)] {
        let person = app.user(&acme, login).await;
        assert_eq!(person.find("todo", "approve").await.len(), count, "{login}");
    }
    let device = json!({"id": "mei.CHEN", "idType": 2, "deviceId": "phone", "name": "Phone"});
    acme.caller.post("/open/v1/devices/bind", &device).await.ok();
}

#[tokio::test]
async fn login_alike_to_that_of_another_is_refused() {
    let (app, acme) = TestApp::start_with_acme().await;
    let sync = async |rows: Value| acme.caller.put("/v1/users/sync", &rows).await.ok();
    app.sync(&acme.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
    let reason = "differs in case or composition alone from \"mei\" of another user";
    for (id, login) in [("new", "MEI"), ("omar", "Mei")] {
        let refused = sync(json!([with_login(id, login), user("lin", "")])).await;
        refused.assert_only_failure(id, &format!("loginId: \"{login}\" {reason}"));
    }
    let [composed, decomposed] = ["ren\u{e9}e", "rene\u{301}e"];
    app.sync(&acme.caller, "users", &json!([with_login("renee", composed)])).await;
    let refused = sync(json!([with_login("other", decomposed)])).await;
    let reason = format!(
        "loginId: {decomposed:?} differs in case or composition alone from {composed:?} of another user"
    );
    refused.assert_only_failure("other", &reason);
    // The first of one call stays, as does the own login in another case.
    let refused = sync(json!([with_login("unal", "Ünal"), with_login("other", "ÜNAL")])).await;
    refused.assert_only_failure(
        "other",
        "loginId: \"ÜNAL\" differs in case or composition alone from \"Ünal\" of another user",
    );
    app.sync(&acme.caller, "users", &json!([with_login("mei", "Mei")])).await;
    assert!(person(&app, &acme, "mei").await.is_some());
    // A login that its person leaves is free.
    app.sync(&acme.caller, "users", &json!([with_login("mei", "chen"), with_login("new", "MEI")])).await;
    app.sync(&acme.caller, "users", &json!([{"userId": "new", "isDeleted": true}])).await;
    app.sync(&acme.caller, "users", &json!([with_login("omar", "mEI")])).await;
    let refused = sync(json!([{"userId": "new", "isDeleted": false}])).await;
    refused.assert_only_failure(
        "new",
        "loginId: \"MEI\" differs in case or composition alone from \"mEI\" of another user",
    );
    // Other tenants have logins of their own.
    let other = app.tenant("other").await;
    app.sync(&other.caller, "users", &json!([with_login("omar", "MEI")])).await;
}

#[tokio::test]
async fn logins_alike_in_an_earlier_directory_stay_apart() {
    let (app, acme) = TestApp::start_with_acme().await;
    let (unal, renee) = (with_login("unal", "ÜNAL"), with_login("renee", "rene\u{301}e"));
    app.sync(&acme.caller, "users", &json!([user("mei", ""), user("omar", ""), unal, renee])).await;
    let subjects = [person(&app, &acme, "mei").await, person(&app, &acme, "omar").await];
    // Written by an earlier version, which did not fold.
    app.execute("UPDATE users SET login_folded = NULL").await;
    app.execute("UPDATE users SET login_id = 'MEI', login_folded = 'omar' WHERE user_id = 'omar'").await;
    // An earlier version folded case alone.
    app.execute("UPDATE users SET login_folded = login_id WHERE user_id = 'renee'").await;
    for is_folded in [false, true] {
        if is_folded {
            fold_logins(&app.app.store).await.unwrap();
        }
        assert_eq!([person(&app, &acme, "mei").await, person(&app, &acme, "MEI").await], subjects);
        for login in ["Mei", "omar", "OMAR"] {
            assert_eq!(person(&app, &acme, login).await, None, "{login}");
        }
        assert_eq!(person(&app, &acme, "ünal").await.is_some(), is_folded);
        assert_eq!(person(&app, &acme, "ren\u{e9}e").await.is_some(), is_folded);
    }
    // Rows that keep their login are taken; nobody signs in as the other of a pair.
    let rows = json!([{"userId": "omar", "name": "Omar"}, with_login("mei", "mei"), {"userId": "omar", "status": 0}]);
    app.sync(&acme.caller, "users", &rows).await;
    assert_eq!(
        [person(&app, &acme, "mei").await, person(&app, &acme, "MEI").await],
        [subjects[0].clone(), None]
    );
    let refused = acme.caller.put("/v1/users/sync", &json!([with_login("mei", "Mei")])).await.ok();
    refused.assert_only_failure(
        "mei",
        "loginId: \"Mei\" differs in case or composition alone from \"MEI\" of another user",
    );
    app.sync(&acme.caller, "users", &json!([with_login("omar", "omar")])).await;
    assert_eq!(person(&app, &acme, "Mei").await, subjects[0]);
}
