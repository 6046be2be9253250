//! `trawl import`: refused rows, resumption and exit codes.

use std::{
    fs,
    io::Write,
    process::{Command, Output, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    http::StatusCode,
    routing::{post, put},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::util::{
    app::{Application, TestApp},
    eventually,
    items::{lines, many, todo},
    program::{run, text, trawl},
};

/// An application's files and its calls of the command.
struct Importer {
    base: String,
    client_id: String,
    secret: String,
    directory: TempDir,
}

impl Importer {
    fn new(base: &str, client_id: &str, secret: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { base: base.to_owned(), client_id: client_id.to_owned(), secret: secret.to_owned(), directory }
    }

    async fn start() -> (TestApp, Application, Self) {
        let (app, acme) = TestApp::start_with_acme().await;
        let importer = Self::new(&app.base, &acme.client_id, acme.secret());
        (app, acme, importer)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command =
            trawl(&["import", "--json", "--server", &self.base, "--client-id", &self.client_id]);
        command.args(arguments.split(' ')).current_dir(self.directory.path());
        command.env("TRAWL_CLIENT_SECRET", &self.secret);
        command
    }

    /// Imports a file of this content; returns the exit code, the report and standard error.
    async fn import(&self, arguments: &str, content: impl AsRef<[u8]>) -> (i32, Value, String) {
        fs::write(self.directory.path().join("rows"), content).unwrap();
        reported(&run(self.command(&format!("{arguments} rows"))).await)
    }
}

fn reported(output: &Output) -> (i32, Value, String) {
    let errors = text(&output.stderr).to_owned();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    (output.status.code().unwrap(), report, errors)
}

fn counts(report: &Value) -> [u64; 3] {
    ["read", "sent", "rejected"].map(|count| report[count].as_u64().unwrap())
}

#[track_caller]
fn assert_rejected(report: &Value, expected: &[(Option<u64>, &str)]) {
    let rejections = report["rejections"].as_array().unwrap();
    assert_eq!(rejections.len(), expected.len(), "{report}");
    for (rejection, (line, reason)) in rejections.iter().zip(expected) {
        assert_eq!(rejection["line"].as_u64(), *line, "{rejection}");
        assert!(rejection["reason"].as_str().unwrap().contains(reason), "{rejection}");
    }
}

#[tokio::test]
async fn refused_row_is_told_by_line_and_the_others_are_sent() {
    let (app, acme, importer) = Importer::start().await;
    let long = format!("{{\"id\":\"l\",\"title\":\"{}\"}}", "x".repeat(16 << 20));
    let rows: [&[u8]; 8] = [
        "\u{feff}{\"id\":\"a\",\"title\":\"harbour\"}".as_bytes(),
        b"not json",
        b"",
        b"{\"id\":\"b\"}",
        b"{\"id\":\"u\",\"title\":\"\xff\"}",
        long.as_bytes(),
        b"{\"id\":\"s\",\"title\":\"t\",\"action\":\"[]\"}",
        b"{\"id\":\"z\",\"title\":\"harbour\"}",
    ];
    let (code, report, errors) = importer.import("--module article", rows.join(&b"\r\n"[..])).await;
    assert_eq!((code, counts(&report), &report["error"]), (1, [7, 2, 5], &Value::Null), "{report}");
    let [not_json, bare, not_utf8, too_long, by_server] = [
        "malformed JSON at column",
        "title or brief: is required",
        "malformed JSON",
        "longer than 16 MiB",
        "action",
    ];
    assert_rejected(
        &report,
        &[
            (Some(2), not_json),
            (Some(4), bare),
            (Some(5), not_utf8),
            (Some(6), too_long),
            (Some(7), by_server),
        ],
    );
    assert!(errors.contains("rows:4 (id b): title or brief: is required"), "{errors}");
    app.wait_for_index().await;
    for id in ["a", "z"] {
        acme.caller.get(&format!("/v1/contents/article/{id}")).await.ok();
    }
}

#[tokio::test]
async fn file_that_ends_early_exits_with_1_and_an_empty_one_with_0() {
    let (_app, _acme, importer) = Importer::start().await;
    let (code, report, _) = importer.import("--module article", "").await;
    assert_eq!((code, counts(&report)), (0, [0, 0, 0]), "{report}");
    let cut = zstd::encode_all(&b"[{\"id\":\"a\",\"title\":\"harbour\"},{\"id\":"[..], 1).unwrap();
    let (code, report, _) = importer.import("--module article", cut).await;
    assert_eq!((code, counts(&report)), (1, [1, 1, 0]), "{report}");
    assert_rejected(&report, &[(None, "the file ends before its array is closed")]);
}

#[tokio::test]
async fn last_row_of_an_id_wins_with_several_requests_in_flight() {
    let (app, acme, importer) = Importer::start().await;
    let rows: Vec<_> =
        (0..300).map(|number| json!({"id": number % 7, "title": format!("harbour {number}")})).collect();
    let (code, report, _) = importer.import("--module article --batch 5 --in-flight 4", lines(&rows)).await;
    assert_eq!((code, counts(&report)), (0, [300, 300, 0]), "{report}");
    app.wait_for_index().await;
    for number in 293..300 {
        let item = acme.caller.get(&format!("/v1/contents/article/{}", number % 7)).await.ok();
        assert_eq!(item.data()["title"], format!("harbour {number}"));
    }
}

#[tokio::test]
async fn body_above_the_servers_limit_is_sent_in_parts() {
    let (app, acme) = TestApp::start_acme_with(|config| config.limits.body_bytes = 500).await;
    let importer = Importer::new(&app.base, &acme.client_id, acme.secret());
    let mut rows = many("i", "harbour", 32, 1);
    rows.insert(16, json!({"id": "long", "title": "x".repeat(1_000)}));
    let (code, report, _) = importer.import("--module article --batch 10", lines(&rows)).await;
    assert_eq!((code, counts(&report)), (1, [33, 32, 1]), "{report}");
    assert_rejected(&report, &[(Some(17), "too large for the server")]);
}

#[tokio::test]
async fn todo_is_created_once_and_its_refusal_told_by_line() {
    let (_app, acme, importer) = Importer::start().await;
    let mut rows = vec![
        json!({"id": "t1", "title": "One", "assignees": ["ann"]}),
        json!({"id": "t2", "text": "Two\nmore"}),
        json!({"id": "t3", "title": "Three", "status": 1}),
    ];
    let arguments = "--module todo --assignee bob";
    let (_, report, _) = importer.import(arguments, lines(&rows)).await;
    assert_eq!(counts(&report), [3, 2, 1], "{report}");
    assert_rejected(&report, &[(Some(3), "done items are not imported by this version")]);
    // Equal content is accepted again.
    acme.caller.post("/api/todo/create", &todo("t2", "Two", "bob")).await.ok();
    rows[0]["title"] = "Another".into();
    let (_, report, _) = importer.import(arguments, lines(&rows[..2])).await;
    assert_eq!(counts(&report), [2, 1, 1], "{report}");
    assert_rejected(&report, &[(Some(1), "other content")]);
}

#[tokio::test]
async fn import_that_the_server_refuses_exits_with_1_and_shows_no_secret() {
    let (_app, _acme, mut importer) = Importer::start().await;
    let rows = lines(&many("i", "harbour", 3, 1));
    let (code, report, _) = importer.import("--module nothing", &rows).await;
    let error = report["error"].as_str().unwrap();
    let refusal = format!("rows: {} refuses: 404: moduleCode", importer.base);
    assert!(code == 1 && error.starts_with(&refusal), "{error}");
    importer.secret = "not-the-secret".to_owned();
    let (code, report, errors) = importer.import("--module article", &rows).await;
    assert!(code == 1 && errors.contains("no token: invalid_client"), "{errors}");
    assert!(!format!("{report}{errors}").contains(&importer.secret), "{report} {errors}");
}

#[tokio::test]
async fn interrupted_import_reports_and_exits_with_1() {
    let (_app, acme, importer) = Importer::start().await;
    let mut command = importer.command("--module article --batch 500 -");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let rows = lines(&many("i", "harbour", 2_000, 1)) + "\n";
    let writing = tokio::task::spawn_blocking(move || input.write_all(rows.as_bytes()).map(|()| input));
    let _open = writing.await.unwrap().unwrap();
    eventually("the third batch", async || {
        (acme.caller.get("/v1/contents/article/i01000").await.status == 200).then_some(())
    })
    .await;
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = tokio::task::spawn_blocking(|| child.wait_with_output().unwrap()).await.unwrap();
    let (code, report, _) = reported(&output);
    let error = report["error"].as_str().unwrap();
    assert!(code == 1 && error.starts_with("-: interrupted; "), "{error}");
    // Two requests may be in flight.
    assert!([500, 1_000, 1_500].contains(&report["sent"].as_u64().unwrap()), "{report}");
}

#[tokio::test]
async fn busy_server_is_waited_for_and_a_void_token_replaced() {
    let (tokens, replies) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(vec![200, 500, 401, 503])));
    let issued = Arc::clone(&tokens);
    let issue = move || {
        issued.fetch_add(1, Ordering::Relaxed);
        async { axum::Json(json!({"access_token": "t", "token_type": "Bearer", "expires_in": 3600})) }
    };
    let reply = move || {
        let status = replies.lock().unwrap().pop().unwrap();
        let answer = axum::Json(json!({"code": status, "message": null, "data": []}));
        let status = StatusCode::from_u16(status).unwrap();
        async move { (status, [("retry-after", "1")], answer) }
    };
    let routes = Router::new().route("/oauth2/token", post(issue)).route("/v1/contents/article", put(reply));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let importer = Importer::new(&format!("http://{}", listener.local_addr().unwrap()), "any", "any");
    let serving = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    let (code, report, errors) =
        importer.import("--module article", lines(&many("i", "harbour", 3, 1))).await;
    serving.abort();
    assert_eq!((code, counts(&report)), (0, [3, 3, 0]), "{report}");
    assert!(errors.contains("trying again in 1.0 s: HTTP 503"), "{errors}");
    assert_eq!(tokens.load(Ordering::Relaxed), 2);
}
