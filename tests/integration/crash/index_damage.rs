use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::util::{
    caller::Caller,
    items::{NEW_YEAR, item, many},
    paging::{ids_of, walk_by_cursor},
    program::{Server, create_application},
    small_disk::SmallDisk,
};

const ARTICLES: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "article")];
/// Makes a rebuild take longer than a few searches.
const ITEMS: usize = 12_000;

async fn filled(data: &Path, items: &[Value]) -> Value {
    let mut server = Server::start(data).await;
    let application = create_application(data, "acme").await;
    let caller = server.caller(&application).await;
    for batch in items.chunks(1_000) {
        caller.put("/v1/contents/article", &Value::from(batch)).await.ok();
    }
    server.wait_for_index().await;
    server.terminate();
    assert!(server.wait_for_end().await.success());
    application
}

fn files(data: &Path, ending: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(data.join("index")).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.to_str().unwrap().ends_with(ending)).collect()
}

async fn until_healed(server: &Server, caller: &Caller, expected: u64) -> usize {
    let mut partial = 0;
    loop {
        // Read first: an index that is ready now is complete in the search below.
        let is_ready = server.readyz().await.unwrap().status == 200;
        let answer = caller.search(&ARTICLES).await;
        if answer.status == 502 {
            assert!(!is_ready);
            answer.fails_without_sources(502);
        } else if answer.body["partial"] == true {
            let answer = answer.ok();
            let source = answer.source("builtin:article");
            let message = source["message"].as_str().unwrap();
            assert_eq!(source["status"], "ok");
            // A busy machine may still follow the change log.
            assert!(message.contains("being rebuilt") || message.contains("is behind"), "{message}");
            assert!(answer.cursor().is_some(), "the rest can be caught up");
            partial += 1;
        } else {
            assert_eq!(answer.ok().total(), expected, "ready: {is_ready}");
        }
        if is_ready {
            return partial;
        }
    }
}

#[tokio::test]
async fn rebuild_at_startup_serves_searches_and_writes() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let items = many("i", "harbour", ITEMS, 7);
    let application = filled(data, &items).await;
    fs::remove_file(data.join("index/meta.json")).unwrap();
    let server = Server::launch(data, "127.0.0.1:0", &[]).await;
    let caller = server.caller(&application).await;
    let readiness = server.readyz().await.unwrap();
    assert_eq!((readiness.status, &readiness.body["rebuilding"]), (503, &true.into()), "{}", readiness.text);
    assert_eq!(readiness.body["itemsKnown"], ITEMS);
    caller.put("/v1/contents/news", &json!([item("new", "harbour", NEW_YEAR)])).await.ok();
    caller.post("/v1/contents/article/delete", &json!([items[0]["id"], items[ITEMS - 1]["id"]])).await.ok();
    let page = caller.search(&[ARTICLES[0], ARTICLES[1], ("paging", "cursor"), ("limit", "3")]).await.ok();
    let cursor = page.cursor().unwrap();
    assert!(page.body["partial"] == true, "{}", page.text);
    let partial = until_healed(&server, &caller, (ITEMS - 2) as u64).await;
    assert!(partial > 0, "no search ran meanwhile");
    // A cursor issued during the rebuild continues.
    let parameters =
        [ARTICLES[0], ARTICLES[1], ("paging", "cursor"), ("limit", "3"), ("cursor", cursor.as_str())];
    let next = caller.search(&parameters).await.ok();
    assert_eq!((next.items().len(), &next.body["partial"]), (3, &false.into()));
    assert_eq!(caller.find("news", "harbour").await, ["new"]);
    walk_by_cursor(&caller, &ARTICLES, 1_000).await.assert_met(ids_of(&items[1..ITEMS - 1]));
    assert_eq!(server.gauge("trawl_index_rebuilding").await, Some(0));
}

#[tokio::test]
async fn requested_rebuild_keeps_searches_complete() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let items = many("i", "harbour", ITEMS, 7);
    let application = filled(data, &items).await;
    let server = Server::launch(data, "127.0.0.1:0", &["--rebuild-index"]).await;
    let caller = server.caller(&application).await;
    server.wait_until_ready().await;
    let mut is_rebuilding = true;
    while is_rebuilding {
        // Read first: the last search follows the rebuild.
        let readiness = server.readyz().await.unwrap();
        assert_eq!(readiness.status, 200, "{}", readiness.text);
        is_rebuilding = readiness.body["rebuilding"] == true;
        let answer = caller.search(&ARTICLES).await.ok();
        assert_eq!(
            (answer.total(), &answer.body["partial"]),
            (ITEMS as u64, &false.into()),
            "{}",
            answer.text
        );
    }
    assert!(server.log().contains("the full-text index is rebuilt"), "{}", server.log());
    walk_by_cursor(&caller, &ARTICLES, 1_000).await.assert_met(ids_of(&items));
}

