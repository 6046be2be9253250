//! A full disk: writes are refused with 503 and change nothing, searches go on, and so do writes once there is room.

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
/// Items of one call.
const BATCH: usize = 10;

/// Ten items of about 40 KiB each that do not compress away.
fn batch(number: usize) -> Vec<Value> {
    let mut random = fastrand::Rng::with_seed(number as u64);
    (0..BATCH)
        .map(|place| {
            let words: Vec<String> = (0..4_000).map(|_| format!("{:08x}", random.u32(..))).collect();
            let mut item = item(&format!("{number:04}.{place}"), "harbour", NEW_YEAR);
            item["brief"] = words.join(" ").into();
            item
        })
        .collect()
}

/// Writes batches until one is refused; answers those that were taken and the refusal's message.
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
async fn the_disk_of_the_database_is_full_for_a_while() {
    let Some(disk) = SmallDisk::mount(16) else { return };
    let data = disk.path();
    let mut server = Server::start(data).await;
    let application = create_application(data, "acme").await;
    let caller = server.caller(&application).await;
    let (mut taken, message) = write_until_refused(&caller, 0..1_000).await;
    assert!(message.contains("disk is full") || message.contains("cannot write"), "{message}");
    // Searches go on, and more refusals leave nothing behind.
    caller.search(&ARTICLES).await.ok();
    for number in 2_000..2_005 {
        let answer = caller.put("/v1/contents/article", &Value::from(batch(number))).await;
        if answer.status == 200 {
            taken.push(number);
        }
    }

    // Without a restart.
    disk.resize(200);
    caller.put("/v1/contents/article", &Value::from(batch(3_000))).await.ok();
    taken.push(3_000);
    caller.put("/v1/contents/article", &json!([item("small", "harbour", NEW_YEAR)])).await.ok();
    server.settled().await;
    server.until_ready().await;
    let mut expected = ids(taken);
    expected.insert("small".to_owned());
    walk_by_cursor(&caller, &ARTICLES, 100).await.met(expected.clone());

    server.terminate();
    assert!(server.ended().await.success(), "{}", server.log());
    let server = Server::start(data).await;
    let caller = server.caller(&application).await;
    walk_by_cursor(&caller, &ARTICLES, 100).await.met(expected);
}

#[tokio::test]
async fn the_disk_of_the_index_is_full_for_a_while() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    fs::create_dir(data.join("index")).unwrap();
    let Some(disk) = SmallDisk::mount_at(&data.join("index"), 6) else { return };
    let server = Server::start(data).await;
    let application = create_application(data, "acme").await;
    let caller = server.caller(&application).await;
    // Writes go on, and are durable; what is found says that it is behind.
    let mut number = 0;
    eventually("a full disk", async || {
        caller.put("/v1/contents/article", &Value::from(batch(number))).await.ok();
        number += 1;
        let answer = caller.search(&ARTICLES).await.ok();
        (answer.body["partial"] == true).then_some(())
    })
    .await;
    let answer = caller.search(&ARTICLES).await.ok();
    let source = answer.source("builtin:article");
    assert_eq!(source["status"], "ok", "{source}");
    assert!(source["message"].as_str().unwrap().contains("behind"), "{source}");
    assert!(answer.cursor().is_some(), "what is missing may come");
    assert!(server.gauge("trawl_index_behind").await.unwrap() > 0);
    assert_eq!(server.readyz().await.unwrap().status, 503);

    disk.resize(200);
    server.settled().await;
    server.until_ready().await;
    walk_by_cursor(&caller, &ARTICLES, 100).await.met(ids(0..number));
    assert_eq!(server.gauge("trawl_index_behind").await, Some(0));
    drop(server);
}

#[tokio::test]
async fn writes_are_refused_while_less_is_free_than_the_reserve() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    app.keep(&acme.caller, "article", &[item("1", "harbour", NEW_YEAR)]).await;
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
    app.keep(&caller, "article", &[item("2", "harbour", NEW_YEAR)]).await;
    assert_eq!(caller.find("article", "harbour").await.len(), 2);
}
