//! Unusual sources that keep the contract.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use trawl_connectors::check::{CheckSettings, ClauseVerdict, Report, check};
use trawl_connectors::{AddressRules, Authentication, DeclaredOrder, Method};
use url::Url;

use crate::check::clauses_with;
use crate::support::settings;

const CONTENT_TYPE: &str = "application/json;charset=UTF-8";
const NEWEST: i64 = 1_704_067_200_000;

#[derive(Clone, Deserialize)]
struct SearchQuery {
    keyword: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

impl SearchQuery {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(10)
    }

    fn offset(&self) -> usize {
        self.cursor.as_deref().map_or(0, |cursor| cursor.trim_start_matches('0').parse().unwrap_or(0))
    }

    fn matching(&self, items: usize) -> Vec<Value> {
        let item = |number: usize| {
            let hours = i64::try_from(items - number).unwrap();
            json!({"id": (items - number).to_string(), "title": "Harbour", "displayTime": NEWEST + hours * 3_600_000})
        };
        if self.keyword.as_deref() == Some("harbour") { (0..items).map(item).collect() } else { Vec::new() }
    }
}

fn page_by_offset(query: &SearchQuery, matching: &[Value], limit: usize) -> Value {
    let start = query.offset().min(matching.len());
    let end = matching.len().min(start + limit);
    let cursor = (end < matching.len()).then(|| end.to_string());
    envelope(&matching[start..end], matching.len(), cursor.as_deref())
}

fn envelope(rows: &[Value], total: usize, cursor: Option<&str>) -> Value {
    json!({"code": 200, "message": null, "data": rows, "count": rows.len(), "total": total, "cursor": cursor})
}

fn send(page: &Value) -> Response {
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], page.to_string()).into_response()
}

/// Serves `answer` at every path; refuses calls without a keyword.
async fn serve(answer: impl Fn(SearchQuery) -> Response + Clone + Send + Sync + 'static) -> Url {
    let answer = move |Query(query): Query<SearchQuery>| {
        let is_missing = query.keyword.as_deref().is_none_or(|keyword| keyword.trim().is_empty());
        let response = if is_missing { StatusCode::BAD_REQUEST.into_response() } else { answer(query) };
        std::future::ready(response)
    };
    serve_router(Router::new().fallback(answer)).await
}

async fn serve_router(router: Router) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/search", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url.parse().unwrap()
}

async fn check_in_order(url: Url, order: DeclaredOrder) -> Report {
    let rules = AddressRules::allowing([&url]);
    let source = settings(url, Method::Get, Authentication::None);
    check(CheckSettings { source, order, person: None, keyword: Some("harbour".to_owned()) }, &rules)
        .await
        .unwrap()
}

const OF_TOKENS: [&str; 4] = ["token", "auth-required", "auth-wrong-token", "auth-scope"];

/// Asserts that nothing failed, and that only token clauses and `open` are unknown.
#[track_caller]
fn assert_kept(report: &Report, open: &[&str]) {
    assert_eq!(clauses_with(report, ClauseVerdict::Fail), [""; 0], "{report:#?}");
    let left: Vec<&str> = clauses_with(report, ClauseVerdict::Unknown)
        .into_iter()
        .filter(|id| !OF_TOKENS.contains(id))
        .collect();
    assert_eq!(left, open, "{report:#?}");
}

async fn check_answers(answer: impl Fn(SearchQuery) -> Response + Clone + Send + Sync + 'static) -> Report {
    check_in_order(serve(answer).await, DeclaredOrder::Time).await
}

#[tokio::test]
async fn offset_pages_of_at_most_fifty_pass() {
    let report =
        check_answers(|query| send(&page_by_offset(&query, &query.matching(120), query.limit().min(50))))
            .await;
    assert_kept(&report, &[]);
}

#[tokio::test]
async fn refused_limit_of_a_hundred_passes() {
    let report = check_answers(|query| match query.limit() {
        0..=50 => send(&page_by_offset(&query, &query.matching(57), query.limit())),
        _ => StatusCode::BAD_REQUEST.into_response(),
    })
    .await;
    assert_kept(&report, &[]);
}

#[tokio::test]
async fn single_match_leaves_page_clauses_unknown() {
    let report =
        check_answers(|query| send(&page_by_offset(&query, &query.matching(1), query.limit()))).await;
    let open = [
        "item-id-stable",
        "limit-default",
        "cursor-advances",
        "cursor-ends",
        "cursor-unique",
        "cursor-complete",
        "cursor-repeatable",
        "order",
    ];
    assert_kept(&report, &open);
}

/// Refuses calls whose number `is_refused`, with a wait of so many seconds.
fn with_rate_limit(
    refusal: fn() -> Response,
    seconds: &'static str,
    is_refused: fn(usize) -> bool,
) -> impl Fn(SearchQuery) -> Response + Clone {
    let calls = Arc::new(AtomicUsize::new(0));
    move |query| {
        if is_refused(calls.fetch_add(1, Ordering::SeqCst)) {
            return ([(header::RETRY_AFTER, seconds)], refusal()).into_response();
        }
        send(&page_by_offset(&query, &query.matching(57), query.limit()))
    }
}

