//! `/api/todo/complete`, `parse`, `resume`, `/api/done/…`, and reading a task.

use serde_json::json;

use crate::util::{
    groups::people,
    internals::{Kind, TokenScope},
    items::todo,
    tasks::{Office, complete, created, pause, remove, resume, show},
};

#[tokio::test]
async fn task_moves_through_its_states_and_modules() {
    let office = Office::open().await;
    let caller = &office.acme.caller;
    for (status, end_type, ended) in [(0, 1, 1), (2, 1, 4), (0, 2, 5), (2, 2, 5)] {
        let name = format!("{status}-{end_type}");
        let id = office.task(&name, status).await;
        let (todo, done) = (vec![id.clone()], Vec::<String>::new());
        assert_eq!(office.found_by("mei").await, (todo.clone(), done.clone()));
        assert_eq!(office.found_by("omar").await, (todo.clone(), done.clone()));

        assert_eq!(pause(caller, &id).await.ok().data(), &json!(id));
        assert_eq!(office.found_by("mei").await, (done.clone(), done.clone()));
        assert_eq!(office.found_by("omar").await, (done.clone(), done.clone()));
        assert_eq!(resume(caller, &id).await.ok().data(), &json!(id));
        assert_eq!(office.found_by("mei").await, (todo, done.clone()));
        assert_eq!(show(caller, "todo", &id).await.ok().data()["status"], status);

        let end = json!({"endType": end_type, "endComment": "as agreed", "endResult": "ok"});
        assert_eq!(complete(caller, &id, end).await.ok().data(), &json!(id));
        assert_eq!(office.found_by("mei").await, (done.clone(), vec![id.clone()]));
        assert_eq!(office.found_by("omar").await, (done.clone(), vec![id.clone()]));
        let shown = show(caller, "done", &id).await.ok();
        let shown = shown.data();
        assert_eq!(
            (&shown["status"], &shown["endComment"], &shown["endResult"]),
            (&json!(ended), &json!("as agreed"), &json!("ok"))
        );
        show(caller, "todo", &id).await.fails(404, "to-do item");

        assert_eq!(remove(caller, &id).await.ok().data(), &json!(id));
        assert_eq!(office.found_by("mei").await, (done.clone(), done));
        for module in ["todo", "done"] {
            show(caller, module, &id).await.fails(404, "there is no such");
        }
    }
}

#[tokio::test]
async fn forbidden_move_is_409_and_names_the_state() {
    let office = Office::open().await;
    let caller = &office.acme.caller;
    for (status, name, allowed) in [
        (0, "to-do", ["complete", "pause"].as_slice()),
        (2, "to-read", &["complete", "pause"]),
        (3, "paused", &["resume"]),
        (1, "done", &["remove"]),
        (4, "read", &["remove"]),
        (5, "withdrawn", &["remove"]),
    ] {
        let id = office.task(name, status).await;
        for refused in ["complete", "pause", "resume", "remove"] {
            if allowed.contains(&refused) {
                continue;
            }
            let answers = match refused {
                "complete" => {
                    let withdrawn = complete(caller, &id, json!({"endType": 2})).await;
                    vec![complete(caller, &id, json!({})).await, withdrawn]
                }
                "pause" => vec![pause(caller, &id).await],
                "resume" => vec![resume(caller, &id).await],
                _ => vec![remove(caller, &id).await],
            };
            for answer in answers {
                answer.fails(409, &format!("this task is {name};"));
            }
        }
        let module = if [0, 2, 3].contains(&status) { "todo" } else { "done" };
        assert_eq!(show(caller, module, &id).await.ok().data()["status"], status);
    }
    let id = office.task("gone", 1).await;
    remove(caller, &id).await.ok();
    for answer in [
        complete(caller, &id, json!({})).await,
        complete(caller, &id, json!({"endType": 2})).await,
        pause(caller, &id).await,
        resume(caller, &id).await,
        remove(caller, &id).await,
    ] {
        answer.fails(404, "there is no such task");
    }
}

