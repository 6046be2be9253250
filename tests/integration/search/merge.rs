//! Merged lists against a reference; weights and duplicates.

use std::cmp::Reverse;

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::Caller,
    external::{ExternalSystem, with},
    items::{NEW_YEAR, item, user, word_of_case},
    paging::{ids_of, page_after, walk_by_cursor, walk_by_time},
};

const CASES: u32 = 16;

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
async fn random_lists_are_paged_in_order_by_both_cursors() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut runner = TestRunner::new(trawl_seeds::cases(CASES));
    for number in 0..usize::try_from(trawl_seeds::count(CASES)).unwrap() {
        let case = cases().new_tree(&mut runner).unwrap().current();
        let word = word_of_case(number);
        let mut of_source: [Vec<Value>; 3] = Default::default();
        for (place, (source, time)) in case.items.iter().enumerate() {
            let id = format!("{number:03}-{:03}", (place * 37) % 101);
            of_source[*source].push(item(&format!("{id}-{place}-{source}"), &word, NEW_YEAR + time));
        }
        let time = |item: &Value| item["displayTime"].as_i64().unwrap();
        let id = |item: &Value| item["id"].as_str().unwrap().to_owned();
        of_source[2].sort_by_key(|item| (Reverse(time(item)), id(item)));
        app.put_contents(&acme.caller, "article", &of_source[0]).await;
        app.put_contents(&acme.caller, "news", &of_source[1]).await;

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
        app.register_source(&acme, registration, &module, &order).await;

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
        // A page by time holds all items of each of its timestamps.
        let split = by_time.lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        for end in split.filter(|end| (1..expected.len()).contains(end)) {
            assert_ne!(by_time.times[end - 1], by_time.times[end], "a page splits a millisecond: {case:?}");
        }
    }
}

