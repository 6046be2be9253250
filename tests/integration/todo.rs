//! `POST /api/todo/create` and `/api/todo/batch_create` (decisions 8.2, 4.4, 4.5).

use std::collections::HashSet;

use serde_json::{Value, json};
use trawl::{
    auth::{applications::Kind, scopes::Scope},
    store::now_millis,
};

use crate::util::{
    app::TestApp,
    items::{todo, user},
};

#[tokio::test]
async fn the_same_again_answers_the_same_id_and_other_content_is_409() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    let created = acme.caller.post("/api/todo/create", &todo("t1", "approve", "mei")).await.ok();
    let id = created.data()["id"].as_str().unwrap().to_owned();
    assert_eq!(created.data()["appTaskId"], "t1");
    let position = *app.app.store.positions().borrow();

    // Defaults that are spelled out are the same content.
    let mut spelled_out = todo("t1", "approve", "mei");
    spelled_out
        .as_object_mut()
        .unwrap()
        .extend(json!({"status": 0, "degree": 0, "quickDeal": true}).as_object().unwrap().clone());
    for same in [todo("t1", "approve", "mei"), spelled_out.clone()] {
        let again = acme.caller.post("/api/todo/create", &same).await.ok();
        assert_eq!(again.data()["id"], id.as_str());
    }
    for (field, other) in [
        ("title", json!("reject")),
        ("assigneeLoginId", json!("omar")),
        ("degree", json!(2)),
        ("status", json!(2)),
    ] {
        let mut changed = spelled_out.clone();
        changed[field] = other;
        acme.caller.post("/api/todo/create", &changed).await.fails(409, "appTaskId");
    }
    assert_eq!(*app.app.store.positions().borrow(), position, "something was written");
    app.settled().await;
    assert_eq!(app.user(&acme, "mei").await.find("todo", "approve").await, [id.as_str()]);

    // The id is the application's own.
    let second = app.register("acme", Kind::Application, &[], vec![Scope::Tasks]).await;
    let theirs = second.caller.post("/api/todo/create", &todo("t1", "other", "mei")).await.ok();
    assert_ne!(theirs.data()["id"], id.as_str());
    let other = app.tenant("other").await;
    other.caller.post("/api/todo/create", &todo("t1", "other", "mei")).await.ok();
}

#[tokio::test]
async fn each_wrong_field_is_400_and_named() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    for (field, value) in [
        ("appTaskId", json!("")),
        ("appTaskId", json!(5)),
        ("title", json!(" ")),
        ("title", json!("x".repeat(5_000))),
        ("assigneeLoginId", json!("")),
        ("status", json!(1)),
        ("status", json!("0")),
        ("degree", json!(3)),
        ("quickDeal", json!("no")),
        ("appData", json!("[]")),
        ("tags", json!("{}")),
        ("action", json!("open")),
    ] {
        let mut wrong = todo("t1", "approve", "mei");
        wrong[field] = value;
        acme.caller.post("/api/todo/create", &wrong).await.fails(400, field);
    }
    for field in ["appTaskId", "title", "assigneeLoginId"] {
        let mut missing = todo("t1", "approve", "mei");
        missing.as_object_mut().unwrap().remove(field);
        acme.caller.post("/api/todo/create", &missing).await.fails(400, field);
    }
    assert_eq!(*app.app.store.positions().borrow(), 0);
}

#[tokio::test]
async fn a_batch_tells_what_came_of_each() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    acme.caller.post("/api/todo/create", &todo("known", "approve", "mei")).await.ok();
    let batch = json!([
        todo("a", "approve", "mei"),
        todo("known", "approve", "mei"),
        todo("known", "reject", "mei"),
        todo("b", "", "mei"),
        {"title": "approve", "assigneeLoginId": "mei"},
        5,
        todo("a", "approve", "mei"),
        todo("c", "approve", "mei"),
    ]);
    let answer = acme.caller.post("/api/todo/batch_create", &batch).await.ok();
    let names = |list: &str| -> Vec<&str> {
        answer.data()[list].as_array().unwrap().iter().map(|one| one["appTaskId"].as_str().unwrap()).collect()
    };
    assert_eq!(names("success"), ["a", "known", "a", "c"]);
    let mut errors = names("error");
    errors.sort_unstable();
    assert_eq!(errors, ["", "", "b", "known"]);
    for error in answer.data()["error"].as_array().unwrap() {
        assert!(!error["message"].as_str().unwrap().is_empty(), "{error}");
        assert_eq!(error["id"].is_string(), error["appTaskId"] == "known", "{error}");
    }
    let success = answer.data()["success"].as_array().unwrap();
    assert_eq!(success[0]["id"], success[2]["id"]);
    app.settled().await;
    assert_eq!(app.user(&acme, "mei").await.find("todo", "approve").await.len(), 3);
    let empty = acme.caller.post("/api/todo/batch_create", &json!([])).await.ok();
    assert_eq!(empty.data(), &json!({"success": [], "error": []}));
}