#[tokio::test]
async fn task_operations_follow_the_callers_role() {
    let office = Office::open().await;
    let (mei, omar, lin) =
        (office.person("mei").await, office.person("omar").await, office.person("lin").await);
    let second = office.app.register("acme", Kind::Application, &[], vec![TokenScope::Tasks]).await;
    let elsewhere = office.app.tenant("elsewhere").await;
    let [other_mei] = people(&office.app, &elsewhere, ["mei"]).await;

    let id = office.task("t", 0).await;
    for stranger in [&lin, &second.caller, &elsewhere.caller, &other_mei] {
        complete(stranger, &id, json!({})).await.fails(404, "there is no such task");
        show(stranger, "todo", &id).await.fails(404, "there is no such");
    }
    for stranger in [&second.caller, &elsewhere.caller] {
        pause(stranger, &id).await.fails(404, "there is no such task");
        resume(stranger, &id).await.fails(404, "there is no such task");
        remove(stranger, &id).await.fails(404, "there is no such task");
    }
    for person in [&mei, &omar] {
        pause(person, &id).await.fails(403, "application token");
        show(person, "todo", &id).await.ok();
    }
    complete(&omar, &id, json!({})).await.fails(403, "only the assignee");
    complete(&mei, &id, json!({"endType": 2})).await.fails(403, "only by the application");

    pause(&office.acme.caller, &id).await.ok();
    show(&mei, "todo", &id).await.fails(404, "there is no such");
    complete(&mei, &id, json!({})).await.fails(404, "there is no such task");
    for caller in [&omar, &office.acme.caller] {
        assert_eq!(show(caller, "todo", &id).await.ok().data()["status"], 3);
    }
    complete(&omar, &id, json!({})).await.fails(403, "only the assignee");
    resume(&office.acme.caller, &id).await.ok();

    complete(&mei, &id, json!({"endComment": "mine"})).await.ok();
    for caller in [&mei, &omar, &office.acme.caller] {
        assert_eq!(show(caller, "done", &id).await.ok().data()["endComment"], "mine");
    }
    for stranger in [&lin, &second.caller, &other_mei] {
        show(stranger, "done", &id).await.fails(404, "there is no such");
    }
    remove(&second.caller, &id).await.fails(404, "there is no such task");
    let without = office.app.register("acme", Kind::Application, &[], vec![TokenScope::ActAsUser]).await;
    for caller in [&without.caller, &office.app.user(&without, "mei").await] {
        show(caller, "done", &id).await.fails(403, "tasks");
    }
}

#[tokio::test]
async fn sent_fields_are_shown_and_wrong_ones_named() {
    let office = Office::open().await;
    let caller = &office.acme.caller;
    let full = json!({
        "appTaskId": "full", "title": "Approve", "source": "ERP", "creatorId": "omar", "creatorName": "Omar",
        "degree": 2, "procInstId": "p1", "procInstTitle": "spending", "procInstStatus": "pending",
        "procCreatorId": "lin", "procCreatorName": "Lin", "assigneeLoginId": "mei",
        "appData": "{\"amount\": 7}", "tags": "[\"finance\"]",
        "action": "{\"pc\": \"[OpenApp]\\nappCode=erp\\nappUrl=/7\", \"web\": \"[OpenUrl]\\nurl=https://erp.example/7\"}",
        "quickDeal": false, "quickDealCallback": "https://erp.example/handled", "status": 5,
        "endComment": "taken back", "endResult": "none",
    });
    let id = created(&caller.post("/api/done/create", &full).await.ok());
    let shown = show(&office.person("mei").await, "done", &id).await.ok();
    let mut expected = full.clone();
    expected["id"] = json!(id);
    expected["quickDealLog"] = json!([]);
    assert_eq!(shown.data(), &expected);
    let mut form = full.clone();
    (form["appTaskId"], form["status"]) = (json!("todo"), json!(2));
    let id = created(&caller.post("/api/todo/create", &form).await.ok());
    let shown = show(caller, "todo", &id).await.ok();
    assert!(shown.data().get("endComment").is_none() && shown.data().get("endResult").is_none());

    for (field, value) in [
        ("status", json!(0)),
        ("status", json!(3)),
        ("endComment", json!("x".repeat(70_000))),
        ("endResult", json!(5)),
        ("source", json!("x".repeat(257))),
        ("creatorId", json!("a\nb")),
        ("appData", json!("[1]")),
        ("tags", json!("finance")),
        ("action", json!("{\"web\": \"https://erp.example\"}")),
        ("action", json!("{\"web\": \"[OpenUrl]\\nurl=javascript:alert(1)\"}")),
        ("quickDealCallback", json!("erp.example/handled")),
        ("quickDealCallback", json!("ftp://erp.example/handled")),
        ("quickDealCallback", json!("http://")),
        ("quickDealCallback", json!("https://u:p@erp.example/")),
        ("quickDealCallback", json!("http://erp.example/\u{1}")),
        ("quickDealCallback", json!("javascript:x")),
    ] {
        let mut wrong = full.clone();
        wrong["appTaskId"] = json!("wrong");
        wrong[field] = value;
        caller.post("/api/done/create", &wrong).await.fails(400, field);
    }
    let id = office.task("t", 0).await;
    for (field, value) in [
        ("endType", json!(0)),
        ("endType", json!(3)),
        ("endType", json!("1")),
        ("endComment", json!("x".repeat(70_000))),
        ("endResult", json!({})),
        ("todoTaskId", json!("")),
        ("todoTaskId", json!(7)),
    ] {
        let mut body = json!({"todoTaskId": id});
        body[field] = value;
        caller.post("/api/todo/complete", &body).await.fails(400, field);
    }
    caller.post("/api/todo/complete", &json!({})).await.fails(400, "todoTaskId");
    caller.post("/api/todo/complete", &json!([id])).await.fails(400, "object");
    for path in ["/api/todo/parse", "/api/todo/resume?todoTaskId=", "/api/done/remove?todoTaskId=%00"] {
        caller.post_empty(path).await.fails(400, "todoTaskId");
    }
    caller.post_empty(&format!("/api/todo/parse?todoTaskId={id}&todoTaskId={id}")).await.fails(400, "once");
    assert_eq!(show(caller, "todo", &id).await.ok().data()["status"], 0);
}

