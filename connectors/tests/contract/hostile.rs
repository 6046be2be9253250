//! Sources that mean harm: what the check prints of them is safe to read and to paste, and holds nothing that they were
//! sent.

use axum::Router;
use axum::extract::Query;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use trawl_connectors::check::{Report, Verdict};
use trawl_connectors::{Authentication, Method};

use crate::check::{run, settings};
use crate::zoo;
use crate::zoo::Running;

#[derive(Deserialize)]
struct Asked {
    limit: Option<usize>,
    cursor: Option<String>,
}

/// A page of the ten newest of countless items, with this cursor and this as the second item's id.
fn page(asked: &Asked, cursor: &str, id: &str) -> Value {
    let page: usize =
        asked.cursor.as_deref().and_then(|cursor| cursor.split('#').nth(1)?.parse().ok()).unwrap_or(0);
    let limit = asked.limit.unwrap_or(10);
    let item = |number: usize| {
        let time = 1_704_067_200_000 - i64::try_from(page * 100 + number).unwrap();
        let id = if number == 1 { json!(id) } else { json!(format!("{page}-{number}")) };
        json!({"id": id, "title": "x", "displayTime": time})
    };
    let data: Vec<Value> = (0..limit).map(item).collect();
    json!({"code": 200, "message": null, "data": data, "count": limit, "total": 1_000_000,
        "cursor": format!("{cursor}#{}", page + 1)})
}

/// The report on a source that answers so, called with tokens.
async fn report_on(answer: fn(&HeaderMap, &Asked) -> Response, method: Method) -> Report {
    let tokens = zoo::start_healthy().await;
    let router = Router::new().fallback(move |headers: HeaderMap, Query(asked): Query<Asked>| async move {
        answer(&headers, &asked)
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/search", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let mut settings = settings(&tokens, method);
    settings.source.url = url;
    settings.source.authentication = Authentication::OAuth2Client(Running::credentials(&tokens));
    run(settings).await
}

fn send(page: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json;charset=UTF-8")], page.to_string()).into_response()
}

/// All that is printed of a report.
fn printed(report: &Report) -> Vec<&str> {
    let lines =
        report.clauses.iter().flat_map(|finding| [Some(finding.seen.as_str()), finding.curl.as_deref()]);
    lines.flatten().collect()
}

#[tokio::test]
async fn what_a_source_sends_does_nothing_to_a_terminal() {
    fn answer(_: &HeaderMap, asked: &Asked) -> Response {
        let cursor = "'\u{1b}]0;owned\u{7}\n\u{202e}$(id)`id`\u{fffe}\0";
        send(&page(asked, cursor, "\u{1b}[2J\u{9b}1A\u{202e}\n"))
    }
    let report = report_on(answer, Method::Get).await;
    for line in printed(&report) {
        let is_harmful = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{fffe}');
        assert!(!line.contains(is_harmful), "{line:?}");
    }
    assert!(
        printed(&report).iter().any(|line| line.contains("-d 'cursor=%27%1B%5D0%3Bowned")),
        "{report:#?}"
    );
}

#[tokio::test]
async fn what_a_source_was_sent_is_not_printed() {
    /// The token stands in the cursor, in the first id twice, and in the content type.
    fn answer(headers: &HeaderMap, asked: &Asked) -> Response {
        let Some(token) = headers.get(header::AUTHORIZATION) else {
            return StatusCode::UNAUTHORIZED.into_response();
        };
        let token = token.to_str().unwrap().trim_start_matches("Bearer ").to_owned();
        let page = page(asked, &token, &format!("{}{token}", "x".repeat(60)).repeat(9)).to_string();
        ([(header::CONTENT_TYPE, format!("text/{token};{token}"))], page).into_response()
    }
    let report = report_on(answer, Method::Get).await;
    // The tokens of the reference source are UUIDs.
    let is_token =
        |word: &str| word.len() >= 12 && word.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    for line in printed(&report) {
        let mut words = line.split(|character: char| !character.is_ascii_alphanumeric() && character != '-');
        assert!(!words.any(is_token), "{line}");
    }
    assert!(printed(&report).iter().any(|line| line.contains("cursor=…#1")), "{report:#?}");
}

#[tokio::test]
async fn a_cursor_as_large_as_a_body_is_not_sent_back() {
    fn answer(_: &HeaderMap, asked: &Asked) -> Response {
        assert!(asked.cursor.is_none());
        send(&page(asked, &"c".repeat(1 << 20), "a"))
    }
    let report = report_on(answer, Method::Get).await;
    assert!(printed(&report).iter().all(|line| line.len() < 1_000));
    let failed: Vec<&str> = report
        .clauses
        .iter()
        .filter(|finding| finding.verdict == Verdict::Fail)
        .map(|finding| finding.id)
        .filter(|id| id.starts_with("cursor"))
        .collect();
    assert_eq!(failed, ["cursor"]);
}
