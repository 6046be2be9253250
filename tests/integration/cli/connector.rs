//! `trawl connector`.

use std::{collections::BTreeMap, path::Path, process::Output};

use serde_json::{Value, json};
use trawl_connectors::{ClientCredentials, Grant};

use crate::{
    util::zoo::{self as sources, KEYWORD},
    util::{
        app::TestApp,
        items::many,
        own_search::OwnSearch,
        program::{own_address, run, text, trawl},
    },
};

async fn check(url: &str, credentials: &ClientCredentials, more: &[&str]) -> Output {
    check_by(KEYWORD, url, credentials, more).await
}

async fn check_by(keyword: &str, url: &str, credentials: &ClientCredentials, more: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret");
    let secret_text = secrecy::ExposeSecret::expose_secret(&credentials.client_secret);
    std::fs::write(&secret, format!("{secret_text}\n")).unwrap();
    let mut arguments = vec!["connector", "check", url, "--keyword", keyword, "--timeout-ms", "10000"];
    arguments.extend(["--token-url", credentials.token_url.as_str(), "--client-id", &credentials.client_id]);
    arguments.extend(["--client-secret-file", secret.to_str().unwrap()]);
    arguments.extend(credentials.scope.iter().flat_map(|scope| ["--scope", scope]));
    arguments.extend(more);
    run(trawl(&arguments)).await
}

fn fault(name: &str) -> sources::Fault {
    sources::faults().into_iter().find(|fault| fault.name == name).unwrap()
}

fn verdicts(report: &Value) -> BTreeMap<&str, &str> {
    let clauses = report["clauses"].as_array().unwrap().iter();
    clauses.map(|clause| (clause["id"].as_str().unwrap(), clause["verdict"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn conforming_source_passes() {
    let source = sources::start_healthy().await;

    let output = check(source.url.as_str(), &source.credentials(), &[]).await;
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.ends_with("The source keeps the contract.\n"), "{said}");
    assert!(!said.contains('\u{1b}'), "colours are for terminals");

    let output = check(source.url.as_str(), &source.credentials(), &["--json", "--method", "post"]).await;
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &report["passed"]), (Some(0), &Value::Bool(true)));
    assert_eq!((&report["method"], report["url"].as_str()), (&"POST".into(), Some(source.url.as_str())));
    assert!(verdicts(&report).values().all(|verdict| *verdict == "pass"), "{report:#}");
    assert!(report["latencyMs"]["p50"].is_f64() && report["latencyMs"]["p99"].is_f64(), "{report}");
}

#[tokio::test]
async fn trimming_source_is_checked_with_a_key_of_the_command() {
    let keys = own_address();
    let people = ["mei".to_owned()];
    let source = sources::start_for_people(&format!("http://{keys}/jwks"), None, &people).await;
    let more = ["--json", "--person", "mei", "--keys-listen", &keys];
    let output = check(source.url.as_str(), &source.credentials(), &more).await;
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(verdicts(&report).values().all(|verdict| *verdict == "pass"), "{report:#}");
    assert_eq!(verdicts(&report).get("identity-signature"), Some(&"pass"));
    assert!(text(&output.stderr).contains(&format!("http://{keys}/jwks")));

    let output = check(source.url.as_str(), &source.credentials(), &["--json"]).await;
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdicts(&report).get("status"), Some(&"fail"), "a call without an assertion is refused");
}

