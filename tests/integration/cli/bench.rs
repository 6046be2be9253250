//! `trawl bench`. Tests assert counts and shapes, never times.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::bench_server::Fake;
use crate::util::{
    eventually,
    items::many,
    program::{Server, create_application, run, text, trawl},
};

struct Bench {
    directory: TempDir,
    base: String,
    client_id: String,
    secret: String,
}

impl Bench {
    fn of(base: &str, application: &Value, queries: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let secret = application["clientSecret"].as_str().unwrap().to_owned();
        fs::write(directory.path().join("secret"), format!("{secret}\n")).unwrap();
        fs::write(directory.path().join("queries.txt"), queries).unwrap();
        let client_id = application["clientId"].as_str().unwrap().to_owned();
        Self { directory, base: base.to_owned(), client_id, secret }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.command_on("queries.txt", arguments)
    }

    fn command_on(&self, queries: &str, arguments: &[&str]) -> Command {
        let mut command = trawl(&["bench", queries, "--client-secret-file", "secret", "--warm-up", "0s"]);
        command.args(["--server", &self.base, "--client-id", &self.client_id]).args(arguments);
        command.current_dir(self.directory.path());
        command
    }

    async fn run(&self, arguments: &[&str]) -> Output {
        let output = run(self.command(arguments)).await;
        self.assert_no_secrets(&output);
        output
    }

    fn assert_no_secrets(&self, output: &Output) {
        for said in [text(&output.stdout), text(&output.stderr)] {
            assert!(!said.contains(&self.secret), "{said}");
        }
    }

    async fn results(&self, arguments: &[&str]) -> (Output, Value) {
        let output = self.run(&[arguments, &["--json"]].concat()).await;
        let results = results_of(&output);
        (output, results)
    }
}

#[track_caller]
fn results_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[track_caller]
fn operation<'a>(results: &'a Value, name: &str) -> &'a Value {
    let mut operations = results["operations"].as_array().unwrap().iter();
    let found = operations.find(|operation| operation["operation"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name} in {results}"));
    let counted: u64 =
        found["histogram"].as_array().unwrap().iter().map(|step| step[1].as_u64().unwrap()).sum();
    assert_eq!(found["succeeded"], counted, "{found}");
    if counted > 0 {
        let latency = |name: &str| found["latencyMs"][name].as_f64().unwrap();
        let ascending = ["p50", "p90", "p99", "p999", "max"].map(latency);
        assert!(ascending.is_sorted() && ascending[0] > 0.0, "{found}");
    }
    let failed = found["failures"].as_array().unwrap().iter();
    let failed: u64 = failed.map(|failure| failure["count"].as_u64().unwrap()).sum();
    assert_eq!(found["errors"], failed, "{found}");
    found
}

#[track_caller]
fn assert_exit_matches(output: &Output, results: &Value) {
    let shortfalls = results["shortfalls"].as_array().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(!shortfalls.is_empty())), "{}", text(&output.stderr));
    for shortfall in shortfalls {
        assert!(text(&output.stderr).contains(shortfall.as_str().unwrap()), "{}", text(&output.stderr));
    }
}

async fn harbours() -> (TempDir, Server, Value, Bench) {
    let data = tempfile::tempdir().unwrap();
    let application = create_application(data.path(), "acme").await;
    let server = Server::start(data.path()).await;
    let caller = server.caller(&application).await;
    let items = json!(many("h", "The harbour and the warehouse", 40, 1));
    caller.put("/v1/contents/article", &items).await.ok();
    server.wait_for_index().await;
    let bench = Bench::of(&server.base, &application, QUERIES);
    (data, server, application, bench)
}

const QUERIES: &str =
    "harbour\n\n{\"keyword\":\"warehouse\",\"moduleId\":\"article\",\"sort\":\"relevance\"}\n";

