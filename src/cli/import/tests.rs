//! The command against a fake server.

mod server;

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::server::{CLIENT_ID, CLIENT_SECRET, ScriptedReply, TestServer};
use super::console::Console;
use super::report::ImportReport;
use super::sender::RetryLimits;
use super::{Import, ImportOptions};

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    options: ImportOptions,
}

struct TestImport {
    server: TestServer,
    address: String,
    directory: tempfile::TempDir,
    retry_limits: RetryLimits,
}

impl TestImport {
    async fn new() -> Self {
        let server = TestServer::default();
        let address = server.start().await;
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("secret"), CLIENT_SECRET).unwrap();
        Self { server, address, directory, retry_limits: RETRY_LIMITS }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn options(&self, arguments: &str, file: &Path) -> ImportOptions {
        let secret = self.path("secret");
        let mut words =
            vec!["import", "--server", &self.address, "--client-id", CLIENT_ID, "--client-secret-file"];
        words.push(secret.to_str().unwrap());
        words.extend(arguments.split_whitespace());
        words.push(file.to_str().unwrap());
        Program::try_parse_from(words).unwrap().options
    }

    async fn import(&self, arguments: &str, file: &Path) -> ImportReport {
        self.run(&self.options(arguments, file)).await
    }

    async fn run(&self, options: &ImportOptions) -> ImportReport {
        let import = Import::new(options, self.retry_limits, Some(self.path("state"))).unwrap();
        import.run(&Console::quiet(), &CancellationToken::new()).await
    }

    fn state_files(&self) -> usize {
        std::fs::read_dir(self.path("state")).map_or(0, Iterator::count)
    }

    fn sent_ids(&self) -> Vec<String> {
        self.server.state().requests.concat()
    }
}

const RETRY_LIMITS: RetryLimits = RetryLimits {
    first_pause: Duration::from_millis(1),
    longest_pause: Duration::from_millis(2),
    retry_time: Duration::from_secs(30),
    total_wait: Duration::from_secs(3),
};

fn lines(ids: std::ops::Range<u32>) -> String {
    ids.fold(String::new(), |mut text, id| {
        writeln!(
            text,
            "{}",
            json!({"id": format!("{id:05}"), "title": "t", "text": "x", "date": "2026-08-20"})
        )
        .unwrap();
        text
    })
}

fn counts(report: &ImportReport) -> (u64, u64, u64) {
    let file = &report.files[0];
    (file.read, file.sent, file.rejected)
}

fn rejections(report: &ImportReport) -> Vec<(u64, String)> {
    let report = serde_json::to_value(report).unwrap();
    let rejection =
        |entry: &Value| (entry["line"].as_u64().unwrap_or(0), entry["reason"].as_str().unwrap().to_owned());
    report["rejections"].as_array().unwrap().iter().map(rejection).collect()
}

#[tokio::test]
async fn rejected_rows_keep_their_lines_and_others_are_sent() {
    let bench = TestImport::new().await;
    let mut text = lines(0..5);
    text.push_str("\n{broken\n{\"id\":\"x\"}\n");
    text.push_str(&lines(5..9));
    let file = bench.write("rows", text);
    bench.server.state().refused.insert("00001".to_owned(), "no such group".to_owned());
    bench.server.state().refused.insert("00008".to_owned(), "bad image".to_owned());

    let report = bench.import("--module my-wiki --batch 2 --indicated-e-code E1", &file).await;

    assert_eq!(counts(&report), (11, 7, 4));
    let found = rejections(&report);
    assert_eq!(found[0], (2, "no such group".to_owned()));
    assert_eq!((found[1].0, found[2].0), (7, 8));
    assert_eq!(found[3], (12, "bad image".to_owned()));
    assert!(!report.is_complete() && report.error.is_none());
    assert_eq!(bench.state_files(), 0, "finished, though not without rejections");
    let state = bench.server.state();
    assert_eq!(state.path, "/v1/contents/my-wiki");
    assert_eq!(state.enterprise.as_deref(), Some("E1"));
    assert_eq!(
        state.rows["00000"].0,
        json!({"id": "00000", "title": "t", "brief": "x", "displayTime": 1_787_184_000_000_i64})
    );
}

