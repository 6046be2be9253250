//! Trace contexts and exported spans.

use std::{fmt::Write, fs};

use axum::http::Method;
use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind, status::StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::{Caller, send},
    collector::{Collector, text},
    eventually,
    external::{ExternalSystem, Reply},
    items::many,
    program::{Server, create_application, create_operator, own_address, run, trawl},
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

type Headers<'a> = &'a [(&'a str, &'a str)];

fn traceparent() -> String {
    format!("00-{TRACE}-{PARENT}-01")
}

async fn search(caller: &Caller, path: &str, keyword: &str, headers: Headers<'_>) -> Answer {
    let parameters = [("keyword", keyword), ("moduleId", "all")];
    let request = caller.request(reqwest::Method::POST, path).query(&parameters);
    let with_headers = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    send(with_headers).await
}

fn told(system: &ExternalSystem) -> Vec<(String, String)> {
    system.requests().into_iter().map(|asked| (asked.traceparent, asked.tracestate)).collect()
}

#[tokio::test]
async fn trace_is_forwarded_unchanged_without_export() {
    let (app, acme) = TestApp::start_with_acme().await;
    let (first, second) =
        (ExternalSystem::start(many("x", "x", 1, 1)).await, ExternalSystem::start(vec![]).await);
    let operator = app.operator().await.caller.on("acme");
    operator.post("/admin/v1/sources", &second.registration("y")).await.ok();
    operator.register_source(&first.registration("x"), "all", &["builtin:article", "x", "y"]).await;

    let (trace, state) = (traceparent(), "vendor=1,other=2");
    let long = format!("a={}", "x".repeat(511));
    let later = trace.replacen("00", "cc", 1) + "-more";
    let cases: [(&str, Headers<'_>, (&str, &str)); 7] = [
        ("none", &[], ("", "")),
        ("both", &[("traceparent", &trace), ("tracestate", state)], (&trace, state)),
        ("alone", &[("traceparent", &trace)], (&trace, "")),
        ("a later version", &[("traceparent", &later)], (&later, "")),
        ("a long state", &[("traceparent", &trace), ("tracestate", &long)], (&trace, "")),
        ("not valid", &[("traceparent", "00-0-0-0"), ("tracestate", state)], ("", "")),
        ("a state of no trace", &[("tracestate", state)], ("", "")),
    ];
    for path in ["/contents/search", "/contents/search/all"] {
        for (case, headers, expected) in &cases {
            let before = first.requests().len();
            search(&acme.caller, path, &format!("{path} {case}"), headers).await.ok();
            for system in [&first, &second] {
                let told = told(system)[before..].to_vec();
                assert_eq!(told, [(expected.0.to_owned(), expected.1.to_owned())], "{path}: {case}");
            }
        }
    }
}

/// The source sees the first trace only.
#[tokio::test]
async fn trace_is_not_part_of_the_cache_key() {
    let (app, acme) = TestApp::start_acme_with(|config| config.cache.fresh_ms = 60_000).await;
    let system = ExternalSystem::start(many("x", "x", 1, 1)).await;
    app.register_source(&acme, system.registration("x"), "all", &["x"]).await;
    let another = traceparent().replace(PARENT, "00f067aa0ba902b8");
    for trace in [&traceparent(), &another] {
        let answer = search(&acme.caller, "/contents/search", "x", &[("traceparent", trace)]).await.ok();
        assert_eq!(answer.total(), 1);
    }
    assert_eq!(told(&system), [(traceparent(), String::new())]);
}

/// A module over articles and two sources: `good` answers, `bad` fails.
struct Exporting {
    server: Server,
    caller: Caller,
    good: ExternalSystem,
    _directory: TempDir,
}

impl Exporting {
    async fn start(telemetry: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let settings = format!(
            "[log]\nfilter = \"warn\"\n[cache]\nfresh_ms = 0\nstale_ms = 0\n\
             [connectors]\nallow_http_hosts = [\"127.0.0.1\"]\nallow_auth_none = true\n{telemetry}"
        );
        fs::write(directory.path().join("trawl.toml"), settings).unwrap();
        let server = Server::start(directory.path()).await;
        let application = create_application(directory.path(), "acme").await;
        let operator = server.caller(&create_operator(directory.path(), "operations").await).await.on("acme");
        let good = ExternalSystem::start(many("x", "x", 1, 1)).await;
        let bad = ExternalSystem::start(vec![]).await;
        bad.set_reply(Reply::Status(500));
        operator.post("/admin/v1/sources", &bad.registration("bad")).await.ok();
        operator
            .register_source(&good.registration("good"), "all", &["builtin:article", "good", "bad"])
            .await;
        let caller = server.caller(&application).await;
        Self { server, caller, good, _directory: directory }
    }

    async fn stop(mut self) -> String {
        // Pooled connections delay the shutdown.
        drop(self.caller);
        self.server.terminate();
        assert!(self.server.wait_for_end().await.success(), "{}", self.server.log());
        let log = self.server.log();
        log.split_inclusive('\n').filter(|line| !line.contains("/readyz")).collect()
    }
}

fn hex(id: &[u8]) -> String {
    id.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

fn attributes<const COUNT: usize>(span: &Span, names: [&str; COUNT]) -> [String; COUNT] {
    names.map(|name| text(&span.attributes, name))
}

fn source_spans<'a>(spans: &'a [(String, Span)], request: &Span, id: &str) -> Vec<&'a Span> {
    let below = spans.iter().filter(|(_, span)| span.parent_span_id == request.span_id);
    let of_it = below.filter(|(_, span)| {
        assert_eq!((span.name.as_str(), &span.trace_id), ("source", &request.trace_id));
        text(&span.attributes, "source") == id
    });
    of_it.map(|(_, span)| span).collect()
}

