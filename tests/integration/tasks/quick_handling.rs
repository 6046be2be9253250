//! `POST /api/todo/quick_deal`.

use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    callback::{Callback, CallbackReply, ReceivedCall},
    internals::{find_callback_key, now_millis},
    items::user,
    quick_handling::{DONE, Desk, READ, TO_DO, TO_READ, is_from_trawl, press, set_status, to_read},
};

#[tokio::test]
async fn callback_with_2xx_completes_the_task_once() {
    let desk = Desk::start().await;
    let store = &desk.app.app.store;
    let key = find_callback_key(store.reader(), &desk.app.app.keys, &desk.acme.client_id).await.unwrap();
    let key = key.unwrap().expose_secret().to_owned();
    for (number, (from, to, answer)) in [(TO_READ, READ, 200), (TO_DO, DONE, 204)].into_iter().enumerate() {
        let callback = Callback::start(CallbackReply::Status(answer)).await;
        let mut task = to_read(&format!("t{number}"), &callback.url);
        task["status"] = json!(from);
        task["appData"] = json!("{\"reason\": \"旅行\"}");
        let id = desk.create(&task).await;
        desk.assert_state(&id, from).await;
        let before = now_millis();
        assert_eq!(desk.press(&id).await.ok().data(), &json!(id));
        desk.assert_state(&id, to).await;

        let [told] = &callback.calls()[..] else { panic!("{:?}", callback.calls()) };
        assert!(told.head.starts_with("post /handled http/1.1"), "{}", told.head);
        assert_eq!(told.header("content-type"), "application/json;charset=utf-8");
        let info = told.json();
        for (field, value) in task.as_object().unwrap() {
            assert_eq!(&info[field], value, "{field}");
        }
        assert_eq!((&info["id"], &info["handlerLoginId"]), (&json!(id), &json!("mei")));
        let handled_at = info["handledAt"].as_i64().unwrap();
        assert!((before..=now_millis()).contains(&handled_at));
        assert_eq!(told.header("x-trawl-delivery"), format!("{id}-{handled_at}"));
        assert!(is_from_trawl(told, &key));
        assert!(!is_from_trawl(told, "another key"));
        let altered = ReceivedCall { body: [&told.body[..], b" "].concat(), ..told.clone() };
        assert!(!is_from_trawl(&altered, &key));

        let [handled] = &desk.log(&id).await[..] else { panic!("not one row") };
        assert_eq!((handled.handler_login_id.as_str(), handled.handled_at), ("mei", handled_at));
        assert_eq!((handled.outcome.as_str(), &handled.message), ("succeeded", &None));
        assert!(handled.took_ms.is_some_and(|took_ms| took_ms >= 0));

        let name = if to == READ { "this task is read" } else { "this task is done" };
        desk.press(&id).await.fails(409, name);
        assert_eq!((callback.calls().len(), desk.log(&id).await.len()), (1, 1));
    }
}

#[tokio::test]
async fn only_the_assignee_handles_tasks_that_support_it() {
    let desk = Desk::start().await;
    let callback = Callback::start(CallbackReply::Status(200)).await;
    let mut task = to_read("t1", &callback.url);
    task["creatorId"] = json!("omar");
    let id = desk.create(&task).await;
    let (omar, lin) = (desk.app.user(&desk.acme, "omar").await, desk.app.user(&desk.acme, "lin").await);
    press(&omar, &id).await.fails(403, "only the assignee");
    press(&lin, &id).await.fails(404, "there is no such task");
    press(&desk.acme.caller, &id).await.fails(403, "needs a user token");
    desk.press("nothing").await.fails(404, "there is no such task");
    desk.press("").await.fails(400, "todoTaskId");
    desk.mei.post_empty("/api/todo/quick_deal").await.fails(400, "todoTaskId");
    let other = desk.app.tenant("other").await;
    desk.app.sync(&other.caller, "users", &json!([user("mei", "")])).await;
    press(&desk.app.user(&other, "mei").await, &id).await.fails(404, "there is no such task");

    for (number, (field, value, named)) in [
        ("quickDeal", json!(true), "quickDeal: "),
        ("quickDeal", Value::Null, "quickDeal: "),
        ("quickDealCallback", Value::Null, "quickDealCallback: this task has none"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut task = to_read(&format!("unsupported{number}"), &callback.url);
        task[field] = value;
        let id = desk.create(&task).await;
        desk.press(&id).await.fails(409, named);
        desk.assert_state(&id, TO_READ).await;
        assert_eq!(desk.log(&id).await, []);
    }
    for (state, answer, named) in [
        (READ, 409, "this task is read"),
        (DONE, 409, "this task is done"),
        (5, 409, "this task is withdrawn"),
        (3, 404, "there is no such task"),
        (6, 404, "there is no such task"),
    ] {
        set_status(&desk.app, &id, state).await;
        desk.press(&id).await.fails(answer, named);
    }
    assert_eq!((callback.connections(), desk.log(&id).await.len()), (0, 0));
}

#[tokio::test]
async fn disabled_application_gets_no_callback() {
    let desk = Desk::start().await;
    let callback = Callback::start(CallbackReply::Status(200)).await;
    let id = desk.create(&to_read("t1", &callback.url)).await;
    let operator = desk.app.operator().await.caller.on("acme");
    let people = desk.app.tenant("acme").await;
    let mei = desk.app.user(&people, "mei").await;
    let path = format!("/admin/v1/applications/{}", desk.acme.client_id);
    operator.put(&path, &json!({"disabled": true})).await.ok();
    press(&mei, &id).await.fails(409, "is disabled");
    operator.delete(&path).await.ok();
    press(&mei, &id).await.fails(409, "is disabled");
    assert_eq!((callback.connections(), desk.log(&id).await.len()), (0, 0));
}

#[tokio::test]
async fn quick_handling_requirements_are_described() {
    let app = TestApp::start().await;
    let description = app.caller("").get("/openapi.json").await.body;
    for path in ["todo/parse", "todo/resume", "done/remove", "todo/quick_deal"] {
        let parameter = &description["paths"][format!("/api/{path}")]["post"]["parameters"][0];
        assert_eq!(
            (&parameter["name"], &parameter["required"]),
            (&json!("todoTaskId"), &json!(true)),
            "{path}"
        );
    }
    let required = &description["components"]["schemas"]["Task"]["required"];
    assert_eq!(required, &json!(["appTaskId", "title", "assigneeLoginId"]));
}
