//! Memory of the server while it takes what others sent.

use std::{fs, path::Path, time::Duration};

use reqwest::Method;
use serde_json::json;
use tokio::time::sleep;

use crate::util::{
    caller::{Caller, send},
    feed_server::{FeedReply, FeedServer},
    program::{Server, create_application, create_operator},
    sizes::size,
    subscriptions::{SUBSCRIPTIONS, feed, form_of_view, write_views},
};

/// Maximum growth of the server, beyond what it holds idle.
const MAX_GROWTH: u64 = 128 << 20;

async fn start(directory: &Path, settings: &str) -> (Server, Caller) {
    fs::write(directory.join("trawl.toml"), settings).unwrap();
    let server = Server::start(directory).await;
    let operator = create_operator(directory, "acme").await;
    let operator = server.caller(&operator).await.on("acme");
    (server, operator)
}

/// Fails if the server grows by more than it may meanwhile.
async fn within_memory<T>(server: &Server, what: &str, work: impl Future<Output = T>) -> T {
    let idle = server.begin_peak();
    let done = work.await;
    let growth = server.peak().saturating_sub(idle) >> 20;
    println!("{what}: {growth} MiB beside {} MiB idle", idle >> 20);
    assert!(growth << 20 <= MAX_GROWTH, "{what} took {growth} MiB");
    done
}

#[tokio::test]
async fn feed_of_many_empty_items_is_read_in_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let (server, operator) =
        start(directory.path(), "[connectors]\nallow_http_hosts = [\"127.0.0.1\"]\n").await;
    let feeds = FeedServer::start().await;
    let count = size(100_000, 300_000);
    let document = format!("<rss><channel>{}</channel></rss>", "<item/>".repeat(count));
    feeds.reply_once("/a", FeedReply::Body(document.clone()));
    let form = feed("a", &feeds.url("127.0.0.1", "/a"));
    let shown = within_memory(&server, "a subscription", operator.subscribe(&form)).await;
    assert_eq!(shown["lastRun"]["refused"], json!(count), "{shown}");
    let first = &shown["lastRun"]["problems"][0];
    assert_eq!(first["reason"], "entry 1 (line 1): id: is required");

    let request = operator.request(Method::POST, "/admin/v1/contents/article/import");
    let sent = send(request.header("content-type", "application/octet-stream").body(document));
    let report = within_memory(&server, "an import", sent).await.ok().data().clone();
    assert_eq!(report["rejected"], json!(count));
}

#[tokio::test]
async fn feed_of_ten_thousand_items_is_read_in_bounded_memory() {
    const COUNT: usize = 10_000;
    let directory = tempfile::tempdir().unwrap();
    let (server, operator) =
        start(directory.path(), "[connectors]\nallow_http_hosts = [\"127.0.0.1\"]\n").await;
    let text = "tide and harbour ".repeat(35);
    let item = |number: usize| {
        format!(
            "<item><guid>{number}</guid><title>Quay {number}</title><description>{text}</description></item>"
        )
    };
    let document = format!("<rss><channel>{}</channel></rss>", (0..COUNT).map(item).collect::<String>());
    let feeds = FeedServer::start().await;
    feeds.reply_once("/a", FeedReply::Body(document));
    let form = feed("a", &feeds.url("127.0.0.1", "/a"));
    let shown = within_memory(&server, "ten thousand items", operator.subscribe(&form)).await;
    assert_eq!(shown["lastRun"]["added"], json!(COUNT), "{shown}");
}

#[tokio::test]
async fn query_with_huge_ids_and_cursors_is_read_in_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("shared");
    let rows = |id: &str, version: &str| {
        format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 60) SELECT {id}, 'harbour', {version} FROM n"
        )
    };
    let huge = "printf('%d%.*c', n, 2000000, 'x')";
    let views = [("ids", rows(huge, "n")), ("cursors", rows("n", huge))];
    let file = write_views(&folder, &views.each_ref().map(|(name, columns)| (*name, columns.as_str()))).await;
    let settings = format!("[subscriptions]\nfolders = [\"{}\"]\n", folder.display());
    let (server, operator) = start(directory.path(), &settings).await;
    let shown = within_memory(&server, "huge ids", operator.subscribe(&form_of_view(&file, "ids"))).await;
    assert_eq!([&shown["lastRun"]["refused"], &shown["items"]], [&json!(60), &json!(0)], "{shown}");
    let reason = &shown["lastRun"]["problems"][0]["reason"];
    assert_eq!(reason, "id: must be at most 8,192 characters");
    let shown =
        within_memory(&server, "huge cursors", operator.subscribe(&form_of_view(&file, "cursors"))).await;
    let reason = shown["lastRun"]["error"].as_str().unwrap();
    assert!(reason.starts_with("sql.cursorColumn: must hold"), "{shown}");
}

