use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::Caller,
    eventually,
    items::{NEW_YEAR, item},
    paging::walk_by_cursor,
    program::{Server, create_application},
    small_disk::SmallDisk,
};

const ARTICLES: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "article")];
const BATCH: usize = 10;

/// Ten items of about 40 KiB that hardly compress.
///
/// The words are long: the index takes its time for each.
fn batch(number: usize) -> Vec<Value> {
    let mut random = fastrand::Rng::with_seed(number as u64);
    (0..BATCH)
        .map(|place| {
            let mut word = || (0..40).map(|_| random.lowercase()).collect::<String>();
            let words: Vec<String> = (0..1_000).map(|_| word()).collect();
            let mut item = item(&format!("{number:04}.{place}"), "harbour", NEW_YEAR);
            item["brief"] = words.join(" ").into();
            item
        })
        .collect()
}

async fn write_until_refused(caller: &Caller, numbers: std::ops::Range<usize>) -> (Vec<usize>, String) {
    let mut taken = Vec::new();
    for number in numbers {
        let answer = caller.put("/v1/contents/article", &Value::from(batch(number))).await;
        if answer.status == 200 {
            taken.push(number);
        } else {
            let answer = answer.fails(503, "nothing was changed");
            assert!(!answer.header("retry-after").is_empty());
            return (taken, answer.message().to_owned());
        }
    }
    panic!("the disk was never full");
}

fn ids(numbers: impl IntoIterator<Item = usize>) -> BTreeSet<String> {
    numbers
        .into_iter()
        .flat_map(|number| (0..BATCH).map(move |place| format!("{number:04}.{place}")))
        .collect()
}

#[tokio::test]
async fn full_database_disk_refuses_writes_until_space_returns() {
    let Some(disk) = SmallDisk::mount(16) else { return };
    let data = disk.path();
    let mut server = Server::start(data).await;
    let application = create_application(data, "acme").await;
    let caller = server.caller(&application).await;
    let (mut taken, message) = write_until_refused(&caller, 0..1_000).await;
    assert!(message.contains("disk is full") || message.contains("cannot write"), "{message}");
    caller.search(&ARTICLES).await.ok();
    for number in 2_000..2_005 {
        let answer = caller.put("/v1/contents/article", &Value::from(batch(number))).await;
        if answer.status == 200 {
            taken.push(number);
        }
    }

    disk.resize(200);
    caller.put("/v1/contents/article", &Value::from(batch(3_000))).await.ok();
    taken.push(3_000);
    caller.put("/v1/contents/article", &json!([item("small", "harbour", NEW_YEAR)])).await.ok();
    server.wait_for_index().await;
    server.wait_until_ready().await;
    let mut expected = ids(taken);
    expected.insert("small".to_owned());
    walk_by_cursor(&caller, &ARTICLES, 100).await.assert_met(expected.clone());

    server.terminate();
    assert!(server.wait_for_end().await.success(), "{}", server.log());
    let server = Server::start(data).await;
    let caller = server.caller(&application).await;
    walk_by_cursor(&caller, &ARTICLES, 100).await.assert_met(expected);
}

#[tokio::test]
async fn full_index_disk_delays_indexing_until_space_returns() {
    const BATCHES: usize = 5;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    fs::create_dir(data.join("index")).unwrap();
    let Some(disk) = SmallDisk::mount_at(&data.join("index"), 1) else { return };
    let server = Server::start(data).await;
    let application = create_application(data, "acme").await;
    let caller = server.caller(&application).await;
    // Writes are durable while the index is behind; searches report that.
    for number in 0..BATCHES {
        caller.put("/v1/contents/article", &Value::from(batch(number))).await.ok();
    }
    eventually("a full disk", async || server.log().contains("No space left on device").then_some(())).await;
    let answer = eventually("a partial answer", async || {
        Some(caller.search(&ARTICLES).await.ok()).filter(|answer| answer.body["partial"] == true)
    })
    .await;
    let source = answer.source("builtin:article");
    assert_eq!(source["status"], "ok", "{source}");
    assert!(source["message"].as_str().unwrap().contains("behind"), "{source}");
    assert!(answer.cursor().is_some(), "the missing items can be caught up");
    assert!(server.gauge("trawl_index_behind").await.unwrap() > 0);
    assert_eq!(server.readyz().await.unwrap().status, 503);

    disk.resize(200);
    server.wait_for_index().await;
    server.wait_until_ready().await;
    walk_by_cursor(&caller, &ARTICLES, 100).await.assert_met(ids(0..BATCHES));
    assert_eq!(server.gauge("trawl_index_behind").await, Some(0));
    drop(server);
}

#[tokio::test]
async fn free_space_below_the_reserve_refuses_writes() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "harbour", NEW_YEAR)]).await;
    let token = acme.caller.token.clone();
    drop(acme);
    let app = app.restart_with(|config| config.store.reserve_bytes = u64::MAX).await;
    let caller = app.caller(&token);
    let refused = caller.put("/v1/contents/article", &json!([item("2", "harbour", NEW_YEAR)])).await;
    let refused = refused.fails(503, "disk is nearly full");
    assert_eq!(refused.header("retry-after"), "10");
    assert_eq!(caller.find("article", "harbour").await, ["1"]);
    drop(caller);
    let app = app.restart_with(|config| config.store.reserve_bytes = 1).await;
    let caller = app.caller(&token);
    app.put_contents(&caller, "article", &[item("2", "harbour", NEW_YEAR)]).await;
    assert_eq!(caller.find("article", "harbour").await.len(), 2);
}