#[tokio::test]
async fn broken_clause_is_reported_with_a_call_that_reproduces_it() {
    let source = sources::start(&fault("count-off-by-one")).await;
    let directory = tempfile::tempdir().unwrap();
    let junit = directory.path().join("report.xml");
    let junit_path = junit.to_str().unwrap();

    let output = check(source.url.as_str(), &source.credentials(), &["--junit", junit_path]).await;

    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let lines: Vec<&str> = said.lines().skip_while(|line| !line.starts_with("FAIL")).take(4).collect();
    assert!(lines[0].starts_with("FAIL  count "), "{said}");
    assert!(lines[1].contains("`count` is the number 11 where `data` holds 10 items"), "{said}");
    assert!(lines[2].contains("the length of `data`"), "{said}");
    assert!(lines[3].contains("curl -sS --globoff -i 'http") && lines[3].contains("Bearer $TOKEN"), "{said}");
    assert!(said.ends_with("The source breaks the contract.\n"));
    let written = std::fs::read_to_string(&junit).unwrap();
    let report = quick_junit::Report::deserialize_from_str(&written).unwrap();
    assert_eq!((report.test_suites[0].failures, report.test_suites[0].tests), (1, 48));

    let output = check(source.url.as_str(), &source.credentials(), &["--json"]).await;
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &report["passed"]), (Some(1), &Value::Bool(false)));
    let failed: Vec<&str> =
        verdicts(&report).into_iter().filter_map(|(id, verdict)| (verdict == "fail").then_some(id)).collect();
    assert_eq!(failed, ["count"]);
}

#[tokio::test]
async fn credentials_of_each_kind_are_read_and_never_printed() {
    const SECRET: &str = "very-secret-0123456789";
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    std::fs::write(&file, format!("{SECRET}\n")).unwrap();
    let file = file.to_str().unwrap();
    for (options, placeholder) in [
        (&["--api-key-file", file][..], "x-api-key: $API_KEY"),
        (&["--api-key-file", file, "--api-key-header", "X-Key"], "x-key: $API_KEY"),
        (&["--username", "trawl", "--password-file", file], "-u \"$USERNAME:$PASSWORD\""),
        (&["--bearer-token-file", file], "Bearer $TOKEN"),
    ] {
        // The reference source refuses them all.
        let source = sources::start_healthy().await;
        let url = source.url.as_str();
        let output =
            run(trawl(&[&["connector", "check", url, "--keyword", KEYWORD][..], options].concat())).await;
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(placeholder) && said.contains("HTTP 401"), "{said}");
        assert!(!said.contains(SECRET), "{said}");
    }
    for (options, named) in [
        (&["--api-key-file", file, "--api-key-header", "Host"][..], "--api-key-header: must not be a header"),
        (&["--username", "a:b", "--password-file", file], "--username: "),
        (&["--username", "a"], "--password-file"),
        (&["--bearer-token-file", "/nonexistent"], "--bearer-token-file: cannot read"),
        (&["--bearer-token-file", file, "--no-auth"], "--no-auth"),
        (&[], "--no-auth"),
    ] {
        let output =
            run(trawl(&[&["connector", "check", "http://127.0.0.1:1/"][..], options].concat())).await;
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(named), "{options:?}: {said}");
    }
}

