//! Malicious sources: reports are safe to print and to paste, and hold no token.

use axum::Router;
use axum::extract::Query;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use trawl_connectors::check::{ClauseVerdict, Report};
use trawl_connectors::{Authentication, Method};

use crate::check::{run, settings};
use crate::zoo;
use crate::zoo::Running;

#[derive(Deserialize)]
struct PageQuery {
    limit: Option<usize>,
    cursor: Option<String>,
}

fn page(query: &PageQuery, cursor: &str, id: &str) -> Value {
    let page: usize =
        query.cursor.as_deref().and_then(|cursor| cursor.split('#').nth(1)?.parse().ok()).unwrap_or(0);
    let limit = query.limit.unwrap_or(10);
    let item = |number: usize| {
        let time = 1_704_067_200_000 - i64::try_from(page * 100 + number).unwrap();
        let id = if number == 1 { json!(id) } else { json!(format!("{page}-{number}")) };
        json!({"id": id, "title": "x", "displayTime": time})
    };
    let data: Vec<Value> = (0..limit).map(item).collect();
    json!({"code": 200, "message": null, "data": data, "count": limit, "total": 1_000_000,
        "cursor": format!("{cursor}#{}", page + 1)})
}

async fn report_on(answer: fn(&HeaderMap, &PageQuery) -> Response, method: Method) -> Report {
    let tokens = zoo::start_healthy().await;
    let router =
        Router::new().fallback(move |headers: HeaderMap, Query(query): Query<PageQuery>| async move {
            answer(&headers, &query)
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

fn printed(report: &Report) -> Vec<&str> {
    let lines =
        report.clauses.iter().flat_map(|finding| [Some(finding.seen.as_str()), finding.curl.as_deref()]);
    lines.flatten().collect()
}

#[tokio::test]
async fn report_is_harmless_to_a_terminal() {
    fn answer(_: &HeaderMap, query: &PageQuery) -> Response {
        let cursor = "'\u{1b}]0;owned\u{7}\n\u{202e}$(id)`id`\u{fffe}\0";
        send(&page(query, cursor, "\u{1b}[2J\u{9b}1A\u{202e}\n"))
    }
    let report = report_on(answer, Method::Get).await;
    for line in printed(&report) {
        let is_harmful = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{fffe}');
        assert!(!line.contains(is_harmful), "{line:?}");
    }
    assert!(printed(&report).iter().any(|line| line.contains("cursor=%27%1B%5D0%3Bowned")), "{report:#?}");
}

#[tokio::test]
async fn endless_chain_of_empty_pages_breaks_its_clause() {
    fn answer(_: &HeaderMap, query: &PageQuery) -> Response {
        let page = query.cursor.as_deref().map_or(0, |cursor| cursor.parse::<u64>().unwrap());
        let cursor = (page + 1).to_string();
        send(&json!({"code": 200, "message": null, "data": [], "count": 0, "total": 45, "cursor": cursor}))
    }
    let report = report_on(answer, Method::Get).await;
    let ends = report.clauses.iter().find(|finding| finding.id == "cursor-ends").unwrap();
    assert_eq!(
        (ends.verdict, ends.seen.as_str()),
        (ClauseVerdict::Fail, "8 pages without rows, and still a cursor")
    );
}

#[tokio::test]
async fn report_holds_no_token() {
    /// Puts the token into the cursor, the second id and the content type.
    fn answer(headers: &HeaderMap, query: &PageQuery) -> Response {
        let Some(token) = headers.get(header::AUTHORIZATION) else {
            return StatusCode::UNAUTHORIZED.into_response();
        };
        let token = token.to_str().unwrap().trim_start_matches("Bearer ").to_owned();
        let page = page(query, &token, &format!("{}{token}", "x".repeat(60)).repeat(9)).to_string();
        ([(header::CONTENT_TYPE, format!("text/{token};{token}"))], page).into_response()
    }
    let report = report_on(answer, Method::Get).await;
    // The reference source's tokens are UUIDs.
    let is_token =
        |word: &str| word.len() >= 12 && word.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    for line in printed(&report) {
        let mut words = line.split(|character: char| !character.is_ascii_alphanumeric() && character != '-');
        assert!(!words.any(is_token), "{line}");
    }
    assert!(printed(&report).iter().any(|line| line.contains("cursor=…%231")), "{report:#?}");
}

#[tokio::test]
async fn huge_cursor_is_not_sent_back() {
    fn answer(_: &HeaderMap, query: &PageQuery) -> Response {
        assert!(query.cursor.is_none());
        send(&page(query, &"c".repeat(1 << 20), "a"))
    }
    let report = report_on(answer, Method::Get).await;
    assert!(printed(&report).iter().all(|line| line.len() < 1_000));
    let failed: Vec<&str> = report
        .clauses
        .iter()
        .filter(|finding| finding.verdict == ClauseVerdict::Fail)
        .map(|finding| finding.id)
        .filter(|id| id.starts_with("cursor"))
        .collect();
    assert_eq!(failed, ["cursor"]);
}