#[tokio::test]
async fn closed_loop_measures_every_page() {
    let (_data, _server, _, bench) = harbours().await;

    let arguments =
        ["--module", "article", "--clients", "3", "--pages", "3", "--limit", "15", "--duration", "1s"];
    let (output, results) = bench.results(&arguments).await;

    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let search = operation(&results, "search");
    assert!(search["succeeded"].as_u64().unwrap() > 0, "{results}");
    assert_eq!((&search["errors"], &search["partial"]), (&json!(0), &json!(0)));
    let pages = operation(&results, "page");
    assert_eq!(pages["succeeded"].as_u64().unwrap(), search["succeeded"].as_u64().unwrap() * 2);
    assert_eq!((&results["arrivals"], &results["ownDelayMs"]), (&Value::Null, &Value::Null));
    let settings = &results["settings"];
    assert_eq!(
        (&settings["clients"], &settings["rate"], &settings["queries"]),
        (&json!(3), &Value::Null, &json!(2))
    );
    let timeline = results["timeline"].as_array().unwrap().iter();
    let over_time: u64 = timeline.map(|second| second["searches"].as_u64().unwrap()).sum();
    assert_eq!(search["succeeded"], over_time);
}

#[tokio::test]
async fn open_loop_sends_every_due_request() {
    let (_data, _server, _, bench) = harbours().await;

    let (output, results) =
        bench.results(&["--module", "article", "--rate", "40", "--duration", "500ms", "--seed", "7"]).await;
    assert_eq!(operation(&results, "search")["succeeded"], 20);
    assert_eq!((&results["arrivals"]["due"], &results["arrivals"]["neverBegun"]), (&json!(20), &json!(0)));
    assert_exit_matches(&output, &results);

    // Requests that are due must queue for the one connection.
    let arguments = [
        "--module",
        "article",
        "--rate",
        "4000",
        "--duration",
        "100ms",
        "--max-in-flight",
        "1",
        "--request-timeout",
        "60s",
    ];
    let (output, results) = bench.results(&arguments).await;
    assert_eq!(operation(&results, "search")["succeeded"], 400);
    assert!(results["ownDelayMs"].is_object() || results["arrivals"]["waited"] == 400, "{results}");
    assert_exit_matches(&output, &results);
}

#[tokio::test]
async fn default_output_is_a_table() {
    let (_data, _server, _, bench) = harbours().await;

    let mut command = bench.command_on("-", &["--module", "article", "--duration", "1s"]);
    command.stdin(fs::File::open(bench.path("queries.txt")).unwrap());
    let output = run(command).await;
    bench.assert_no_secrets(&output);

    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.contains("2 queries · closed loop, 1 client · "), "{said}");
    assert!(said.contains("p99.9 ms") && said.contains("\nsearch "), "{said}");
    assert!(!said.contains('\u{1b}'), "colours are for terminals");

    let output = run(trawl(&["bench", "--help"])).await;
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("trawl bench compare before.json after.json"));
}

#[tokio::test]
async fn generated_items_are_deleted_at_the_end() {
    let (_data, server, application, bench) = harbours().await;

    let writes = ["--module", "article", "--writes-per-second", "300", "--write-module", "feed"];
    let (output, results) = bench.results(&[&writes[..], &["--duration", "500ms"]].concat()).await;

    assert_eq!(operation(&results, "write")["succeeded"], 150, "{results}");
    assert_eq!((&results["items"]["sent"], &results["items"]["left"]), (&json!(150), &json!(0)));
    assert_eq!(results["writeArrivals"]["due"], 150);
    assert!(operation(&results, "search")["succeeded"].as_u64().unwrap() > 0);
    assert_exit_matches(&output, &results);
    server.wait_for_index().await;
    let caller = server.caller(&application).await;
    assert_eq!(caller.find("feed", "made up").await, Vec::<String>::new());
}

#[tokio::test]
async fn generated_items_are_deleted_after_ctrl_c() {
    let (_data, server, application, bench) = harbours().await;
    let caller = server.caller(&application).await;

    let writes =
        ["--module", "article", "--rate", "20", "--writes-per-second", "50", "--write-module", "feed"];
    let running = start(&bench, &[&writes[..], &["--duration", "10m", "--json"]].concat());
    let found = eventually("generated items", async || {
        let found = caller.find("feed", "made up").await;
        (!found.is_empty()).then_some(found)
    });
    let found = found.await;
    let output = running.interrupt().await;

    bench.assert_no_secrets(&output);
    let results = results_of(&output);
    assert_eq!(output.status.code(), Some(1));
    let prefix = results["items"]["idPrefix"].as_str().unwrap();
    assert!(prefix.starts_with("trawl-bench-") && found.iter().all(|id| id.starts_with(prefix)), "{found:?}");
    assert_eq!(results["items"]["left"], 0, "{results}");
    assert!(text(&output.stderr).contains("error: stopped after "), "{}", text(&output.stderr));
    server.wait_for_index().await;
    assert_eq!(caller.find("feed", "made up").await, Vec::<String>::new());
}