#[tokio::test]
async fn gallery_system_is_tried_with_the_headers_of_the_person() {
    let system = OwnSearch::always(r#"{"results": [], "total_count": 0}"#).await;
    let url = system.base.as_str();
    let arguments = [
        "connector",
        "try",
        "--timeout-ms",
        "10000",
        "redmine",
        "--keyword",
        "plan",
        "--url",
        url,
        "--no-auth",
    ];
    for (person, header) in [(&[][..], None), (&["--person", "mei"], Some("mei"))] {
        let output = run(trawl(&[&arguments[..], person].concat())).await;
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
        let received = system.received();
        let headers = &received.last().unwrap().headers;
        let sent = headers.get("x-redmine-switch-user").map(|value| value.to_str().unwrap());
        assert_eq!((sent, headers.contains_key("x-trawl-assertion")), (header, false));
    }
}

#[tokio::test]
async fn key_is_sent_where_the_file_of_the_mapping_says() {
    let system = OwnSearch::always("[]").await;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (key, file) = (path("key"), path("tracker.toml"));
    std::fs::write(&key, "secret-key-1").unwrap();
    let mapping = "[mapping.request]\nquery = '{ q: $keyword }'\n[mapping.answer]\nrows = '.[]'\nid = '.id'\ndisplayTime = '.time'\n";
    for (place, by_option, header) in [
        ("header = \"X-Tracker-Key\"", &[][..], Some("x-tracker-key")),
        ("header = \"X-Tracker-Key\"", &["--api-key-header", "X-Other"], Some("x-other")),
        ("parameter = \"key\"", &["--api-key-header", "X-Other"], Some("x-other")),
        ("parameter = \"key\"", &[], None),
    ] {
        let entry = format!(
            "name = \"Tracker\"\naddress = \"{}\"\nmethod = \"GET\"\norder = \"relevance\"\npageSize = 20\n\
             [[auth]]\ntype = \"API_KEY\"\n{place}\n{mapping}",
            system.base
        );
        std::fs::write(&file, entry).unwrap();
        let arguments =
            ["connector", "try", "--timeout-ms", "10000", &file, "--keyword", "plan", "--api-key-file", &key];
        let output = run(trawl(&[&arguments[..], by_option].concat())).await;
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let received = system.received();
        let received = received.last().unwrap();
        match header {
            Some(header) => assert_eq!(received.headers[header], "secret-key-1"),
            None => assert_eq!(received.parameter("key"), "secret-key-1"),
        }
    }
}

#[tokio::test]
async fn registration_that_is_printed_registers_the_system() {
    let (app, operator) = TestApp::start_operated().await;
    let system = OwnSearch::always(r#"{"rows": [{"id": 1, "title": "plan", "time": 1704067200}]}"#).await;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (key, file) = (path("key"), path("tracker.toml"));
    std::fs::write(&key, "secret-key-1").unwrap();
    let entry = format!(
        "name = \"Tracker\"\naddress = \"{}\"\nmethod = \"GET\"\norder = \"relevance\"\npageSize = 20\n\
         [[auth]]\ntype = \"API_KEY\"\nheader = \"X-Tracker-Key\"\n[mapping.request]\nquery = '{{ q: $keyword }}'\n\
         [mapping.answer]\nrows = '.rows[]'\nid = '.id'\ntitle = '.title'\ndisplayTime = '.time'\n",
        system.base
    );
    std::fs::write(&file, entry).unwrap();
    let arguments =
        ["connector", "try", "--timeout-ms", "10000", &file, "--registration", "--api-key-file", &key];
    let output = run(trawl(&arguments)).await;
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.starts_with("auth.key is to be added") && !printed.contains("secret-key-1"),
        "{printed}{said}"
    );
    assert!(system.received().is_empty(), "it searches nothing");

    let mut body: Value = serde_json::from_str(printed).unwrap();
    assert_eq!(body["auth"], json!({"type": "API_KEY", "header": "X-Tracker-Key"}));
    body["id"] = "tracker".into();
    body["auth"]["key"] = "secret-key-1".into();
    body["timeoutMs"] = 10_000.into();
    operator.register_source(&body, "pages", &["tracker"]).await;
    let caller = app.tenant("acme").await.caller;
    let answer = caller.search(&[("moduleId", "pages"), ("keyword", "plan")]).await.ok();
    assert_eq!(answer.items()[0]["title"], "plan", "{}", answer.text);
    assert_eq!(system.received()[0].headers["x-tracker-key"], "secret-key-1");
}

#[tokio::test]
async fn strict_check_fails_where_a_clause_is_undecided() {
    let source = sources::start_healthy().await;
    let check = |keyword: &'static str, more: &'static [&'static str]| {
        let (url, credentials) = (source.url.clone(), source.credentials());
        async move { check_by(keyword, url.as_str(), &credentials, more).await }
    };
    for (keyword, more, code) in
        [(KEYWORD, &["--strict"][..], 0), ("nothing-matches", &[], 0), ("nothing-matches", &["--strict"], 1)]
    {
        let output = check(keyword, more).await;
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{keyword} {more:?}: {said}");
        assert_eq!(said.contains("--strict: "), code == 1, "{said}");
    }
}

#[tokio::test]
async fn secrets_and_tokens_are_never_printed() {
    let credentials = |source: &sources::Running| ClientCredentials {
        grant: Grant::ClientCredentials,
        client_secret: "not-the-secret-9f2c".into(),
        ..source.credentials()
    };
    let source = sources::start_healthy().await;
    for more in [&[][..], &["--json"]] {
        let output = check(source.url.as_str(), &credentials(&source), more).await;
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("check the client id and secret") && !said.contains("9f2c"), "{said}");
    }
}