#[tokio::test]
async fn quick_handling_log_is_shown_oldest_first() {
    let office = Office::open().await;
    let (id, other) = (office.task("t", 2).await, office.task("u", 2).await);
    for (at, outcome, message, took_ms) in
        [(7, "failed", Some("HTTP \"500\""), Some(12_i64)), (5, "begun", None, None)]
    {
        let text = "INSERT INTO quick_deals (tenant_id, task_id, handler_login_id, handled_at, outcome, message, \
                    took_ms) VALUES (?, ?, 'mei', ?, ?, ?, ?)";
        let values = vec![
            office.acme.tenant_id.into(),
            id.as_str().into(),
            at.into(),
            outcome.into(),
            message.into(),
            took_ms.into(),
        ];
        office.app.execute_with(text, values).await;
    }
    let shown = show(&office.acme.caller, "todo", &id).await.ok();
    let expected = json!([
        {"handlerLoginId": "mei", "handledAt": 7, "outcome": "failed", "message": "HTTP \"500\"", "tookMs": 12},
        {"handlerLoginId": "mei", "handledAt": 5, "outcome": "begun", "message": null, "tookMs": null},
    ]);
    assert_eq!(shown.data()["quickDealLog"], expected);
    assert_eq!(show(&office.acme.caller, "todo", &other).await.ok().data()["quickDealLog"], json!([]));
}

#[tokio::test]
async fn repeated_creation_returns_the_same_id_in_every_state() {
    let office = Office::open().await;
    let caller = &office.acme.caller;
    for status in [0, 2, 1, 4, 5] {
        let name = format!("again-{status}");
        let id = office.task(&name, status).await;
        let again = async || assert_eq!(office.task(&name, status).await, id);
        again().await;
        if [0, 2].contains(&status) {
            pause(caller, &id).await.ok();
            again().await;
            resume(caller, &id).await.ok();
            complete(caller, &id, json!({"endComment": "done"})).await.ok();
            again().await;
            assert_eq!(show(caller, "done", &id).await.ok().data()["endComment"], "done");
        }
        remove(caller, &id).await.ok();
        again().await;
        show(caller, "done", &id).await.fails(404, "there is no such");
        let mut other = todo(&name, "another title", "mei");
        for form in ["todo", "done"] {
            caller.post(&format!("/api/{form}/create"), &other).await.fails(409, "appTaskId");
        }
        (other["title"], other["creatorId"]) = (json!("approve the budget"), json!("omar"));
        let form = if [0, 2].contains(&status) { "done" } else { "todo" };
        caller.post(&format!("/api/{form}/create"), &other).await.fails(409, "appTaskId");
    }
    assert_eq!(office.found_by("mei").await, (Vec::new(), Vec::new()));
}