#[tokio::test]
async fn open_and_restricted_items_merge_into_one_list() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
    let mut items: Vec<Value> =
        (0..300).map(|number| item(&format!("i{number:03}"), "harbour", NEW_YEAR - number / 40)).collect();
    for (number, item) in items.iter_mut().enumerate() {
        match number % 4 {
            0 => item["visibility"] = json!({"users": ["mei"]}),
            1 => item["visibility"] = json!({"users": ["omar", "mei"]}),
            2 => item["visibility"] = json!({"users": ["omar"]}),
            _ => {}
        }
    }
    for batch in items.chunks(70) {
        app.put_contents(&acme.caller, "article", batch).await;
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

#[tokio::test]
async fn writes_during_a_rebuild_are_found() {
    let (app, acme) = TestApp::start_with_acme().await;
    let items = crate::util::items::many("i", "harbour", 6_000, 5);
    app.put_contents(&acme.caller, "article", &items).await;
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
    caller.post("/v1/contents/article/delete", &json!(gone)).await.ok();
    app.wait_for_index().await;
    let mut progress = app.app.index_progress.clone();
    progress.wait_for(|progress| progress.caught_up && !progress.is_rebuilding()).await.unwrap();
    let query = [("keyword", "harbour"), ("moduleId", "article")];
    walk_by_cursor(&caller, &query, 1_000).await.assert_met(ids_of(&[&items[50..], &newer].concat()));
}

async fn two_systems(app: &TestApp) -> (Caller, Caller, [ExternalSystem; 2]) {
    let acme = app.tenant("acme").await;
    let operator = app.operator().await.caller.on("acme");
    let of = |name: &str| (1..=4).map(|rank| item(&format!("{name}{rank}"), "x", NEW_YEAR + rank)).collect();
    let systems = [ExternalSystem::start(of("a")).await, ExternalSystem::start(of("b")).await];
    for (system, id) in systems.iter().zip(["a", "b"]) {
        operator.post("/admin/v1/sources", &ranked(system, id, 1.0)).await.ok();
    }
    let module = json!({"id": "both", "code": "both", "name": "Both", "type": 100, "sources": ["a", "b"]});
    operator.post("/admin/v1/modules", &module).await.ok();
    (acme.caller, operator, systems)
}

fn ranked(system: &ExternalSystem, id: &str, weight: f64) -> Value {
    with(with(system.registration(id), "order", "relevance"), "weight", weight)
}

const BY_RELEVANCE: [(&str, &str); 3] = [("keyword", "x"), ("moduleId", "both"), ("sort", "relevance")];

#[tokio::test]
async fn relevance_rank_follows_source_weights() {
    let app = TestApp::start().await;
    let (caller, operator, [_, second]) = two_systems(&app).await;
    for (weight, expected) in [
        (1.0, ["a1", "b1", "a2", "b2", "a3", "b3", "a4", "b4"]),
        // 1.033 / 63 is still more than 1 / 61, and 1.033 / 64 more than 1 / 62.
        (1.033, ["b1", "b2", "b3", "a1", "b4", "a2", "a3", "a4"]),
        (100.0, ["b1", "b2", "b3", "b4", "a1", "a2", "a3", "a4"]),
        (0.01, ["a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4"]),
    ] {
        operator.put("/admin/v1/sources/b", &ranked(&second, "b", weight)).await.ok();
        assert_eq!(caller.search(&BY_RELEVANCE).await.ok().ids(), expected, "{weight}");
        let by_time = caller.search(&BY_RELEVANCE[..2]).await.ok();
        assert_eq!(by_time.ids(), ["a4", "b4", "a3", "b3", "a2", "b2", "a1", "b1"]);
    }
}

#[tokio::test]
async fn weight_change_between_pages_loses_and_repeats_nothing() {
    let app = TestApp::start().await;
    let (caller, operator, [_, second]) = two_systems(&app).await;
    let mut met = Vec::new();
    let mut cursor = None;
    for weight in [100.0, 0.01, 1.0] {
        operator.put("/admin/v1/sources/b", &ranked(&second, "b", weight)).await.ok();
        let page = page_after(&caller, &BY_RELEVANCE, 3, cursor.as_deref()).await;
        met.extend(page.ids().into_iter().map(str::to_owned));
        cursor = page.cursor();
    }
    assert_eq!(met, ["b1", "b2", "b3", "a1", "a2", "a3", "a4", "b4"]);
    assert_eq!(cursor, None);
}

/// Articles and a system with some of the same items, in the module `all`.
async fn overlapping(app: &TestApp, duplicates: &str) -> (Caller, Caller, ExternalSystem) {
    let acme = app.tenant("acme").await;
    let operator = app.operator().await.caller.on("acme");
    let opens = |id: &str, time: i64, page: u8| {
        let action = json!({"web": format!("[OpenUrl]\nurl=https://wiki.example/{page}")}).to_string();
        with(item(id, "harbour", NEW_YEAR + time), "action", action)
    };
    let articles = [opens("1", 90, 1), opens("2", 80, 2), opens("3", 70, 3), opens("own", 10, 9)];
    app.put_contents(&acme.caller, "article", &articles).await;
    let theirs =
        vec![opens("2", 85, 8), opens("4", 60, 1), opens("3", 50, 3), item("5", "harbour", NEW_YEAR + 40)];
    let system = ExternalSystem::start(theirs).await;
    let source = with(system.registration("x"), "pageSize", 2);
    operator.post("/admin/v1/sources", &source).await.ok();
    let module = json!({
        "id": "all", "code": "all", "name": "All", "type": 101, "sources": ["builtin:article", "x"],
        "duplicates": duplicates,
    });
    operator.post("/admin/v1/modules", &module).await.ok();
    (acme.caller, operator, system)
}

fn also_in(items: &[Value]) -> Vec<(&str, Vec<&str>)> {
    let sources = |item: &Value| item.get("alsoIn").cloned().unwrap_or(json!([]));
    let said = items.iter().filter(|item| sources(item) != json!([]));
    said.map(|item| {
        let sources = item["alsoIn"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
        (item["id"].as_str().unwrap(), sources)
    })
    .collect()
}

const ALL: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "all")];