#[tokio::test]
async fn column_that_is_too_long_to_sort_by_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("shared");
    let rows = |id: &str, version: &str| {
        format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 60) SELECT {id}, 'harbour', {version} FROM n"
        )
    };
    let huge = "printf('%d%.*c', n, 20000000, 'x')";
    let views = [("ids", rows(huge, "n")), ("cursors", rows("n", huge))];
    let file = write_views(&folder, &views.each_ref().map(|(name, columns)| (*name, columns.as_str()))).await;
    let settings = format!("[subscriptions]\nfolders = [\"{}\"]\n", folder.display());
    let (server, operator) = start(directory.path(), &settings).await;
    for (view, named) in [("ids", "id has values"), ("cursors", "sql.cursorColumn has values")] {
        let shown = within_memory(&server, view, operator.subscribe(&form_of_view(&file, view))).await;
        let reason = shown["lastRun"]["error"].as_str().unwrap();
        assert!(reason.contains(named) && reason.contains("20,000,002 bytes"), "{shown}");
    }
}

#[tokio::test]
async fn query_that_never_ends_is_ended_and_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("shared");
    // One step of SQLite's machine, which looks at no clock.
    let endless =
        "SELECT 1, 'harbour', instr(printf('%.*c', 90000000, 'a'), printf('%.*c', 40000000, 'a') || 'b')";
    let file = write_views(&folder, &[("endless", endless)]).await;
    let settings = format!(
        "[connectors]\nallow_http_hosts = [\"127.0.0.1\"]\n[subscriptions]\nfolders = [\"{}\"]\n",
        folder.display()
    );
    let (server, operator) = start(directory.path(), &settings).await;
    let form = form_of_view(&file, "endless");
    let ends = async {
        operator.post(SUBSCRIPTIONS, &form).await.ok();
        // It ends after more than a test usually waits.
        loop {
            let shown = operator.subscription("endless").await;
            if shown["runs"] == json!(1) {
                return shown;
            }
            sleep(Duration::from_secs(1)).await;
        }
    };
    let feeds = FeedServer::start().await;
    feeds.set_entries("/a", &[("1", "harbour")]);
    let others = async {
        let shown = operator.subscribe(&feed("a", &feeds.url("127.0.0.1", "/a"))).await;
        assert_eq!(shown["items"], json!(1), "{shown}");
    };
    let (shown, ()) = tokio::join!(within_memory(&server, "an endless query", ends), others);
    let reason = shown["lastRun"]["error"].as_str().unwrap();
    // The clock ends it where others leave it little of a processor.
    let reasons = ["takes more than 65 seconds of processor time", "did not answer in time"];
    assert!(reasons.iter().any(|expected| reason.contains(expected)), "{shown}");
    assert_eq!(server.processes_of("read-sqlite"), 0);
}

#[tokio::test]
async fn long_lists_in_bodies_are_paid_for_by_what_they_become() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = start(directory.path(), "").await;
    let application = create_application(directory.path(), "acme").await;
    let caller = server.caller(&application).await;
    let list = |values: usize| format!("[{}\"\"]", "\"\",".repeat(values - 1));
    let sync = async |body: String| caller.send_text(Method::PUT, "/v1/users/sync", body).await;
    let many = format!("[{{\"userId\": \"u\", \"deputyOrgIds\": {}}}]", list(8_000_000));
    for body in [many, list(8_000_000), format!("[{{\"userId\": {}}}]", list(8_000_000))] {
        let refused = within_memory(&server, "eight million values", sync(body)).await;
        refused.fails(413, "body: must hold at most");
    }
    let some = format!("[{{\"userId\": \"u\", \"deputyOrgIds\": {}}}]", list(500_000));
    let answer = within_memory(&server, "half a million values", sync(some)).await.ok();
    assert!(answer.text.contains("deputyOrgIds: must be"), "{}", answer.text);
}
