//! Searches that find a change of their caller's.

use reqwest::Method;
use serde_json::json;

use crate::util::{
    all_modules::{module_entry, search_all},
    answer::Answer,
    app::{Application, TestApp},
    caller::{Caller, send},
    events::Events,
    items::{item, user},
};

const ROUNDS: i64 = 60;

fn position(answer: &Answer) -> String {
    let position = answer.header("x-trawl-position");
    assert!(position.parse::<i64>().unwrap() > 0, "{position}");
    position.to_owned()
}

async fn put(caller: &Caller, id: &str, title: &str) -> String {
    position(&caller.put("/v1/contents/article", &json!([item(id, title, 1)])).await.ok())
}

async fn search(caller: &Caller, module: &str, keyword: &str, after: &str) -> Answer {
    caller.search(&[("moduleId", module), ("keyword", keyword), ("after", after)]).await.ok()
}

async fn start() -> (TestApp, Application) {
    TestApp::start_with_acme().await
}

#[tokio::test]
async fn search_after_a_write_finds_what_was_written() {
    let (_app, acme) = start().await;
    for round in 0..ROUNDS {
        let id = format!("a{round}");
        let after = put(&acme.caller, &id, &format!("harbour w{round}x")).await;
        let found = search(&acme.caller, "article", &format!("w{round}x"), &after).await;
        assert_eq!((found.ids(), &found.body["partial"]), (vec![id.as_str()], &json!(false)));
        let removed = acme.caller.post("/v1/contents/article/delete", &json!([id])).await.ok();
        let found = search(&acme.caller, "article", &format!("w{round}x"), &position(&removed)).await;
        assert_eq!(found.ids(), Vec::<&str>::new(), "{round}");
    }
}

#[tokio::test]
async fn each_kind_of_write_answers_its_position() {
    let (app, acme) = start().await;
    let synced = acme.caller.put("/v1/users/sync", &json!([user("mei", "")])).await.ok();
    let found = search(&acme.caller, "people", "mei", &position(&synced)).await;
    assert_eq!(found.ids().len(), 1);
    let mei = app.user(&acme, "mei").await;
    let todo = json!({"appTaskId": "t-1", "title": "Harbour dues", "assigneeLoginId": "mei"});
    let created = acme.caller.post("/api/todo/create", &todo).await.ok();
    assert_eq!(search(&mei, "todo", "harbour", &position(&created)).await.ids().len(), 1);
    let group = mei.post("/v1/groups", &json!({"name": "Harbour group", "userIds": ["mei"]})).await.ok();
    assert_eq!(search(&mei, "group", "harbour", &position(&group)).await.ids().len(), 1);

    let read = acme.caller.get("/v1/users/sync").await;
    let refused = acme.caller.put("/v1/contents/nothing", &json!([])).await;
    let found = acme.caller.search(&[("moduleId", "article"), ("keyword", "harbour")]).await;
    for answer in [read, refused, found] {
        assert!(answer.headers.get("x-trawl-position").is_none(), "{}", answer.text);
    }
}

#[tokio::test]
async fn search_of_all_modules_finds_what_was_written() {
    let (_app, acme) = start().await;
    for round in 0..10 {
        let word = format!("w{round}x");
        let after = put(&acme.caller, &word, &word).await;
        let parameters = [("keyword", word.as_str()), ("after", after.as_str())];
        let answer = search_all(&acme.caller, &parameters).await.ok();
        assert_eq!(module_entry(answer.items(), "article")["count"], 1);
        let after = put(&acme.caller, &word, &format!("{word} anew")).await;
        let parameters = [("keyword", "anew"), ("after", after.as_str())];
        let (modules, done) =
            Events::open(&acme.caller, "/contents/search/all", &parameters).await.read_to_end().await;
        assert_eq!(
            (&module_entry(&modules, "article")["total"], &done["partial"]),
            (&json!(round + 1), &json!(false))
        );
    }
}

#[tokio::test]
async fn change_that_is_not_indexed_by_the_deadline_is_told() {
    let (_app, acme) = start().await;
    let after: i64 = put(&acme.caller, "a", "harbour").await.parse().unwrap();
    let later = (after + 1_000).to_string();
    // A tenth of the time, a second, is left for the search.
    let body =
        json!({"moduleId": "article", "keyword": "harbour", "after": after + 1_000, "timeout": 10_000});
    let request = acme.caller.request(Method::POST, "/contents/search").json(&body);
    let sorted = |sort| send(request.try_clone().unwrap().query(&[("sort", sort)]));
    for answer in <[Answer; 2]>::from(tokio::join!(sorted("time"), sorted("relevance"))) {
        let answer = answer.ok();
        assert_eq!((answer.ids(), &answer.body["partial"]), (vec!["a"], &json!(true)));
        let report = answer.source("builtin:article");
        assert_eq!(report["status"], "ok");
        assert!(report["message"].as_str().unwrap().contains(&later), "{report}");
    }
    for wrong in ["-1", "x", "1.5", "9223372036854775808"] {
        let parameters = [("moduleId", "article"), ("keyword", "harbour"), ("after", wrong)];
        acme.caller.search(&parameters).await.fails(400, "after");
    }
    assert_eq!(search(&acme.caller, "article", "harbour", "0").await.ids(), ["a"]);
}
