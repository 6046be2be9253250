//! `POST /api/todo/create` and `/api/todo/batch_create`.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    groups::people,
    internals::{Kind, TokenScope, now_millis},
    items::{todo, user},
    tasks::{complete, show},
};

#[tokio::test]
async fn equal_creation_returns_the_id_and_other_content_is_409() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    let created = acme.caller.post("/api/todo/create", &todo("t1", "approve", "mei")).await.ok();
    let id = created.data()["id"].as_str().unwrap().to_owned();
    assert_eq!(created.data()["appTaskId"], "t1");
    let position = *app.app.store.positions().borrow();

    // Explicit defaults are the same content.
    let mut spelled_out = todo("t1", "approve", "mei");
    spelled_out
        .as_object_mut()
        .unwrap()
        .extend(json!({"status": 0, "degree": 0, "quickDeal": true}).as_object().unwrap().clone());
    for empty in ["source", "appData", "tags", "action", "quickDealCallback"] {
        spelled_out[empty] = json!("");
    }
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
    assert_eq!(*app.app.store.positions().borrow(), position, "a change was written");
    app.wait_for_index().await;
    assert_eq!(app.user(&acme, "mei").await.find("todo", "approve").await, [id.as_str()]);

    let second = app.register("acme", Kind::Application, &[], vec![TokenScope::Tasks]).await;
    let theirs = second.caller.post("/api/todo/create", &todo("t1", "other", "mei")).await.ok();
    assert_ne!(theirs.data()["id"], id.as_str());
    let other = app.tenant("other").await;
    other.caller.post("/api/todo/create", &todo("t1", "other", "mei")).await.ok();
}

#[tokio::test]
async fn wrong_fields_are_400_and_named() {
    let (app, acme) = TestApp::start_with_acme().await;
    for (field, value) in [
        ("appTaskId", json!("")),
        ("appTaskId", json!(5)),
        ("title", json!(" ")),
        ("title", json!("x".repeat(5_000))),
        ("assigneeLoginId", json!("")),
        ("appTaskId", json!("a\0b")),
        ("status", json!(-1)),
        ("status", json!(1)),
        ("status", json!(4)),
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

/// Book: reference/tasks.md.
#[tokio::test]
async fn batch_items_have_distinct_current_times() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    let batch: Value = (0..500).map(|number| todo(&number.to_string(), "approve", "mei")).collect();
    let before = now_millis();
    acme.caller.post("/api/todo/batch_create", &batch).await.ok();
    app.wait_for_index().await;
    let mei = app.user(&acme, "mei").await;
    let answer = mei.search(&[("moduleId", "todo"), ("keyword", "approve"), ("limit", "1000")]).await.ok();
    let times: HashSet<i64> =
        answer.items().iter().map(|item| item["displayTime"].as_i64().unwrap()).collect();
    assert_eq!((answer.items().len(), times.len()), (500, 500));
    assert!(times.iter().all(|time| (before - 500..=now_millis()).contains(time)));
}

/// Book: explanation/visibility.md.
#[tokio::test]
async fn only_assignee_and_creator_find_a_to_do() {
    let (app, acme) = TestApp::start_with_acme().await;
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
    // A login equal to another person's id is no match, and vice versa.
    acme.caller.post("/api/todo/create", &todo("t2", "approve the budget", "u-mei")).await.ok();
    app.wait_for_index().await;

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

/// Book: reference/tasks.md.
#[tokio::test]
async fn assignee_synchronised_later_finds_and_handles_the_to_do() {
    let (app, acme) = TestApp::start_with_acme().await;
    let created = acme.caller.post("/api/todo/create", &todo("t1", "approve", "newcomer")).await.ok();
    app.wait_for_index().await;
    let [newcomer] = people(&app, &acme, ["newcomer"]).await;
    assert_eq!(newcomer.find("todo", "approve").await, [created.data()["id"].as_str().unwrap()]);
    // The task stays with the person when the login changes hands.
    let handed_over = json!([{"userId": "newcomer", "loginId": "old"}, {"userId": "heir", "loginId": "newcomer", "name": "Heir", "sex": 1}]);
    app.sync(&acme.caller, "users", &handed_over).await;
    app.wait_for_index().await;
    assert_eq!(newcomer.find("todo", "approve").await.len(), 1);
    let (heir, old) = (app.user(&acme, "newcomer").await, app.user(&acme, "old").await);
    assert_eq!(old.find("todo", "approve").await.len(), 1);
    assert_eq!(heir.find("todo", "approve").await, [""; 0]);
    let id = created.data()["id"].as_str().unwrap();
    complete(&heir, id, json!({})).await.fails(404, "there is no such task");
    show(&old, "todo", id).await.ok();
    complete(&old, id, json!({})).await.ok();
    // So does a task of a known assignee.
    acme.caller.post("/api/todo/create", &todo("t2", "decline", "newcomer")).await.ok();
    app.sync(&acme.caller, "users", &json!([{"userId": "heir", "loginId": "heir"}])).await;
    app.wait_for_index().await;
    assert_eq!(app.user(&acme, "heir").await.find("todo", "decline").await.len(), 1);
}

#[tokio::test]
async fn concurrent_creations_each_get_their_own_outcome() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
    let second = app.register("acme", Kind::Application, &[], vec![TokenScope::Tasks]).await;
    let other = app.tenant("other").await;
    let callers = [&acme.caller, &second.caller, &other.caller];
    // One title of each id is created, and the other one is refused.
    let call = |number: usize| {
        let (id, title) = (format!("t{}", number / 6), format!("approve{}", number / 3 % 2));
        let caller = callers[number % 3];
        async move {
            let answer = caller.post("/api/todo/create", &todo(&id, &title, "mei")).await;
            if answer.status == 409 {
                answer.fails(409, "appTaskId");
                return None;
            }
            let answer = answer.ok();
            assert_eq!(answer.data()["appTaskId"], id);
            Some((number % 3, answer.data()["id"].as_str().unwrap().to_owned(), title))
        }
    };
    let created: Vec<_> = futures::future::join_all((0..180).map(call)).await.into_iter().flatten().collect();
    assert_eq!(created.len(), 90);
    let ids: HashSet<&str> = created.iter().map(|(_, id, _)| id.as_str()).collect();
    assert_eq!(ids.len(), 90, "an id was given twice");
    for (caller, id, title) in &created {
        let shown = callers[*caller].get(&format!("/api/todo/{id}")).await.ok();
        assert_eq!(shown.data()["title"], title.as_str());
        let of_another = callers[(caller + 1) % 3].get(&format!("/api/todo/{id}")).await;
        assert_ne!(of_another.status, 200, "{id}");
    }
    app.wait_for_index().await;
    assert_eq!(app.user(&acme, "mei").await.find("todo", "approve").await.len(), 60);
}
