//! Lists of several sources: weights, duplicates, and an index that is rebuilt.

use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    external::{ExternalSystem, with},
    items::{NEW_YEAR, item, many},
    paging::{ids_of, walk_by_cursor},
};

#[tokio::test]
async fn writes_during_a_rebuild_are_found() {
    let (app, acme) = TestApp::start_with_acme().await;
    let items = many("i", "harbour", 6_000, 5);
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
    app.wait_for_rebuild().await;
    let query = [("keyword", "harbour"), ("moduleId", "article")];
    walk_by_cursor(&caller, &query, 1_000).await.assert_met(ids_of(&[&items[50..], &newer].concat()));
}

#[tokio::test]
async fn relevance_rank_follows_source_weights() {
    let (app, operator) = TestApp::start_operated().await;
    let caller = app.tenant("acme").await.caller;
    let of = |name: &str| (1..=4).map(|rank| item(&format!("{name}{rank}"), "x", NEW_YEAR + rank)).collect();
    let [first, second] = [ExternalSystem::start(of("a")).await, ExternalSystem::start(of("b")).await];
    let ranked = |system: &ExternalSystem, id: &str, weight: f64| {
        with(with(system.registration(id), "order", "relevance"), "weight", weight)
    };
    operator.post("/admin/v1/sources", &ranked(&first, "a", 1.0)).await.ok();
    operator.register_source(&ranked(&second, "b", 1.0), "both", &["a", "b"]).await;
    let query = [("keyword", "x"), ("moduleId", "both"), ("sort", "relevance")];
    for (weight, expected) in [
        (1.0, ["a1", "b1", "a2", "b2", "a3", "b3", "a4", "b4"]),
        // 1.033 / 63 is still more than 1 / 61, and 1.033 / 64 more than 1 / 62.
        (1.033, ["b1", "b2", "b3", "a1", "b4", "a2", "a3", "a4"]),
    ] {
        operator.put("/admin/v1/sources/b", &ranked(&second, "b", weight)).await.ok();
        assert_eq!(caller.search(&query).await.ok().ids(), expected, "{weight}");
        let by_time = caller.search(&query[..2]).await.ok();
        assert_eq!(by_time.ids(), ["a4", "b4", "a3", "b3", "a2", "b2", "a1", "b1"]);
    }
}

#[tokio::test]
async fn duplicates_are_shown_as_their_module_says() {
    let (app, operator) = TestApp::start_operated().await;
    let caller = app.tenant("acme").await.caller;
    let opens = |id: &str, time: i64, page: u8| {
        let action = json!({"web": format!("[OpenUrl]\nurl=https://wiki.example/{page}")}).to_string();
        with(item(id, "harbour", NEW_YEAR + time), "action", action)
    };
    let articles = [opens("1", 90, 1), opens("2", 80, 2), opens("3", 70, 3), opens("own", 10, 9)];
    app.put_contents(&caller, "article", &articles).await;
    let theirs =
        vec![opens("2", 85, 8), opens("4", 60, 1), opens("3", 50, 3), item("5", "harbour", NEW_YEAR + 40)];
    let system = ExternalSystem::start(theirs).await;
    operator.register_source(&system.registration("x"), "all", &["builtin:article", "x"]).await;
    let module = operator.get("/admin/v1/modules/id-of-all").await.ok().data().clone();
    for (setting, ids, also_in) in [
        ("keep", &["1", "2", "2", "3", "4", "3", "5", "own"][..], vec![]),
        (
            "byId",
            &["1", "2", "3", "4", "5", "own"],
            vec![("2", json!(["builtin:article"])), ("3", json!(["x"]))],
        ),
        ("byAction", &["1", "2", "2", "3", "5", "own"], vec![("1", json!(["x"])), ("3", json!(["x"]))]),
    ] {
        operator.put("/admin/v1/modules/id-of-all", &with(module.clone(), "duplicates", setting)).await.ok();
        let page = caller.search(&[("keyword", "harbour"), ("moduleId", "all")]).await.ok();
        assert_eq!((page.ids(), page.total()), (ids.to_vec(), 8), "the total is the sum of the sources");
        let named =
            page.items().iter().filter_map(|item| Some((item["id"].as_str()?, item.get("alsoIn")?.clone())));
        assert_eq!(named.collect::<Vec<_>>(), also_in, "{setting}");
    }
}