#[tokio::test]
async fn wrong_options_are_named_with_exit_code_2() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let empty = file.path().to_str().unwrap();
    let url = "http://127.0.0.1:9/search";
    let token = ["--token-url", "http://127.0.0.1:9/token", "--client-id", "a", "--client-secret-file"];
    let with = |secret: &'static str| [&[url][..], &token, &[secret]].concat();
    for (arguments, said) in [
        (vec![url], "--no-auth"),
        (vec!["not a url", "--no-auth"], "not a url"),
        (vec!["file:///etc/passwd", "--no-auth"], "url"),
        (vec!["http://user:word@127.0.0.1:9/", "--no-auth"], "url"),
        (vec!["http://169.254.169.254/", "--no-auth"], "url"),
        (vec![url, "--no-auth", "--method", "PUT"], "PUT"),
        (vec![url, "--no-auth", "--keyword", " "], "blank"),
        (vec![url, "--no-auth", "--timeout-ms", "1"], "--timeout-ms"),
        (vec![url, "--no-auth", "--scope", "x"], "--token-url"),
        (vec![url, "--token-url", "http://127.0.0.1:9/token"], "--client-id"),
        (with("/nonexistent/secret"), "/nonexistent/secret"),
    ] {
        let output = run(trawl(&[&["connector", "check"], &arguments[..]].concat())).await;
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(said) && !error.contains("word@"), "{arguments:?}: {error}");
    }
    let arguments = [&["connector", "check", url][..], &token, &[empty]].concat();
    let output = run(trawl(&arguments)).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no secret"), "{}", text(&output.stderr));
}

#[tokio::test]
async fn report_is_printed_when_its_file_cannot_be_written() {
    let source = sources::start_healthy().await;
    let output =
        check(source.url.as_str(), &source.credentials(), &["--junit", "/nonexistent/report.xml"]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("/nonexistent/report.xml"));
    assert!(text(&output.stdout).contains("The source keeps the contract."));
}

#[tokio::test]
async fn contract_is_printed_as_checked() {
    let output = run(trawl(&["connector", "schema"])).await;
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("connectors/contract.openapi.json");
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(kept).unwrap()).unwrap();
    assert_eq!((output.status.code(), printed), (Some(0), kept));
}

/// `…/contents/search?moduleId=X&paging=cursor` is a valid source (book: explanation/federation.md).
#[tokio::test]
async fn trawl_as_a_source_passes_the_check() {
    let app = TestApp::start().await;
    let provider = app.tenant("provider").await;
    app.put_contents(&provider.caller, "article", &many("i", KEYWORD, 57, 4)).await;
    let url = format!("{}/contents/search?moduleId=article&paging=cursor", app.base);
    let credentials = ClientCredentials {
        grant: Grant::ClientCredentials,
        token_url: format!("{}/oauth2/token", app.base).parse().unwrap(),
        client_id: provider.client_id.clone(),
        client_secret: provider.client_secret.clone(),
        scope: Some("contents:read".to_owned()),
        audience: None,
    };
    for method in ["GET", "POST"] {
        let output = check(&url, &credentials, &["--json", "--method", method]).await;
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(verdicts(&report).values().all(|verdict| *verdict == "pass"), "{report:#}");
        assert_eq!(output.status.code(), Some(0));
    }
}