struct Running {
    process: u32,
    output: tokio::task::JoinHandle<Output>,
}

fn start(bench: &Bench, arguments: &[&str]) -> Running {
    let mut command = bench.command(arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let process = child.id();
    Running { process, output: tokio::task::spawn_blocking(|| child.wait_with_output().unwrap()) }
}

impl Running {
    async fn interrupt(self) -> Output {
        assert!(Command::new("kill").args(["-INT", &self.process.to_string()]).status().unwrap().success());
        self.output.await.unwrap()
    }
}

#[tokio::test]
async fn unreachable_server_is_reported_in_one_line() {
    let (_data, server, _, bench) = harbours().await;

    let output = bench.run(&["--module", "nowhere"]).await;
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.starts_with("error: the search for \"harbour\" in nowhere fails") && said.contains("404"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");

    let running = start(&bench, &["--module", "article", "--rate", "50", "--duration", "5s", "--json"]);
    let answered = r#"trawl_http_request_seconds_count{route="/contents/search",method="POST",status="200"}"#;
    eventually("a few searches", async || server.gauge(answered).await.filter(|count| *count > 1)).await;
    server.kill();
    let output = running.output.await.unwrap();
    bench.assert_no_secrets(&output);
    let results = results_of(&output);
    let search = operation(&results, "search");
    assert!(search["errors"].as_u64().unwrap() > 0, "{results}");
    let kinds: Vec<&str> = search["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failure| failure["kind"].as_str().unwrap())
        .collect();
    // A slow run may end with the requests that were broken off.
    assert!(kinds.iter().all(|kind| ["connect", "broken off"].contains(kind)), "{kinds:?}");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("search requests failed: "), "{}", text(&output.stderr));

    let output = bench.run(&["--module", "article"]).await;
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.to_lowercase().contains("connection refused") && said.lines().count() == 1, "{said}");
}

#[tokio::test]
async fn errors_are_counted_by_kind_outside_the_percentiles() {
    let fake = Fake::start(3_600).await;
    let bench = Bench::of(&fake.base, &Fake::application(), "good\nbusy\npartial\nfolder\nproxy\n");

    let (output, results) = bench.results(&["--module", "any", "--rate", "100", "--duration", "200ms"]).await;

    let search = operation(&results, "search");
    assert_eq!(
        (&search["succeeded"], &search["partial"], &search["errors"]),
        (&json!(8), &json!(4), &json!(12))
    );
    let mut failures: Vec<(String, u64, String)> = search["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failure| {
            let text = |name: &str| failure[name].as_str().unwrap().to_owned();
            (text("kind"), failure["count"].as_u64().unwrap(), text("message"))
        })
        .collect();
    failures.sort();
    let expected = [
        ("HTTP 502", 4, "502 Bad Gateway"),
        ("HTTP 503", 4, "come again"),
        ("code 430001", 4, "there is no such folder"),
    ];
    assert_eq!(failures, expected.map(|(kind, count, message)| (kind.to_owned(), count, message.to_owned())));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("error: 12 of 20 search requests failed: "));
}

#[tokio::test]
async fn long_run_renews_its_token() {
    let fake = Fake::start(1).await;
    let bench = Bench::of(&fake.base, &Fake::application(), "good\n");
    let running = start(&bench, &["--module", "any", "--rate", "50", "--duration", "10m", "--json"]);
    eventually("a search with a third token", async || fake.tokens_seen().contains("token-3").then_some(()))
        .await;
    let results = results_of(&running.interrupt().await);
    assert_eq!(operation(&results, "search")["errors"], 0);
}

