use std::fs;

use serde_json::json;

use crate::util::{
    callback::{Callback, CallbackReply},
    items::user,
    postgres::open_store,
    program::{Server, create_application, create_with_scopes},
    quick_handling::{Entry, READ, is_from_trawl, log, press, status, to_read},
};

/// Every other kill comes before the callback answers.
const KILLS: usize = 6;

#[tokio::test]
async fn killed_server_moves_and_logs_the_task_or_neither() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    fs::write(data.join("trawl.toml"), "connectors.allow_http_hosts = [\"127.0.0.1\"]\n").unwrap();
    let application = create_application(data, "acme").await;
    let scopes = ["directory:write", "tasks", "contents:read", "act-as-user"];
    let people = create_with_scopes(data, "acme", &scopes).await;
    let callback = Callback::start(CallbackReply::Silent).await;
    let mut server = Server::start(data).await;
    let users = json!([user("mei", "")]);
    server.caller(&people).await.put("/v1/users/sync", &users).await.ok();
    for number in 0..KILLS {
        let task = to_read(&format!("t{number}"), &callback.url);
        let created = server.caller(&application).await.post("/api/todo/create", &task).await.ok();
        let id = created.data()["id"].as_str().unwrap().to_owned();
        let (reply, held) = CallbackReply::held(200);
        callback.set_reply(reply);
        let calls = callback.calls().len();
        let pressing = tokio::spawn({
            let (mei, id) = (server.user(&people, "mei").await, id.clone());
            async move {
                let path = format!("/api/todo/quick_deal?todoTaskId={id}");
                mei.request(reqwest::Method::POST, &path).send().await
            }
        });
        callback.wait_for_calls(calls + 1).await;
        let is_answered = number % 2 == 1;
        if is_answered {
            held.close();
            // The callback answers meanwhile, and the kill comes at any moment of what follows.
            tokio::time::sleep(std::time::Duration::from_micros(fastrand::u64(..20_000))).await;
        }
        server.kill();
        let acknowledged = pressing.await.unwrap().is_ok_and(|answer| answer.status() == 200);

        let store = open_store(data).await;
        let [handled] = &log(&store, &id).await[..] else { panic!("not one row") };
        let is_moved = status(&store, &id).await == READ;
        store.close().await.unwrap();
        assert_eq!(is_moved, handled.outcome == "succeeded", "{handled:?}");
        assert!(is_moved || !acknowledged);
        if !is_moved {
            let Entry { outcome, message, took_ms, .. } = handled;
            assert_eq!((outcome.as_str(), message, took_ms), ("begun", &None, &None));
        }
        assert!(is_answered || !is_moved);

        server = Server::start(data).await;
        let mei = server.user(&people, "mei").await;
        server.wait_for_index().await;
        let module = if is_moved { "done" } else { "todo" };
        assert!(mei.find(module, "approve").await.contains(&id), "{number}");
        callback.set_reply(CallbackReply::Status(200));
        let again = press(&mei, &id).await;
        if is_moved {
            again.fails(409, "this task is read");
        } else {
            again.ok();
        }
        server.wait_for_index().await;
        assert!(mei.find("done", "approve").await.contains(&id), "{number}");
        assert!(!mei.find("todo", "approve").await.contains(&id), "{number}");
    }
    let key = application["callbackKey"].as_str().unwrap();
    assert!(callback.calls().iter().all(|told| is_from_trawl(told, key)));
}