#[tokio::test]
async fn every_format_and_compression_arrives_alike() {
    let bench = TestImport::new().await;
    let text = lines(0..3);
    let array = format!("[{}]", text.trim().replace('\n', ","));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let files = [
        ("plain", text.clone().into_bytes()),
        ("array", array.clone().into_bytes()),
        ("gzip", gzip.finish().unwrap()),
        ("zstd", zstd::encode_all(array.as_bytes(), 1).unwrap()),
    ];
    for (name, content) in files {
        let file = bench.write(name, content);
        bench.server.state().rows.clear();
        let report = bench.import("--module article", &file).await;
        assert_eq!(counts(&report), (3, 3, 0), "{name}");
        assert!(report.is_complete());
        let rows: Vec<_> = bench.server.state().rows.keys().cloned().collect();
        assert_eq!(rows, ["00000", "00001", "00002"], "{name}");
    }
}

#[tokio::test]
async fn feeds_arrive() {
    let bench = TestImport::new().await;
    let rss = bench.write(
        "rss",
        "<rss version='2.0'><channel><title>F</title><item><guid>r1</guid><title>One</title>\
         <link>https://example.org/1</link><description>&lt;p&gt;Text&lt;/p&gt;</description></item></channel></rss>",
    );
    let atom = bench.write(
        "atom",
        "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>F</title><updated>2026-08-20T00:00:00Z</updated>\
         <entry><id>a1</id><title>Two</title><updated>2026-08-20T00:00:00Z</updated></entry></feed>",
    );
    assert_eq!(counts(&bench.import("--module news", &rss).await), (1, 1, 0));
    assert_eq!(counts(&bench.import("--module news", &atom).await), (1, 1, 0));
    let state = bench.server.state();
    assert_eq!(
        state.rows["r1"].0,
        json!({"id": "r1", "title": "One", "brief": "Text",
               "action": "{\"web\":\"[OpenUrl]\\nurl=https://example.org/1\"}"})
    );
    assert_eq!(state.rows["a1"].0, json!({"id": "a1", "title": "Two", "displayTime": 1_787_184_000_000_i64}));
}

#[tokio::test]
async fn transient_failures_are_retried_and_void_tokens_replaced() {
    let bench = TestImport::new().await;
    let file = bench.write("rows", lines(0..6));
    bench.server.script([
        Some(ScriptedReply::Status(503, true)),
        Some(ScriptedReply::Status(429, true)),
        Some(ScriptedReply::Status(500, false)),
        Some(ScriptedReply::LostAnswer),
        None,
        Some(ScriptedReply::TokenVoid),
    ]);
    let report = bench.import("--module article --batch 2 --in-flight 1", &file).await;
    assert!(report.is_complete(), "{:?}", report.error);
    assert_eq!(counts(&report), (6, 6, 0));
    let state = bench.server.state();
    assert_eq!(state.rows.len(), 6);
    assert_eq!(state.rows["00000"].1, 2, "its answer got lost, so it came twice");
    assert_eq!(state.rows["00002"].1, 1);
    assert_eq!(state.tokens, 3, "one fetched, one made void, one fetched instead");
}

