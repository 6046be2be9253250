use futures::future::join_all;
use serde_json::json;

use crate::util::{
    items::todo,
    tasks::{Office, complete, created, pause, remove, show},
};

const ROUNDS: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_completions_succeed_once() {
    let office = Office::open().await;
    let (application, mei) = (&office.acme.caller, office.person("mei").await);
    for round in 0..ROUNDS {
        let id = office.task(&round.to_string(), if round % 2 == 0 { 0 } else { 2 }).await;
        let calls = (0..8).map(|number| {
            let (caller, end_type) = match number % 4 {
                0 | 1 => (&mei, 1),
                2 => (application, 1),
                _ => (application, 2),
            };
            let end = json!({"endType": end_type, "endComment": format!("{round}-{number}")});
            complete(caller, &id, end)
        });
        let answers = join_all(calls).await;
        let winners: Vec<usize> = (0..8).filter(|number| answers[*number].status == 200).collect();
        let [winner] = winners.as_slice() else { panic!("{winners:?} ended {id}") };
        let ended = match (winner % 4, round % 2) {
            (3, _) => (5, "withdrawn"),
            (_, 0) => (1, "done"),
            _ => (4, "read"),
        };
        for (number, answer) in answers.into_iter().enumerate() {
            if number == *winner {
                assert_eq!(answer.ok().data(), &json!(id));
            } else {
                answer.fails(409, &format!("this task is {};", ended.1));
            }
        }
        let shown = show(application, "done", &id).await.ok();
        assert_eq!(shown.data()["status"], ended.0);
        assert_eq!(shown.data()["endComment"], format!("{round}-{winner}"));
    }
    let (open, done) = office.found_by("mei").await;
    assert_eq!((open.len(), done.len()), (0, ROUNDS));
}

/// Ending and pausing exclude each other, and so do removals.
#[tokio::test(flavor = "multi_thread")]
async fn exclusive_moves_are_serialised() {
    let office = Office::open().await;
    let caller = &office.acme.caller;
    for round in 0..ROUNDS {
        let id = office.task(&round.to_string(), 0).await;
        let (ended, paused) = tokio::join!(complete(caller, &id, json!({})), pause(caller, &id));
        let status = match (ended.status, paused.status) {
            (200, 409) => 1,
            (409, 200) => 3,
            other => panic!("{other:?}"),
        };
        let module = if status == 1 { "done" } else { "todo" };
        assert_eq!(show(caller, module, &id).await.ok().data()["status"], status);
        if status == 1 {
            let answers = join_all((0..4).map(|_| remove(caller, &id))).await;
            let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 404, 404, 404]);
        }
    }
}

/// The first sender of an id wins; all get the same task ids.
#[tokio::test(flavor = "multi_thread")]
async fn overlapping_batches_create_each_task_once() {
    let office = Office::open().await;
    let caller = &office.acme.caller;
    for round in 0..10 {
        let batch = |title: &'static str, from: usize| {
            let items: Vec<_> =
                (from..from + 40).map(|item| todo(&format!("{round}-{item}"), title, "mei")).collect();
            async move { caller.post("/api/todo/batch_create", &json!(items)).await.ok() }
        };
        let calls = [("budget", 0), ("budget", 20), ("other", 30), ("budget", 0), ("other", 10)];
        let answers = join_all(calls.map(|(title, from)| batch(title, from))).await;
        let mut known = std::collections::HashMap::new();
        for (answer, (title, _)) in answers.iter().zip(calls) {
            let (success, error) = (&answer.data()["success"], &answer.data()["error"]);
            let lists = [(success, true), (error, false)];
            let mut told = 0;
            for (list, is_success) in lists {
                for one in list.as_array().unwrap() {
                    told += 1;
                    let app_task_id = one["appTaskId"].as_str().unwrap().to_owned();
                    let entry = known.entry(app_task_id).or_insert_with(|| (one["id"].clone(), None));
                    assert_eq!(entry.0, one["id"]);
                    if is_success {
                        assert_eq!(*entry.1.get_or_insert(title), title);
                    }
                }
            }
            assert_eq!(told, 40);
        }
        assert_eq!(known.len(), 70);
        for (id, title) in known.into_values() {
            let shown = show(caller, "todo", id.as_str().unwrap()).await.ok();
            assert_eq!(Some(shown.data()["title"].as_str().unwrap()), title);
        }
    }
    let single = todo("single", "approve the budget", "mei");
    let answers = join_all((0..10).map(|_| caller.post("/api/done/create", &single))).await;
    let ids: std::collections::HashSet<String> =
        answers.into_iter().map(|answer| created(&answer.ok())).collect();
    assert_eq!(ids.len(), 1);
}