/// The index's own tests flip bytes in each kind of file.
#[tokio::test]
async fn flipped_byte_is_detected_at_the_start_and_reported() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let items = many("i", "harbour", 300, 3);
    let application = filled(data, &items).await;
    for file in files(data, ".idx") {
        let content = fs::read(&file).unwrap();
        let place = content.len() / 3;
        let opened = File::options().write(true).open(&file).unwrap();
        opened.write_all_at(&[!content[place]], place as u64).unwrap();
    }
    let server = Server::launch(data, "127.0.0.1:0", &[]).await;
    assert!(server.log().contains("unusable"), "{}", server.log());
    let caller = server.caller(&application).await;
    until_healed(&server, &caller, items.len() as u64).await;
    walk_by_cursor(&caller, &ARTICLES, 1_000).await.assert_met(ids_of(&items));
}

/// Garbles files in place: truncating a mapped one would end the process.
fn garble(data: &Path, ending: &str) {
    for file in files(data, ending) {
        let length = fs::metadata(&file).unwrap().len();
        let garbage = vec![0xA5; usize::try_from(length).unwrap()];
        File::options().write(true).open(&file).unwrap().write_all_at(&garbage, 0).unwrap();
    }
}

#[tokio::test]
async fn damaged_index_file_fails_one_search_and_is_rebuilt() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let items = many("i", "harbour", 3_000, 3);
    let application = filled(data, &items).await;
    let mut server = Server::start(data).await;
    let caller = server.caller(&application).await;
    let (mut left, mut met) = (items.len(), 0);
    for ending in [".store", ".idx", ".term", ".pos", ".fast", ".fieldnorm", ".del"] {
        let caller = caller.at(&server.base);
        let mut is_met = false;
        garble(data, ending);
        // Writes look up old versions; keyword searches read everything except columns.
        let changed: Vec<Value> = items[..left - 1].iter().rev().take(20).cloned().collect();
        caller.put("/v1/contents/article", &Value::from(changed)).await.ok();
        left -= 1;
        caller.post("/v1/contents/article/delete", &json!([items[left]["id"]])).await.ok();
        for keyword in ["harbour", "\"harbour\" -quay", "harb"] {
            let parameters = [("keyword", keyword), ARTICLES[1], ("sort", "relevance")];
            assert!(server.readyz().await.is_some(), "{ending}, before {keyword}: {}", server.log());
            let answer = caller.search(&parameters).await;
            assert!([200, 502].contains(&answer.status), "{ending} {keyword}: {}", answer.text);
            is_met |= answer.status == 502;
        }
        if is_met {
            crate::util::eventually("the damage", async || {
                server.log().contains("removed and rebuilt").then_some(())
            })
            .await;
            met += 1;
        } else {
            // The next start finds undetected damage.
            server.terminate();
            assert!(server.wait_for_end().await.success(), "{ending}: {}", server.log());
            server = Server::start(data).await;
        }
        let caller = caller.at(&server.base);
        crate::util::eventually("a whole index", async || {
            server.readyz().await.filter(|readiness| readiness.status == 200)?;
            let answer = caller.search(&ARTICLES).await;
            (answer.status == 200 && answer.body["partial"] == false).then_some(())
        })
        .await;
        walk_by_cursor(&caller, &ARTICLES, 1_000).await.assert_met(ids_of(&items[..left]));
        // Each kind has a log of its own.
        server.terminate();
        assert!(server.wait_for_end().await.success(), "{ending}: {}", server.log());
        server = Server::start(data).await;
    }
    assert!(met > 2, "too little damage was detected: {met}");
}

#[tokio::test]
async fn unopenable_index_is_opened_once_possible() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let items = many("i", "harbour", 20, 1);
    let application = filled(data, &items).await;
    fs::remove_dir_all(data.join("index")).unwrap();
    fs::create_dir(data.join("index")).unwrap();
    let Some(disk) = SmallDisk::mount_at(&data.join("index"), 50) else { return };
    disk.remount("ro");
    let server = Server::launch(data, "127.0.0.1:0", &[]).await;
    let caller = server.caller(&application).await;
    let failed = caller.search(&ARTICLES).await.fails_without_sources(502);
    assert_eq!(failed.source("builtin:article")["status"], "unavailable");
    caller.put("/v1/contents/article", &json!([item("new", "harbour", NEW_YEAR)])).await.ok();
    disk.remount("rw");
    server.wait_until_ready().await;
    let mut expected = ids_of(&items);
    expected.push("new".to_owned());
    walk_by_cursor(&caller, &ARTICLES, 7).await.assert_met(expected);
}