#[tokio::test]
async fn import_stops_without_a_server_and_resumes_later() {
    let mut bench = TestImport::new().await;
    bench.retry_limits.retry_time = Duration::from_millis(20);
    let file = bench.write("rows", lines(0..10));
    bench.server.script(
        [None, None].into_iter().chain(std::iter::repeat_n(Some(ScriptedReply::Status(502, false)), 5000)),
    );
    let report = bench.import("--module article --batch 2 --in-flight 1", &file).await;
    let error = report.error.unwrap();
    assert!(error.contains("gave up") && error.contains("HTTP 502"), "{error}");
    assert!(error.contains("resumes after row 4"), "{error}");
    assert_eq!(bench.state_files(), 1);

    bench.server.state().script.clear();
    let report = bench.import("--module article --batch 3", &file).await;
    assert!(report.is_complete());
    assert_eq!((report.files[0].resumed_after, counts(&report)), (4, (6, 6, 0)));
    assert_eq!(bench.sent_ids(), (0..10).map(|id| format!("{id:05}")).collect::<Vec<_>>());
    assert_eq!(bench.state_files(), 0);
}

#[tokio::test]
async fn unreachable_server_is_reported() {
    let mut bench = TestImport::new().await;
    bench.retry_limits.retry_time = Duration::from_millis(20);
    let file = bench.write("rows", lines(0..1));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut options = bench.options("--module article", &file);
    options.server.server = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let error = bench.run(&options).await.error.unwrap();
    assert!(error.contains("refused") && error.contains("nothing was sent"), "{error}");
}

#[tokio::test]
async fn refusal_shows_the_server_message_and_no_secret() {
    let bench = TestImport::new().await;
    let file = bench.write("rows", lines(0..1));
    for (reply, words) in [
        (ScriptedReply::Status(403, false), "403: as scripted"),
        (ScriptedReply::Code(430_011), "430011: business"),
    ] {
        bench.server.script([Some(reply)]);
        let error = bench.import("--module article", &file).await.error.unwrap();
        assert!(error.contains(words), "{error}");
    }
    bench.write("secret", "not-the-secret");
    let error = bench.import("--module article", &file).await.error.unwrap();
    assert!(error.contains("invalid_client (unknown client)"), "{error}");
    assert!(!error.contains("not-the-secret"));
}

#[tokio::test]
async fn oversized_body_is_halved_and_its_size_remembered() {
    let bench = TestImport::new().await;
    let row_bytes = json!({"id": "00000", "title": "t", "brief": "x", "displayTime": 1_787_184_000_000_i64})
        .to_string()
        .len();
    // Four rows fit, five do not.
    bench.server.state().max_bytes = Some(4 * row_bytes + 5);
    let mut text = lines(0..16);
    writeln!(text, "{}", json!({"id": "long", "title": "x".repeat(1000)})).unwrap();
    text.push_str(&lines(16..32));
    let file = bench.write("rows", text);
    let report = bench.import("--module article --batch 8 --in-flight 1", &file).await;
    assert_eq!(counts(&report), (33, 32, 1));
    let (line, reason) = rejections(&report).remove(0);
    assert!(line == 17 && reason.contains("too large for the server"), "{line} {reason}");
    let state = bench.server.state();
    assert_eq!(state.rows.len(), 32);
    assert!(state.rows.values().all(|(_, times)| *times == 1));
    assert!(state.requests.iter().all(|ids| ids.len() <= 4));
    assert!(state.too_large <= 5, "{} tries were too large", state.too_large);
}

async fn killed(bench: &TestImport, arguments: &str, file: &Path, requests_before: usize) {
    bench.server.script(std::iter::repeat_n(None, requests_before).chain([Some(ScriptedReply::Hang)]));
    let options = bench.options(arguments, file);
    tokio::select! {
        report = bench.run(&options) => panic!("it came to an end: {:?}", report.error),
        () = bench.server.hung.notified() => {}
    }
    bench.server.state().script.clear();
}