#[tokio::test]
async fn report_is_complete_and_has_no_secrets() {
    let (_data, _server, _, bench) = harbours().await;
    let with_password = bench.base.replace("http://", "http://anna:geheim@");

    let arguments =
        ["--module", "article", "--duration", "1s", "--report", "report.html", "--save", "run.json"];
    let mut command = bench.command(&arguments);
    command.env("TRAWL_CLIENT_SECRET", &bench.secret).args(["--limit", "7"]);
    let output = run(command).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = fs::read_to_string(bench.path("report.html")).unwrap();
    for loads in ["src=", "href=", "url(", "@import", "<link", "<script", "<iframe", "<img"] {
        assert!(!page.contains(loads), "the page loads something by {loads}");
    }
    for shown in
        ["Latency by percentile", "99.9", "trawl bench queries.txt", "--limit 7", "default-src 'none'"]
    {
        assert!(page.contains(shown), "the page does not show {shown}");
    }
    assert!(!page.contains(&bench.secret));
    assert!(!fs::read_to_string(bench.path("run.json")).unwrap().contains(&bench.secret));

    let bench = Bench { base: with_password, ..bench };
    let output = bench.run(&["--module", "article", "--duration", "20ms", "--json"]).await;
    assert!(!text(&output.stdout).contains("geheim") && !text(&output.stderr).contains("geheim"));
}

#[tokio::test]
async fn compare_prints_both_runs() {
    let (_data, _server, _, bench) = harbours().await;
    let output = bench.run(&["--module", "article", "--duration", "1s", "--save", "before.json"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut after: Value = serde_json::from_slice(&fs::read(bench.path("before.json")).unwrap()).unwrap();
    let p99 = after["operations"][0]["latencyMs"]["p99"].as_f64().unwrap();
    after["operations"][0]["latencyMs"]["p99"] = json!(p99 * 1.25);
    fs::write(bench.path("after.json"), after.to_string()).unwrap();
    let compare = async |arguments: &[&str]| {
        let mut command = trawl(&[&["bench", "compare"], arguments].concat());
        // Variables of the `run` form are ignored by `compare`.
        command.env("TRAWL_SERVER", "http://127.0.0.1:1").env("TRAWL_CLIENT_ID", "x");
        command.current_dir(bench.directory.path());
        run(command).await
    };

    let output = compare(&["before.json", "after.json"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("search p99 ms") && text(&output.stdout).contains("+25.0 %"));
    let output =
        compare(&["before.json", "after.json", "--fail-if-slower", "10", "--report", "two.html"]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("error: search p99Ms: "), "{}", text(&output.stderr));
    assert!(fs::read_to_string(bench.path("two.html")).unwrap().contains("Worse by more than the threshold"));
    let output = compare(&["before.json", "after.json", "--fail-if-slower", "30", "--json"]).await;
    let comparison: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &comparison["slower"]), (Some(0), &json!([])));
    let output = compare(&["before.json", "queries.txt"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("queries.txt: not the results of trawl bench"),
        "{}",
        text(&output.stderr)
    );
}

#[tokio::test]
async fn wrong_usage_is_refused_before_any_request() {
    let application = json!({"clientId": "x", "clientSecret": "s3cret-of-x"});
    let bench = Bench::of("http://127.0.0.1:1", &application, QUERIES);
    fs::write(bench.path("broken.txt"), "a\n{\"moduleId\":\"article\"}\n").unwrap();
    for (arguments, said) in [
        (vec![], "queries.txt:1: moduleId: is required"),
        (vec!["--module", "article", "--rate", "0"], "--rate"),
        (vec!["--module", "article", "--rate", "5", "--clients", "2"], "--clients"),
        (vec!["--module", "article", "--duration", "30"], "30s"),
        (vec!["--module", "article", "--duration", "0s"], "--duration"),
        (vec!["--module", "article", "--writes-per-second", "5"], "--write-module"),
        (vec!["--module", "article", "--sort", "price"], "--sort"),
    ] {
        let output = bench.run(&arguments).await;
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
    for (arguments, said) in [
        (vec!["bench", "--module", "article"], "QUERIES: is required"),
        (vec!["bench", "missing.txt", "--module", "article"], "missing.txt"),
        (vec!["bench", "broken.txt", "--module", "article"], "broken.txt:2: keyword: is required"),
        (vec!["bench", "queries.txt", "--module", "article", "--client-id", ""], "--client-id"),
        (vec!["bench", "queries.txt", "--module", "article", "--server", "ftp://h"], "ftp://h"),
        (vec!["bench", "compare", "one.json"], "<AFTER>"),
    ] {
        let mut command = trawl(&arguments);
        command
            .env("TRAWL_CLIENT_ID", "x")
            .env("TRAWL_CLIENT_SECRET", "y")
            .current_dir(bench.directory.path());
        let output = run(command).await;
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(said), "{arguments:?}: {}", text(&output.stderr));
    }
}
