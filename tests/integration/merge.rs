//! Lists of several sources with random times, against what a sort says they must be (decisions 5.2–5.4).

use std::cmp::Reverse;

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::Value;

use crate::util::{
    app::TestApp,
    external::ExternalSystem,
    items::{NEW_YEAR, item, user},
    paging::{ids_of, walk_by_cursor, walk_by_time},
};

/// How many lists are tried.
const CASES: usize = 40;

/// One list: for each item its source and its time; the length of pages, and of the external system's.
#[derive(Clone, Debug)]
struct Case {
    items: Vec<(usize, i64)>,
    limit: usize,
    external_limit: usize,
    order: Vec<&'static str>,
}

fn cases() -> impl Strategy<Value = Case> {
    let items = prop::collection::vec((0_usize..3, 0_i64..12), 0..90);
    let order = Just(vec!["builtin:article", "builtin:news", "x"]).prop_shuffle();
    (items, 1_usize..25, 1_usize..12, order).prop_map(|(items, limit, external_limit, order)| Case {
        items,
        limit,
        external_limit,
        order,
    })
}

#[tokio::test]
async fn random_lists_come_in_their_order_by_both_cursors() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let mut runner = TestRunner::deterministic();
    for number in 0..CASES {
        let case = cases().new_tree(&mut runner).unwrap().current();
        // A word of its own keeps the built-in items of one case apart from the others'.
        let word = format!("case{number:03}x");
        let mut of_source: [Vec<Value>; 3] = Default::default();
        for (place, (source, time)) in case.items.iter().enumerate() {
            let id = format!("{number:03}-{:03}", (place * 37) % 101);
            of_source[*source].push(item(&format!("{id}-{place}-{source}"), &word, NEW_YEAR + time));
        }
        let time = |item: &Value| item["displayTime"].as_i64().unwrap();
        let id = |item: &Value| item["id"].as_str().unwrap().to_owned();
        of_source[2].sort_by_key(|item| (Reverse(time(item)), id(item)));
        app.keep(&acme.caller, "article", &of_source[0]).await;
        app.keep(&acme.caller, "news", &of_source[1]).await;

        let system = ExternalSystem::start(of_source[2].clone()).await;
        let source_id = format!("x{number}");
        let mut registration = system.registration(&source_id);
        registration["pageSize"] = case.external_limit.into();
        let order: Vec<&str> = case
            .order
            .iter()
            .map(|source| if *source == "x" { source_id.as_str() } else { source })
            .collect();
        let module = format!("all{number}");
        app.show(&acme, registration, &module, &order).await;

        let mut expected: Vec<(Reverse<i64>, usize, String)> = Vec::new();
        for (source, name) in ["builtin:article", "builtin:news", "x"].iter().enumerate() {
            let place = case.order.iter().position(|other| other == name).unwrap();
            expected.extend(of_source[source].iter().map(|item| (Reverse(time(item)), place, id(item))));
        }
        expected.sort_unstable();
        let expected: Vec<String> = expected.into_iter().map(|(.., id)| id).collect();
        let query = [("keyword", word.as_str()), ("moduleId", module.as_str())];
        let exact = walk_by_cursor(&acme.caller, &query, case.limit).await;
        assert_eq!(exact.ids, expected, "by the opaque cursor: {case:?}");
        let by_time = walk_by_time(&acme.caller, &query, case.limit).await;
        assert_eq!(by_time.ids, expected, "by the time: {case:?}");
        // Of each item of one time, the page by time holds all.
        let split = by_time.lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        for end in split.filter(|end| (1..expected.len()).contains(end)) {
            assert_ne!(by_time.times[end - 1], by_time.times[end], "a page splits a millisecond: {case:?}");
        }
    }
}

/// What the whole tenant sees and what only he sees, in one list with the same times.
#[tokio::test]
async fn open_and_restricted_items_are_one_list() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    app.sync(&acme.caller, "users", &serde_json::json!([user("mei", ""), user("omar", "")])).await;
    let mut items: Vec<Value> =
        (0..300).map(|number| item(&format!("i{number:03}"), "harbour", NEW_YEAR - number / 40)).collect();
    for (number, item) in items.iter_mut().enumerate() {
        match number % 4 {
            0 => item["visibility"] = serde_json::json!({"users": ["mei"]}),
            1 => item["visibility"] = serde_json::json!({"users": ["omar", "mei"]}),
            2 => item["visibility"] = serde_json::json!({"users": ["omar"]}),
            _ => {}
        }
    }
    // Over several segments.
    for batch in items.chunks(70) {
        app.keep(&acme.caller, "article", batch).await;
    }
    let seen = |places: &'static [usize]| -> Vec<String> {
        let items = items.iter().enumerate().filter(|(number, _)| places.contains(&(number % 4)));
        items.map(|(_, item)| item["id"].as_str().unwrap().to_owned()).collect()
    };
    let query = [("keyword", "harbour"), ("moduleId", "article")];
    for (caller, expected) in [
        (app.user(&acme, "mei").await, seen(&[0, 1, 3])),
        (app.user(&acme, "omar").await, seen(&[1, 2, 3])),
        (acme.caller.clone(), seen(&[3])),
    ] {
        for limit in [1, 11, 200] {
            assert_eq!(walk_by_cursor(&caller, &query, limit).await.ids, expected);
            assert_eq!(walk_by_time(&caller, &query, limit).await.ids, expected);
        }
        assert_eq!(caller.search(&query).await.ok().total(), expected.len() as u64);
    }
}

/// Writes that are acknowledged while the index is filled anew are found afterwards.
#[tokio::test]
async fn writes_during_a_rebuild_are_found() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let items = crate::util::items::many("i", "harbour", 6_000, 5);
    app.keep(&acme.caller, "article", &items).await;
    let token = acme.caller.token.clone();
    drop(acme);
    let app = app.restart_rebuilding().await;
    let caller = app.caller(&token);
    let newer: Vec<Value> =
        (0..40).map(|number| item(&format!("new{number:02}"), "harbour", NEW_YEAR + 1)).collect();
    let batches: Vec<Value> = newer.chunks(2).map(Value::from).collect();
    let writes = batches.iter().map(|batch| caller.put("/v1/contents/article", batch));
    for answer in futures::future::join_all(writes).await {
        answer.ok();
    }
    let gone = ids_of(&items[..50]);
    caller.post("/v1/contents/article/delete", &serde_json::json!(gone)).await.ok();
    app.settled().await;
    let mut progress = app.app.index_progress.clone();
    progress.wait_for(|progress| progress.caught_up && !progress.rebuilding).await.unwrap();
    let query = [("keyword", "harbour"), ("moduleId", "article")];
    walk_by_cursor(&caller, &query, 1_000).await.met(ids_of(&[&items[50..], &newer].concat()));
}