#[tokio::test]
async fn killed_import_resumes_without_sending_twice() {
    let bench = TestImport::new().await;
    let file = bench.write("rows", lines(0..1000));
    bench.server.state().refused.insert("00005".to_owned(), "no".to_owned());
    let arguments = "--module article --batch 100 --in-flight 1";
    killed(&bench, arguments, &file, 3).await;
    assert_eq!(bench.sent_ids().len(), 300);
    killed(&bench, arguments, &file, 2).await;
    assert_eq!(bench.sent_ids().len(), 500);

    let report = bench.import(arguments, &file).await;
    assert_eq!((report.files[0].resumed_after, counts(&report)), (500, (500, 500, 0)));
    assert_eq!(report.files[0].rejected_before, 1);
    assert!(!report.is_complete(), "one row was rejected before it was killed");
    assert_eq!(bench.sent_ids(), (0..1000).map(|id| format!("{id:05}")).collect::<Vec<_>>());
    assert_eq!(bench.state_files(), 0);
}

#[tokio::test]
async fn killed_import_with_several_in_flight_loses_nothing() {
    let bench = TestImport::new().await;
    let file = bench.write("rows", format!("[{}]", lines(0..1000).trim().replace('\n', ",")));
    let arguments = "--module article --batch 50 --in-flight 4";
    killed(&bench, arguments, &file, 7).await;
    let report = bench.import(arguments, &file).await;
    assert!(report.is_complete());
    assert_eq!(bench.server.state().rows.len(), 1000);
}

#[tokio::test]
async fn restart_and_changed_file_begin_anew() {
    let bench = TestImport::new().await;
    let file = bench.write("rows", lines(0..10));
    let arguments = "--module article --batch 2 --in-flight 1";
    killed(&bench, arguments, &file, 2).await;
    let report = bench.import(&format!("{arguments} --restart"), &file).await;
    assert_eq!((report.files[0].resumed_after, counts(&report)), (0, (10, 10, 0)));

    killed(&bench, arguments, &file, 2).await;
    bench.write("rows", lines(0..11));
    let report = bench.import(arguments, &file).await;
    assert_eq!((report.files[0].resumed_after, counts(&report)), (0, (11, 11, 0)));
    assert_eq!(bench.state_files(), 0);
}

#[tokio::test]
async fn last_row_of_an_id_wins() {
    let bench = TestImport::new().await;
    let mut text = String::new();
    for number in 0..300 {
        writeln!(text, "{}", json!({"id": format!("{}", number % 7), "title": format!("{number}")})).unwrap();
    }
    let file = bench.write("rows", text);
    // Every other request is retried once.
    bench.server.script((0..100).map(|turn| (turn % 2 == 0).then_some(ScriptedReply::Status(500, false))));
    let report = bench.import("--module article --in-flight 4 --batch 5", &file).await;
    assert_eq!(counts(&report), (300, 300, 0));
    let state = bench.server.state();
    for number in 293..300 {
        assert_eq!(state.rows[&(number % 7).to_string()].0["title"], json!(number.to_string()));
    }
}

#[tokio::test]
async fn todos_go_to_their_own_endpoint() {
    let bench = TestImport::new().await;
    let text = [
        json!({"id": "t1", "title": "One", "assignees": ["ann"], "author": "eve"}),
        json!({"id": "t2", "title": "", "text": "Two\nmore"}),
        json!({"id": "t3", "title": "Three", "status": 1}),
        json!({"id": "t4", "title": "Four"}),
    ];
    let file = bench.write("rows", text.map(|row| row.to_string()).join("\n"));
    bench.server.state().refused.insert("t4".to_owned(), "exists with other content".to_owned());

    let report = bench.import("--module todo --assignee bob", &file).await;

    assert_eq!(counts(&report), (4, 2, 2));
    let found = rejections(&report);
    assert!(found[0].0 == 3 && found[0].1.contains("done items are not imported by this version"));
    assert_eq!(found[1], (4, "exists with other content".to_owned()));
    let state = bench.server.state();
    assert_eq!(state.path, "/api/todo/batch_create");
    let expected = json!({"appTaskId": "t1", "title": "One", "creatorName": "eve", "assigneeLoginId": "ann"});
    assert_eq!(state.rows["t1"].0, expected);
    assert_eq!(state.rows["t2"].0, json!({"appTaskId": "t2", "title": "Two", "assigneeLoginId": "bob"}));
}