#[tokio::test]
async fn spans_of_search_and_sources_reach_the_collector() {
    let collector = Collector::start().await;
    let exporting = Exporting::start(&format!(
        "[telemetry]\nendpoint = \"{}\"\nheaders = \"x-key=not%20for%20logs\"\nservice_name = \"trawl of a test\"\n",
        collector.endpoint
    ))
    .await;
    let headers = [("traceparent", &*traceparent()), ("tracestate", "vendor=1"), ("x-request-id", "first")];
    let answer = search(&exporting.caller, "/contents/search", "unmentionable", &headers).await.ok();
    assert_eq!((answer.source("bad")["status"].as_str(), answer.total()), (Some("error"), 1));
    let headers = [("traceparent", &*traceparent()), ("x-request-id", "second")];
    search(&exporting.caller, "/contents/search/all", "unmentionable", &headers).await.ok();
    let unsampled = format!("00-{TRACE}-{PARENT}-00");
    let headers = [("traceparent", &*unsampled), ("x-request-id", "third")];
    search(&exporting.caller, "/contents/search", "unmentionable", &headers).await.ok();
    let headers = [("traceparent", "00-0-0-00"), ("x-request-id", "fourth")];
    search(&exporting.caller, "/contents/search", "unmentionable", &headers).await.ok();
    let told = told(&exporting.good);
    // An unknown method must not become a label.
    let made_up = Method::from_bytes(b"UNMENTIONABLE").unwrap();
    exporting.caller.send_text(made_up, "/modules", "").await.fails(405, "UNMENTIONABLE");
    // The end of the server waits two seconds for the collector.
    eventually("the last span", async || {
        let status = |span: &Span| text(&span.attributes, "http.response.status_code") == "405";
        collector.spans().iter().any(|(_, span)| status(span)).then_some(())
    })
    .await;
    let log = exporting.stop().await;

    let spans = collector.spans();
    assert!(spans.iter().all(|(service, _)| service == "trawl of a test"));
    let request = |id: &str| {
        let mut of_id = spans.iter().filter(|(_, span)| text(&span.attributes, "id") == id);
        let (_, span) = of_id.next()?;
        assert!(of_id.next().is_none(), "{id} has two spans");
        Some(span)
    };
    for (id, path, told) in
        [("first", "/contents/search", &told[0]), ("second", "/contents/search/all", &told[1])]
    {
        let request = request(id).unwrap_or_else(|| panic!("no {id}: {spans:#?}"));
        assert_eq!(
            (hex(&request.trace_id), hex(&request.parent_span_id)),
            (TRACE.to_owned(), PARENT.to_owned())
        );
        assert_eq!((request.name.clone(), request.kind()), (format!("POST {path}"), SpanKind::Server));
        let names = ["http.request.method", "http.route", "http.response.status_code"];
        assert_eq!(attributes(request, names), ["POST", path, "200"]);

        let source = |id| source_spans(&spans, request, id);
        let ([good], [bad]) = (&source("good")[..], &source("bad")[..]) else {
            panic!("not once: {spans:#?}")
        };
        let built_in = source("builtin:article");
        assert!(!built_in.is_empty() && built_in.iter().all(|span| span.kind() == SpanKind::Internal));
        for (span, status, code) in [(good, "ok", StatusCode::Unset), (bad, "error", StatusCode::Error)] {
            assert_eq!(attributes(span, ["status"]), [status]);
            assert!(!text(&span.attributes, "took_ms").is_empty());
            assert_eq!(span.status.clone().unwrap_or_default().code(), code);
            assert_eq!(span.kind(), SpanKind::Client);
            assert!(span.start_time_unix_nano >= request.start_time_unix_nano);
            assert!(span.end_time_unix_nano <= request.end_time_unix_nano);
        }
        let state = if id == "first" { "vendor=1" } else { "" };
        assert_eq!(*told, (format!("00-{TRACE}-{}-01", hex(&good.span_id)), state.to_owned()), "{id}");
    }
    assert!(request("third").is_none());
    let (third, _) = &told[2];
    assert!(third.starts_with(&format!("00-{TRACE}-")) && third.ends_with("-00"), "{third}");
    assert!(!third.contains(PARENT), "trawl joined the trace: {third}");
    let fourth = request("fourth").unwrap();
    assert!(fourth.parent_span_id.is_empty() && hex(&fourth.trace_id) != TRACE);
    assert!(told[3].0.contains(&hex(&fourth.trace_id)));

    for export in collector.exports() {
        assert_eq!(export.headers["x-key"], "not for logs");
        assert!(!contains(&export.body, b"unmentionable"), "a keyword is exported");
        assert!(!contains(&export.body, b"UNMENTIONABLE"), "an unknown method is exported");
        assert!(!contains(&export.body, b"not for logs"), "a secret is exported");
    }
    assert_eq!(log, "", "a successful search is logged as a warning");
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// A shared call belongs to the search that started it.
#[tokio::test]
async fn shared_call_carries_the_trace_that_started_it() {
    let (app, acme) = TestApp::start_acme_with(|config| config.cache.fresh_ms = 60_000).await;
    let system = ExternalSystem::start(many("x", "x", 1, 1)).await;
    app.register_source(&acme, system.registration("x"), "all", &["x"]).await;
    system.hold_answers();
    let searching = async |trace: &str| {
        search(&acme.caller, "/contents/search", "x", &[("traceparent", trace)]).await.ok().total()
    };
    let shared = async || {
        let metrics = acme.caller.get("/metrics").await.text;
        let line = metrics
            .lines()
            .find(|line| line.starts_with(r#"trawl_source_answers_total{kind="external",how="coalesced"}"#));
        line.map(str::to_owned)
    };
    let (before, first, second) =
        (shared().await, traceparent(), traceparent().replace(PARENT, "00f067aa0ba902b8"));
    let asked = async || eventually("the call", async || (!system.requests().is_empty()).then_some(())).await;
    let joined = async || eventually("the other", async || (shared().await != before).then_some(())).await;
    let totals = tokio::join!(
        searching(&first),
        async {
            asked().await;
            searching(&second).await
        },
        async {
            joined().await;
            system.release_answers();
        },
    );
    assert_eq!((totals.0, totals.1), (1, 1));
    assert_eq!(told(&system), [(first, String::new())]);
}

/// Other tests add series: this needs its own process.
#[tokio::test]
async fn calls_of_every_source_have_a_histogram() {
    let exporting = Exporting::start("").await;
    for number in 0..3 {
        let keyword = format!("unmentionable {number}");
        search(&exporting.caller, "/contents/search", &keyword, &[]).await.ok();
    }
    let metrics = exporting.caller.get("/metrics").await.text;
    for source in ["good", "bad"] {
        let of_it = |line: &&str| {
            let is_a_count = line.starts_with("trawl_source_call_seconds_count{tenant=\"");
            is_a_count && line.ends_with(&format!(r#"",source="{source}"}} 3"#))
        };
        assert_eq!(metrics.lines().filter(of_it).count(), 1, "{source}: {metrics}");
    }
    assert!(!metrics.contains("builtin:") && !metrics.contains("unmentionable"), "{metrics}");
}

/// One refuses connections, one never answers.
#[tokio::test]
async fn unreachable_collector_only_causes_a_warning() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    for address in [own_address(), silent.local_addr().unwrap().to_string()] {
        let telemetry = format!("[telemetry]\nendpoint = \"http://{address}\"\nheaders = \"x-key=hidden\"\n");
        let exporting = Exporting::start(&telemetry).await;
        for number in 0..20 {
            let keyword = format!("unmentionable {number}");
            search(&exporting.caller, "/contents/search", &keyword, &[]).await.ok();
        }
        let log = exporting.stop().await;
        assert!(log.contains("collector"), "{log}");
        assert!(!log.contains("hidden") && !log.contains("unmentionable"), "{log}");
        assert!(log.lines().count() <= 3, "too many warnings: {log}");
    }
}

/// A wrong setting ends the start by name; secrets are never printed.
#[tokio::test]
async fn export_settings_are_validated_and_masked() {
    let directory = tempfile::tempdir().unwrap();
    let printed = async |settings: &[(&str, &str)]| {
        let mut command = trawl(&["serve", "--print-config"]);
        command.current_dir(directory.path()).envs(settings.iter().copied());
        run(command).await
    };
    let output = printed(&[
        ("TRAWL_TELEMETRY__ENDPOINT", "http://127.0.0.1:4318"),
        // It stays a text.
        ("TRAWL_TELEMETRY__HEADERS", "x-key=12345"),
        ("TRAWL_TELEMETRY__SAMPLE_RATIO", "0.25"),
    ])
    .await;
    let settings: toml::Table = std::str::from_utf8(&output.stdout).unwrap().parse().unwrap();
    let telemetry: Value = serde_json::to_value(&settings["telemetry"]).unwrap();
    assert_eq!(
        telemetry,
        json!({
            "endpoint": "http://127.0.0.1:4318", "headers": "********", "service_name": "trawl", "sample_ratio": 0.25,
        })
    );
    for (name, value) in [
        ("endpoint", "grpc://127.0.0.1:4317"),
        ("headers", "12345"),
        ("sample_ratio", "2"),
        ("service_name", " "),
    ] {
        let variable = format!("TRAWL_TELEMETRY__{}", name.to_uppercase());
        let output = printed(&[(&variable, value)]).await;
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains(&format!("telemetry.{name}")) && !said.contains("12345"), "{said}");
    }
}