#[tokio::test]
async fn items_with_equal_ids_are_shown_once_with_their_sources() {
    let app = TestApp::start().await;
    let (caller, operator, _system) = overlapping(&app, "byId").await;
    let page = caller.search(&ALL).await.ok();
    assert_eq!(page.ids(), ["1", "2", "3", "4", "5", "own"]);
    assert_eq!(page.items()[1]["displayTime"], NEW_YEAR + 85, "the newer one is shown");
    assert_eq!(also_in(page.items()), [("2", vec!["builtin:article"]), ("3", vec!["x"])]);
    assert_eq!(page.total(), 8, "the total is the sum of the sources");
    for limit in 1..7 {
        let walk = walk_by_cursor(&caller, &ALL, limit).await;
        assert_eq!(walk.ids, ["1", "2", "3", "4", "5", "own"], "pages of {limit}");
        let by_relevance = [ALL[0], ALL[1], ("sort", "relevance")];
        let mut met = Vec::new();
        let mut cursor = None;
        loop {
            let page = page_after(&caller, &by_relevance, limit, cursor.as_deref()).await;
            met.extend(page.ids().into_iter().map(str::to_owned));
            cursor = page.cursor();
            if cursor.is_none() {
                break;
            }
        }
        met.sort();
        assert_eq!(met, ["1", "2", "3", "4", "5", "own"], "pages of {limit}, by relevance");
    }
    // A page in time order drops its own duplicates only.
    let first = caller.search(&[ALL[0], ALL[1], ("limit", "3")]).await.ok();
    assert_eq!(first.ids(), ["1", "2", "3"]);
    let before = (NEW_YEAR + 70).to_string();
    let rest = caller.search(&[ALL[0], ALL[1], ("cursor", before.as_str())]).await.ok();
    assert_eq!(rest.ids(), ["4", "3", "5", "own"]);
    let rest = caller.search(&[ALL[0], ALL[1], ("cursor", first.cursor().unwrap().as_str())]).await.ok();
    assert_eq!(rest.ids(), ["4", "5", "own"]);

    // The setting takes effect at once; cursors stay valid.
    let mut module = operator.get("/admin/v1/modules/all").await.ok().data().clone();
    assert_eq!(module["duplicates"], "byId");
    module.as_object_mut().unwrap().remove("duplicates");
    operator.put("/admin/v1/modules/all", &module).await.ok();
    let page = caller.search(&ALL).await.ok();
    assert_eq!(page.ids(), ["1", "2", "2", "3", "4", "3", "5", "own"]);
    assert!(!page.text.contains("alsoIn"), "{}", page.text);
    let rest = caller.search(&[ALL[0], ALL[1], ("cursor", first.cursor().unwrap().as_str())]).await.ok();
    assert_eq!(rest.ids(), ["4", "3", "5", "own"]);
}

#[tokio::test]
async fn items_with_equal_urls_are_shown_once() {
    let app = TestApp::start().await;
    let (caller, _, _system) = overlapping(&app, "byAction").await;
    let page = caller.search(&ALL).await.ok();
    assert_eq!(
        page.ids(),
        ["1", "2", "2", "3", "5", "own"],
        "items with equal ids and other URLs are separate"
    );
    assert_eq!(also_in(page.items()), [("1", vec!["x"]), ("3", vec!["x"])]);
    let mut met = Vec::new();
    let mut cursor = None;
    for _ in 0..4 {
        let page = page_after(&caller, &ALL, 2, cursor.as_deref()).await;
        met.extend(page.ids().into_iter().map(str::to_owned));
        cursor = page.cursor();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((met, cursor), (["1", "2", "2", "3", "5", "own"].map(str::to_owned).to_vec(), None));
}