fn by_status() -> Response {
    StatusCode::TOO_MANY_REQUESTS.into_response()
}

fn by_code() -> Response {
    send(&json!({"code": 429, "message": "slower", "data": []}))
}

#[tokio::test]
async fn rate_limit_is_waited_for() {
    for refusal in [by_status, by_code] {
        let report = check_answers(with_rate_limit(refusal, "0", |call| call < 12 && call % 2 == 0)).await;
        assert_kept(&report, &[]);
    }
}

#[tokio::test]
async fn rate_limit_beyond_the_longest_wait_leaves_clauses_unknown() {
    let report = check_answers(with_rate_limit(by_status, "600", |call| call == 1)).await;
    assert_kept(&report, &["keyword-chinese"]);
    let chinese = report.clauses.iter().find(|finding| finding.id == "keyword-chinese").unwrap();
    assert!(chinese.seen.contains("a wait of 600 s"), "{}", chinese.seen);
}

#[tokio::test]
async fn short_and_empty_pages_pass() {
    let report = check_answers(|query| {
        let (all, start) = (query.matching(60), query.offset());
        let end = all.len().min(start + query.limit());
        let may_see = |place: usize| !(20..44).contains(&place) && (place < 20 || place.is_multiple_of(3));
        let seen = |places: std::ops::Range<usize>| places.filter(|place| may_see(*place));
        let rows: Vec<Value> = seen(start..end).map(|place| all[place].clone()).collect();
        let cursor = (end < all.len()).then(|| end.to_string());
        send(&envelope(&rows, seen(0..all.len()).count(), cursor.as_deref()))
    })
    .await;
    assert_kept(&report, &[]);
}

#[tokio::test]
async fn new_content_with_offset_cursors_is_unknown() {
    let arrived = Arc::new(AtomicUsize::new(60));
    let report = check_answers(move |query| {
        let items = arrived.fetch_add(1, Ordering::SeqCst);
        send(&page_by_offset(&query, &query.matching(items), query.limit()))
    })
    .await;
    assert_kept(&report, &["cursor-unique", "cursor-repeatable"]);
}

#[tokio::test]
async fn new_content_with_place_cursors_passes() {
    let arrived = Arc::new(AtomicUsize::new(60));
    let report = check_answers(move |query| {
        let all = query.matching(arrived.fetch_add(1, Ordering::SeqCst));
        // The cursor counts the rows below it.
        let start = query.cursor.as_ref().map_or(0, |_| all.len() + 1 - query.offset());
        let end = all.len().min(start + query.limit());
        let cursor = all[start..end].last().filter(|_| end < all.len());
        let cursor = cursor.map(|row| row["id"].as_str().unwrap());
        send(&envelope(&all[start..end], all.len(), cursor))
    })
    .await;
    assert_kept(&report, &[]);
}

#[tokio::test]
async fn equal_relevance_in_any_order_is_unknown() {
    let url = serve(|query| {
        let mut all = query.matching(40);
        // Two equal items swap with the page's length.
        if query.limit() != 100 {
            all.chunks_mut(2).for_each(<[Value]>::reverse);
        }
        send(&page_by_offset(&query, &all, query.limit()))
    })
    .await;
    assert_kept(&check_in_order(url, DeclaredOrder::Relevance).await, &["order"]);
}

#[tokio::test]
async fn longest_cursors_and_extra_fields_pass() {
    let report = check_answers(|query| {
        let mut page = page_by_offset(&query, &query.matching(57), query.limit());
        match page["cursor"].as_str() {
            Some(cursor) => page["cursor"] = format!("{cursor:0>4096}").into(),
            None => drop(page.as_object_mut().unwrap().remove("cursor")),
        }
        page["took"] = json!(3);
        for item in page["data"].as_array_mut().unwrap() {
            item["brief"] = json!(null);
            item["action"] = json!("{}");
            item["score"] = json!(0.5);
            item["tags"] = json!([{"name": "port"}]);
        }
        send(&page)
    })
    .await;
    assert_kept(&report, &[]);
}

#[tokio::test]
async fn times_before_1970_pass() {
    let report = check_answers(|query| {
        let mut all = query.matching(57);
        for item in &mut all {
            item["displayTime"] = json!(item["displayTime"].as_i64().unwrap() - 60 * 31_557_600_000);
        }
        send(&page_by_offset(&query, &all, query.limit()))
    })
    .await;
    assert_kept(&report, &[]);
}

#[tokio::test]
async fn refusals_in_the_envelope_pass() {
    let router = Router::new().fallback(|Query(query): Query<SearchQuery>| async move {
        if query.keyword.is_none() {
            return send(&json!({"code": 400, "message": "keyword: is required", "data": null}));
        }
        send(&page_by_offset(&query, &query.matching(57), query.limit()))
    });
    assert_kept(&check_in_order(serve_router(router).await, DeclaredOrder::Time).await, &[]);
}

