//! `kill -9` in the middle of a quick handling: the log says what is known, and pressing again works.

use std::fs;

use serde_json::json;
use trawl::store::Store;

use super::{Callback, Entry, Mood, READ, is_from_trawl, log, press, status, to_read};
use crate::util::{
    items::user,
    program::{Server, create_application, create_with_scopes},
};

/// Kills, every other one while the callback has not answered yet, and the rest as it answers.
const KILLS: usize = 6;

#[tokio::test]
async fn a_server_that_is_killed_has_moved_it_and_said_so_or_neither() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    fs::write(data.join("trawl.toml"), "connectors.allow_http_hosts = [\"127.0.0.1\"]\n").unwrap();
    let application = create_application(data, "acme").await;
    let scopes = ["directory:write", "tasks", "contents:read", "act-as-user"];
    let people = create_with_scopes(data, "acme", &scopes).await;
    let callback = Callback::start(Mood::Silent).await;
    let mut server = Server::start(data).await;
    let users = json!([user("mei", "")]);
    server.caller(&people).await.put("/v1/users/sync", &users).await.ok();
    for number in 0..KILLS {
        let task = to_read(&format!("t{number}"), &callback.url);
        let created = server.caller(&application).await.post("/api/todo/create", &task).await.ok();
        let id = created.data()["id"].as_str().unwrap().to_owned();
        let (mood, held) = Mood::held(200);
        callback.set_mood(mood);
        let calls = callback.told().len();
        let pressing = tokio::spawn({
            let (mei, id) = (server.user(&people, "mei").await, id.clone());
            async move {
                let path = format!("/api/todo/quick_deal?todoTaskId={id}");
                mei.request(reqwest::Method::POST, &path).send().await
            }
        });
        callback.was_told(calls + 1).await;
        let is_answered = number % 2 == 1;
        if is_answered {
            held.close();
        }
        server.kill();
        let acknowledged = pressing.await.unwrap().is_ok_and(|answer| answer.status() == 200);

        let store = Store::open(data, 1).await.unwrap();
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
        server.settled().await;
        let module = if is_moved { "done" } else { "todo" };
        assert!(mei.find(module, "approve").await.contains(&id), "{number}");
        callback.set_mood(Mood::Status(200));
        let again = press(&mei, &id).await;
        if is_moved {
            again.fails(409, "this task is read");
        } else {
            again.ok();
        }
        server.settled().await;
        assert!(mei.find("done", "approve").await.contains(&id), "{number}");
        assert!(!mei.find("todo", "approve").await.contains(&id), "{number}");
    }
    let key = application["callbackKey"].as_str().unwrap();
    assert!(callback.told().iter().all(|told| is_from_trawl(told, key)));
}