#[tokio::test]
async fn interrupt_stops_and_tells_how_to_resume() {
    let bench = TestImport::new().await;
    let file = bench.write("rows", lines(0..10));
    let options = bench.options("--module article --batch 2 --in-flight 1", &file);
    bench.server.script([None, None, Some(ScriptedReply::Hang)]);
    let import = Import::new(&options, RETRY_LIMITS, Some(bench.path("state"))).unwrap();
    let (interrupt, console) = (CancellationToken::new(), Console::quiet());
    let stop = async {
        bench.server.hung.notified().await;
        interrupt.cancel();
    };
    let (report, ()) = tokio::join!(import.run(&console, &interrupt), stop);
    assert!(report.error.unwrap().ends_with("interrupted; the same command resumes after row 4"));
    assert_eq!(report.files[0].sent, 4);
}

#[tokio::test]
async fn truncated_file_is_reported_and_keeps_its_progress() {
    let bench = TestImport::new().await;
    let mut packed = zstd::encode_all(lines(0..50_000).as_bytes(), 1).unwrap();
    packed.truncate(packed.len() / 2);
    let file = bench.write("rows", packed);
    let report = bench.import("--module article", &file).await;
    let (line, reason) = rejections(&report).remove(0);
    assert!(line == 0 && reason.starts_with("reading stopped"), "{reason}");
    assert!(!report.is_complete());
    assert_eq!(report.files[0].sent, bench.server.state().rows.len() as u64);
    assert_eq!(bench.state_files(), 1);
}

#[tokio::test]
async fn wrong_usage_is_reported_before_sending() {
    let bench = TestImport::new().await;
    let file = bench.write("rows", lines(0..1));
    let usage = |arguments: &str, file: &Path| {
        Import::new(&bench.options(arguments, file), RETRY_LIMITS, None).err().unwrap()
    };
    assert!(usage("--module done", &file).contains("not imported by this version"));
    assert!(usage("--module article", &bench.path("absent")).contains("absent"));
    assert!(usage("--module article", bench.directory.path()).contains("is a directory"));
    assert!(Program::try_parse_from(["import", "--module", "article", "--batch", "1001", "x"]).is_err());
    assert!(Program::try_parse_from(["import", "--module", "article"]).is_err());
    assert_eq!(bench.server.state().tokens, 0);
}

#[tokio::test]
async fn real_texts_are_imported_completely() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/texts");
    let Ok(files) = std::fs::read_dir(&directory) else {
        println!("skipped: no real texts at {}", directory.display());
        return;
    };
    let bench = TestImport::new().await;
    for file in files.map(|file| file.unwrap().path()) {
        let packed = zstd::Decoder::new(std::fs::File::open(&file).unwrap()).unwrap();
        let rows: Vec<String> = BufReader::new(packed).lines().take(2000).map(Result::unwrap).collect();
        let cut = bench.write("cut", zstd::encode_all(rows.join("\n").as_bytes(), 1).unwrap());
        bench.server.state().rows.clear();
        let is_todo = file.to_string_lossy().contains("_todo_");
        let arguments = if is_todo { "--module todo --assignee ann" } else { "--module article" };
        let report = bench.import(arguments, &cut).await;
        assert!(report.is_complete(), "{}: {:?}", file.display(), rejections(&report));
        let state = bench.server.state();
        assert_eq!(state.rows.len(), rows.len(), "{}", file.display());
        for row in &rows {
            let row: Value = serde_json::from_str(row).unwrap();
            let sent = &state.rows[row["id"].as_str().unwrap()].0;
            let text = row["text"].as_str().unwrap();
            if is_todo {
                assert!(sent["title"] == row["title"] || text.starts_with(sent["title"].as_str().unwrap()));
            } else {
                assert!(text.starts_with(sent["brief"].as_str().unwrap_or_default()));
                assert!(sent["displayTime"].as_i64().is_some_and(|time| time > 1_300_000_000_000));
            }
        }
    }
}