#[tokio::test]
async fn chunks_quoted_charset_and_redirected_path_pass() {
    let router = Router::new().fallback(|request: Request| async move {
        let query = request.uri().query().unwrap_or_default();
        if request.uri().path() == "/search" {
            let location = format!("/v2/find?{query}");
            return (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, location)]).into_response();
        }
        let Query(query) = Query::<SearchQuery>::try_from_uri(request.uri()).unwrap();
        if query.keyword.is_none() {
            return StatusCode::UNPROCESSABLE_ENTITY.into_response();
        }
        let text = page_by_offset(&query, &query.matching(57), query.limit()).to_string();
        let chunks: Vec<_> = text
            .as_bytes()
            .chunks(700)
            .map(|chunk| Ok::<_, Infallible>(Bytes::copy_from_slice(chunk)))
            .collect();
        let content_type = [(header::CONTENT_TYPE, "Application/JSON; Charset=\"utf-8\"")];
        (content_type, Body::from_stream(stream::iter(chunks))).into_response()
    });
    assert_kept(&check_in_order(serve_router(router).await, DeclaredOrder::Time).await, &[]);
}

#[tokio::test]
async fn json_without_a_charset_passes_with_a_note() {
    let report = check_answers(|query| {
        let page = page_by_offset(&query, &query.matching(57), query.limit());
        ([(header::CONTENT_TYPE, "application/json")], page.to_string()).into_response()
    })
    .await;
    assert_kept(&report, &[]);
    let charset = report.clauses.iter().find(|finding| finding.id == "charset").unwrap();
    assert!(charset.seen.contains("without a charset"), "{}", charset.seen);
}

#[tokio::test]
async fn latin_1_on_a_later_page_breaks_utf_8() {
    let report = check_answers(|query| {
        let page = page_by_offset(&query, &query.matching(57), query.limit()).to_string();
        let title = if query.cursor.is_some() { &b"Caf\xe9"[..] } else { b"Harbour" };
        let body = page.split("Harbour").map(str::as_bytes).collect::<Vec<_>>().join(title);
        ([(header::CONTENT_TYPE, CONTENT_TYPE)], body).into_response()
    })
    .await;
    assert_eq!(clauses_with(&report, ClauseVerdict::Fail), ["utf-8"], "{report:#?}");
}

#[tokio::test]
async fn half_a_character_leaves_other_clauses_decided() {
    let report = check_answers(|query| {
        let page = page_by_offset(&query, &query.matching(57), query.limit()).to_string();
        ([(header::CONTENT_TYPE, CONTENT_TYPE)], page.replacen("Harbour", "\\ud83dHarbour", 1))
            .into_response()
    })
    .await;
    assert_eq!(clauses_with(&report, ClauseVerdict::Fail), ["json"], "{report:#?}");
    assert_eq!(clauses_with(&report, ClauseVerdict::Unknown), OF_TOKENS);
}

#[tokio::test]
async fn redirect_without_the_query_breaks_redirect() {
    let router = Router::new().fallback(|request: Request| async move {
        match request.uri().path() {
            "/search" => (StatusCode::FOUND, [(header::LOCATION, "/find")]).into_response(),
            _ => StatusCode::BAD_REQUEST.into_response(),
        }
    });
    let report = check_in_order(serve_router(router).await, DeclaredOrder::Time).await;
    assert_eq!(clauses_with(&report, ClauseVerdict::Fail), ["redirect"], "{report:#?}");
}

#[tokio::test]
async fn clauses_without_a_row_say_that_none_came() {
    let report =
        check_answers(|query| send(&page_by_offset(&SearchQuery { keyword: None, ..query }, &[], 10))).await;
    let id = report.clauses.iter().find(|finding| finding.id == "item-id").unwrap();
    assert!(id.seen.contains("no answer held a row"), "{}", id.seen);
    assert!(report.passed && report.open() > 0);
    let whole =
        check_answers(|query| send(&page_by_offset(&query, &query.matching(57), query.limit()))).await;
    assert_eq!(whole.open(), 0, "clauses about tokens are beside the point");
}

#[tokio::test]
async fn http_1_0_server_passes() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: Url = format!("http://{}/search", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        loop {
            let (connection, _) = listener.accept().await.unwrap();
            tokio::spawn(answer_in_1_0(connection));
        }
    });
    assert_kept(&check_in_order(url, DeclaredOrder::Time).await, &[]);
}

async fn answer_in_1_0(mut connection: TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = connection.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let uri = head.split(' ').nth(1).unwrap().parse().unwrap();
    let Query(query) = Query::<SearchQuery>::try_from_uri(&uri).unwrap();
    let answer = if query.keyword.is_none() {
        "HTTP/1.0 400 Bad Request\r\n\r\n".to_owned()
    } else {
        let page = page_by_offset(&query, &query.matching(57), query.limit());
        format!("HTTP/1.0 200 OK\r\nContent-Type: {CONTENT_TYPE}\r\n\r\n{page}")
    };
    connection.write_all(answer.as_bytes()).await.unwrap();
}
