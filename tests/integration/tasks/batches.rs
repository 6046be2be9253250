//! Batches of both forms.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    items::todo,
    tasks::{Office, created, show},
};

fn names<'a>(answer: &'a Answer, list: &str) -> Vec<&'a str> {
    let list = answer.data()[list].as_array().unwrap();
    list.iter().map(|one| one["appTaskId"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn item_results_are_in_request_order() {
    let office = Office::open().await;
    let caller = &office.acme.caller;
    for (form, wrong_status) in [("todo", 1), ("done", 0)] {
        let named = |name: &str| format!("{form}-{name}");
        let known = created(
            &caller.post(&format!("/api/{form}/create"), &todo(&named("known"), "budget", "mei")).await.ok(),
        );
        let with = |name: &str, field: &str, value: Value| {
            let mut task = todo(&named(name), "budget", "mei");
            task[field] = value;
            task
        };
        let batch = json!([
            with("status", "status", json!(wrong_status)),
            todo(&named("a"), "budget", "mei"),
            todo(&named("known"), "something else", "mei"),
            todo(&named("known"), "budget", "mei"),
            with("action", "action", json!("{\"web\": 5}")),
            todo(&named("a"), "budget", "mei"),
            todo(&named("a"), "something else", "mei"),
            "no object",
            todo(&named("b"), "", "mei"),
            // The first item of this id was invalid, this one is valid.
            todo(&named("b"), "budget", "mei"),
            with("c", "quickDealCallback", json!("nowhere")),
            {"title": "budget", "assigneeLoginId": "mei"},
            with("d", "title", json!(7)),
        ]);
        let answer = caller.post(&format!("/api/{form}/batch_create"), &batch).await.ok();
        assert_eq!(names(&answer, "success"), ["a", "known", "a", "b"].map(named));
        let failed = ["status", "known", "action", "a", "", "b", "c", "", "d"];
        let failed = failed.map(|name| if name.is_empty() { String::new() } else { named(name) });
        assert_eq!(names(&answer, "error"), failed);
        let success = &answer.data()["success"];
        assert_eq!((&success[1]["id"], &success[0]["id"]), (&json!(known), &success[2]["id"]));
        let fields = [
            "status:",
            "appTaskId:",
            "action:",
            "appTaskId:",
            "must be an object",
            "title:",
            "quickDealCallback:",
            "appTaskId:",
            "title:",
        ];
        let ids = [None, Some(&known), None, Some(&created_of(success, 0)), None, None, None, None, None]
            .map(|id| id.map_or(Value::Null, |id| json!(id)));
        for (index, error) in answer.data()["error"].as_array().unwrap().iter().enumerate() {
            assert!(error["message"].as_str().unwrap().starts_with(fields[index]), "{index}: {error}");
            assert_eq!(error["id"], ids[index], "{index}");
            assert_eq!(error.as_object().unwrap().len(), 3);
        }
        // Invalid items leave the call successful; an invalid or oversized list fails it.
        caller.post(&format!("/api/{form}/batch_create"), &json!({})).await.fails(400, "body");
        let long: Value = (0..1_001).map(|number| todo(&number.to_string(), "t", "mei")).collect();
        caller.post(&format!("/api/{form}/batch_create"), &long).await.fails(400, "at most 1,000");
        let bad = json!([todo("x", "", "mei")]);
        let bad = caller.post(&format!("/api/{form}/batch_create"), &bad).await.ok();
        assert_eq!((names(&bad, "success").len(), names(&bad, "error").len()), (0, 1));
        let empty = caller.post(&format!("/api/{form}/batch_create"), &json!([])).await.ok();
        assert_eq!(empty.data(), &json!({"success": [], "error": []}));
    }
    let (open, done) = office.found_by("mei").await;
    assert_eq!((open.len(), done.len()), (3, 3));
}

fn created_of(list: &Value, place: usize) -> String {
    list[place]["id"].as_str().unwrap().to_owned()
}

/// Half of the tasks exist; assignees are known and unknown.
#[tokio::test]
async fn large_batch_keeps_order_times_and_assignees() {
    let office = Office::open().await;
    let caller = &office.acme.caller;
    let logins = ["mei", "omar", "nobody", "lin"];
    let task = |number: usize| {
        let mut task = todo(&format!("n{number}"), "approve the budget", logins[number % 4]);
        task["status"] = json!([1, 4, 5][number % 3]);
        task["endComment"] = json!(format!("comment {number}"));
        task
    };
    let half: Value = (0..1_000).step_by(2).map(task).collect();
    let before = caller.post("/api/done/batch_create", &half).await.ok();
    let position = *office.app.app.store.positions().borrow();
    let all: Value = (0..1_000).map(task).collect();
    let answer = caller.post("/api/done/batch_create", &all).await.ok();
    let expected: Vec<String> = (0..1_000).map(|number| format!("n{number}")).collect();
    assert_eq!(names(&answer, "success"), expected);
    let success = &answer.data()["success"];
    for number in (0..1_000).step_by(2) {
        assert_eq!(success[number], before.data()["success"][number / 2]);
    }
    // Existing tasks were not written again.
    assert_eq!(*office.app.app.store.positions().borrow() - position, 500);
    assert_eq!(caller.post("/api/done/batch_create", &all).await.ok().data(), answer.data());
    assert_eq!(*office.app.app.store.positions().borrow() - position, 500);

    office.app.sync(caller, "users", &json!([crate::util::items::user("nobody", "")])).await;
    office.app.wait_for_index().await;
    let mut times = HashSet::new();
    for (place, login) in logins.into_iter().enumerate() {
        let person = office.person(login).await;
        let found =
            person.search(&[("moduleId", "done"), ("keyword", "budget"), ("limit", "1000")]).await.ok();
        let mut ids = found.ids();
        // The last item of a batch is its newest; the second batch is later.
        let place_of = |id: &str| (0..1_000).find(|number| success[*number]["id"] == id).unwrap();
        assert_eq!(ids.len(), 250);
        for id in &ids {
            assert_eq!(place_of(id) % 4, place);
        }
        let numbers: Vec<usize> = ids.iter().map(|id| place_of(id)).collect();
        assert!(numbers.is_sorted_by(|first, second| first > second), "{numbers:?}");
        times.extend(found.items().iter().map(|item| (place % 2, item["displayTime"].as_i64().unwrap())));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 250);
        let number = numbers[0];
        let shown = show(&person, "done", &created_of(success, number)).await.ok();
        assert_eq!(shown.data()["endComment"], format!("comment {number}"));
        assert_eq!(shown.data()["status"], [1, 4, 5][number % 3]);
    }
    assert_eq!(times.len(), 1_000);
}

/// Book: explanation/freshness.md.
#[tokio::test(flavor = "multi_thread")]
async fn batch_becomes_visible_as_a_whole() {
    let office = Office::open().await;
    let mei = office.person("mei").await;
    for round in 0..6_u64 {
        let batch: Value =
            (0..700).map(|number| todo(&format!("{round}-{number}"), "approve the budget", "mei")).collect();
        let writing = async {
            office.acme.caller.post("/api/todo/batch_create", &batch).await.ok();
            office.app.wait_for_index().await;
        };
        let looking = async {
            loop {
                let found =
                    mei.search(&[("moduleId", "todo"), ("keyword", "budget"), ("limit", "1")]).await.ok();
                assert_eq!(found.total() % 700, 0);
                if found.total() == 700 * (round + 1) {
                    return;
                }
            }
        };
        tokio::join!(writing, looking);
    }
}