/// Decisions 4.4: distinct milliseconds, so that following the time loses none.
#[tokio::test]
async fn to_dos_of_one_batch_have_distinct_times_of_now() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    let batch: Value = (0..500).map(|number| todo(&number.to_string(), "approve", "mei")).collect();
    let before = now_millis();
    acme.caller.post("/api/todo/batch_create", &batch).await.ok();
    app.settled().await;
    let mei = app.user(&acme, "mei").await;
    let answer = mei.search(&[("moduleId", "todo"), ("keyword", "approve"), ("limit", "1000")]).await.ok();
    let times: HashSet<i64> =
        answer.items().iter().map(|item| item["displayTime"].as_i64().unwrap()).collect();
    assert_eq!((answer.items().len(), times.len()), (500, 500));
    assert!(times.iter().all(|time| (before - 500..=now_millis()).contains(time)));
}

/// Decisions 3.5, 4.5.
#[tokio::test]
async fn only_assignee_and_creator_find_a_to_do() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let mei = json!({"userId": "u-mei", "loginId": "mei", "name": "Mei", "sex": 2});
    app.sync(&acme.caller, "users", &json!([mei, user("omar", ""), user("lin", "")])).await;
    let mut task = todo("t1", "approve the budget", "mei");
    task.as_object_mut().unwrap().extend(
        json!({"creatorId": "omar", "creatorName": "Omar Haddad", "procInstTitle": "spending"})
            .as_object()
            .unwrap()
            .clone(),
    );
    acme.caller.post("/api/todo/create", &task).await.ok();
    // Neither a login that is someone's id, nor an id that is someone's login.
    acme.caller.post("/api/todo/create", &todo("t2", "approve the budget", "u-mei")).await.ok();
    app.settled().await;

    let (mei, omar, lin) =
        (app.user(&acme, "mei").await, app.user(&acme, "omar").await, app.user(&acme, "lin").await);
    for caller in [&mei, &omar] {
        let found = caller.search(&[("moduleId", "todo"), ("keyword", "budget")]).await.ok();
        assert_eq!(found.total(), 1, "{}", found.text);
        assert_eq!(found.items()[0]["title"], "approve the budget");
        assert_eq!(found.items()[0]["subTitle"], "spending");
        assert_eq!(found.items()[0]["author"], "Omar Haddad");
    }
    for caller in [&lin, &acme.caller] {
        let found = caller.search(&[("moduleId", "todo"), ("keyword", "budget")]).await.ok();
        assert_eq!((found.total(), found.items().len(), found.cursor()), (0, 0, None));
        assert_eq!(found.source("builtin:todo")["status"], "ok");
    }
    assert_eq!(mei.find("done", "budget").await, [""; 0]);
}

/// Decisions 8.2.
#[tokio::test]
async fn an_assignee_who_comes_later_finds_it() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let created = acme.caller.post("/api/todo/create", &todo("t1", "approve", "newcomer")).await.ok();
    app.settled().await;
    app.sync(&acme.caller, "users", &json!([user("newcomer", "")])).await;
    let newcomer = app.user(&acme, "newcomer").await;
    assert_eq!(newcomer.find("todo", "approve").await, [created.data()["id"].as_str().unwrap()]);
    // From then on it is his, whatever becomes of the login.
    let handed_over = json!([{"userId": "newcomer", "loginId": "old"}, {"userId": "heir", "loginId": "newcomer", "name": "Heir", "sex": 1}]);
    app.sync(&acme.caller, "users", &handed_over).await;
    app.settled().await;
    assert_eq!(newcomer.find("todo", "approve").await.len(), 1);
    assert_eq!(app.user(&acme, "old").await.find("todo", "approve").await.len(), 1);
    assert_eq!(app.user(&acme, "newcomer").await.find("todo", "approve").await, [""; 0]);
    // So is one whose assignee was known from the start.
    acme.caller.post("/api/todo/create", &todo("t2", "decline", "newcomer")).await.ok();
    app.sync(&acme.caller, "users", &json!([{"userId": "heir", "loginId": "heir"}])).await;
    app.settled().await;
    assert_eq!(app.user(&acme, "heir").await.find("todo", "decline").await.len(), 1);
}

#[tokio::test]
async fn one_to_do_created_many_times_at_once_is_one() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let task = todo("t1", "approve", "mei");
    let calls = (0..20).map(|_| acme.caller.post("/api/todo/create", &task));
    let ids: HashSet<String> = futures::future::join_all(calls)
        .await
        .into_iter()
        .map(|answer| answer.ok().data()["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(*app.app.store.positions().borrow(), 1);
}
