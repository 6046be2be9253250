//! `PUT /v1/contents/{moduleCode}` and its delete.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    external::with,
    internals::now_millis,
    items::{NEW_YEAR, item},
};

#[tokio::test]
async fn items_are_upserted_and_deleted_by_id() {
    let (app, acme) = TestApp::start_with_acme().await;
    let caller = &acme.caller;
    app.put_contents(caller, "article", &[item("1", "old harbour", NEW_YEAR), item("2", "quay", NEW_YEAR)])
        .await;
    app.put_contents(caller, "article", &[item("1", "new lighthouse", NEW_YEAR + 1)]).await;
    assert_eq!(caller.find("article", "harbour").await, [""; 0], "the old text is found");
    assert_eq!(caller.find("article", "lighthouse").await, ["1"]);

    let gone = caller.post("/v1/contents/article/delete", &json!(["1", "not there", ""])).await.ok();
    assert_eq!(gone.ids(), [""], "only an invalid id fails");
    app.wait_for_index().await;
    assert_eq!(caller.find("article", "lighthouse").await, [""; 0]);
    assert_eq!(caller.find("article", "quay").await, ["2"]);
    caller.post("/v1/contents/article/delete", &json!(["1"])).await.ok();
    app.put_contents(caller, "article", &[item("1", "lighthouse", NEW_YEAR)]).await;
    assert_eq!(caller.find("article", "lighthouse").await, ["1"]);
    for (visibility, found) in [(json!({}), &[][..]), (Value::Null, &["2"])] {
        app.put_contents(caller, "article", &[with(item("2", "quay", NEW_YEAR), "visibility", visibility)])
            .await;
        assert_eq!(caller.find("article", "quay").await, found);
    }
}

#[tokio::test]
async fn item_is_returned_as_sent() {
    let (app, acme) = TestApp::start_with_acme().await;
    let action = json!({"web": "[OpenUrl]\nurl=https://x.example/1"}).to_string();
    let whole = json!({
        "id": "a/b?c=1&文", "title": "Harbour 港口 <b>\"quoted\"</b>", "subTitle": "sub", "brief": "line\n\ttwo",
        "image": "https://x.example/i.png", "author": "Mei Chen 陈梅", "displayTime": NEW_YEAR, "action": action,
        "attachInfo": "info", "attachDescription": "two pictures",
    });
    app.put_contents(&acme.caller, "news", &[whole.clone(), item("bare", "harbour", 0)]).await;
    let answer = acme.caller.search(&[("moduleId", "news"), ("keyword", "harbour")]).await.ok();
    let bare = json!({"id": "bare", "title": "harbour", "displayTime": 0});
    assert_eq!(answer.items(), [whole, bare].map(|item| with(item, "source", "builtin:news")));
    let by_brief = json!({"id": "b", "title": "", "brief": "only a breakwater"});
    app.put_contents(&acme.caller, "news", &[by_brief]).await;
    assert_eq!(acme.caller.find("news", "breakwater").await, ["b"]);
}

#[tokio::test]
async fn item_without_a_time_gets_its_creation_time() {
    let (app, acme) = TestApp::start_with_acme().await;
    let time = async || {
        let answer = acme.caller.search(&[("moduleId", "feed"), ("keyword", "harbour")]).await.ok();
        answer.items()[0]["displayTime"].as_i64().unwrap()
    };
    let before = now_millis();
    app.put_contents(&acme.caller, "feed", &[json!({"id": "1", "title": "harbour"})]).await;
    let created = time().await;
    assert!((before..=now_millis()).contains(&created), "{created}");
    app.put_contents(
        &acme.caller,
        "feed",
        &[json!({"id": "1", "title": "harbour again", "displayTime": null})],
    )
    .await;
    assert_eq!(time().await, created, "a change is not a creation");
    app.put_contents(&acme.caller, "feed", &[item("1", "harbour", 5)]).await;
    assert_eq!(time().await, 5);
}

#[tokio::test]
async fn invalid_items_fail_alone_and_name_their_field() {
    let (app, acme) = TestApp::start_with_acme().await;
    let long = "x".repeat(70_000);
    let batch = json!([
        item("good-1", "harbour", 1),
        {"id": "no-text"},
        {"id": "title", "title": 5},
        {"id": "past", "title": "x", "displayTime": -62_135_596_800_000_i64},
        {"id": "list", "title": "x", "action": "[]"},
        {"title": "no id"},
        {"id": 7, "title": "x"},
        {"id": "time", "title": "x", "displayTime": "yesterday"},
        {"id": "fraction", "title": "x", "displayTime": 1.5},
        {"id": "far", "title": "x", "displayTime": 999_999_999_999_999_i64},
        {"id": "action", "title": "x", "action": "open"},
        {"id": "long", "title": "x", "brief": long},
        {"id": "who", "title": "x", "visibility": {"users": "mei"}},
        {"id": "list", "title": "x", "visibility": [["mei"]]},
        {"id": "text", "title": "x", "visibility": "mei"},
        {"id": "number", "title": "x", "visibility": {"users": [1]}},
        5,
        null,
        item("good-2", "harbour", 2),
    ]);
    let answer = acme.caller.put("/v1/contents/article", &batch).await.ok();
    let expected = [
        ("no-text", "title"),
        ("title", "title"),
        ("past", "displayTime"),
        ("list", "action"),
        ("", "id"),
        ("7", "id"),
        ("time", "displayTime"),
        ("fraction", "displayTime"),
        ("far", "displayTime"),
        ("action", "action"),
        ("long", "brief"),
        ("who", "visibility"),
        ("list", "visibility"),
        ("text", "visibility"),
        ("number", "visibility"),
        ("", ""),
        ("", ""),
    ];
    assert_eq!(answer.items().len(), expected.len(), "{}", answer.text);
    assert_eq!((answer.total(), answer.body["count"].as_u64()), (17, Some(17)));
    for (failure, (id, field)) in answer.items().iter().zip(expected) {
        assert_eq!(failure["id"], id, "{failure}");
        assert!(failure["message"].as_str().unwrap().starts_with(field), "{failure}");
    }
    app.wait_for_index().await;
    assert_eq!(acme.caller.find("article", "harbour").await, ["good-2", "good-1"]);
    assert_eq!(acme.caller.find("article", "x").await, [""; 0]);
    app.put_contents(&acme.caller, "article", &[item("good-1", "first", 1), item("good-1", "second", 1)])
        .await;
    assert_eq!(acme.caller.find("article", "second").await, ["good-1"]);
    assert_eq!(acme.caller.find("article", "first").await, [""; 0]);
}

#[tokio::test]
async fn unknown_and_reserved_modules_are_refused() {
    let (app, acme) = TestApp::start_with_acme().await;
    let batch = json!([item("1", "harbour", 1)]);
    for module in ["todo", "done", "people", "department", "group", "file", "favorite", "message"] {
        let path = format!("/v1/contents/{module}");
        acme.caller.put(&path, &batch).await.fails(400, "moduleCode");
        acme.caller.post(&format!("{path}/delete"), &json!(["1"])).await.fails(400, "moduleCode");
    }
    for module in ["nothing", "Article", "%20", "..%2f", "article%00"] {
        acme.caller.put(&format!("/v1/contents/{module}"), &batch).await.fails(404, "moduleCode");
    }
    assert_eq!(*app.app.store.positions().borrow(), 0);
}

#[tokio::test]
async fn items_of_another_tenant_are_not_found() {
    let app = TestApp::start().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    app.put_contents(&acme.caller, "article", &[item("1", "harbour of acme", 1)]).await;
    app.put_contents(&other.caller, "article", &[item("1", "harbour of other", 2), item("2", "harbour", 1)])
        .await;
    let found = acme.caller.search(&[("moduleId", "article"), ("keyword", "harbour")]).await.ok();
    assert_eq!((found.ids(), found.total()), (vec!["1"], 1));
    assert_eq!(found.items()[0]["title"], "harbour of acme");
    acme.caller.post("/v1/contents/article/delete", &json!(["1", "2"])).await.ok();
    app.wait_for_index().await;
    assert_eq!(other.caller.find("article", "harbour").await, ["1", "2"]);
}

/// Book: explanation/freshness.md.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_of_one_call_become_visible_together() {
    // Makes the indexer's batches smaller than a call.
    let (app, acme) = TestApp::start_acme_with(|config| config.index.batch_changes = 3).await;
    let batch = |round: usize| -> Value {
        (0..20).map(|number| item(&format!("{number:02}"), &format!("harbour round{round}"), 1)).collect()
    };
    acme.caller.put("/v1/contents/article", &batch(0)).await.ok();
    app.wait_for_index().await;
    let searches = Arc::new(AtomicUsize::new(0));
    let writing = {
        let (caller, searches) = (acme.caller.clone(), Arc::clone(&searches));
        tokio::spawn(async move {
            let mut round = 0;
            while round < 30 || searches.load(Ordering::Relaxed) < 30 {
                round += 1;
                caller.put("/v1/contents/article", &batch(round)).await.ok();
            }
            round
        })
    };
    while !writing.is_finished() {
        let query = [("moduleId", "article"), ("keyword", "harbour"), ("limit", "100")];
        let answer = acme.caller.search(&query).await.ok();
        let titles: std::collections::HashSet<&str> =
            answer.items().iter().map(|item| item["title"].as_str().unwrap()).collect();
        assert_eq!((titles.len(), answer.total()), (1, 20), "a mixture: {titles:?}");
        searches.fetch_add(1, Ordering::Relaxed);
    }
    let last = format!("round{}", writing.await.unwrap());
    app.wait_for_index().await;
    assert_eq!(acme.caller.find("article", &last).await.len(), 20);
}
