//! A search source that keeps trawl's contract: copy it, and use your own data.

use std::{cmp::Reverse, sync::Arc};

use axum::extract::{FromRequest, Query, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing::get};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{assertions::Assertions, items::Item, tokens::IssuedTokens};

/// Scope that a token needs.
pub(crate) const SCOPE: &str = "search";
/// The contract's default, and this source's own maximum.
const DEFAULT_LIMIT: usize = 10;
const LARGEST_LIMIT: usize = 100;

#[derive(Clone)]
struct Source {
    /// Newest first, then by id: an order without ties.
    items: Arc<[Item]>,
    tokens: IssuedTokens,
    /// If some items are for their readers alone.
    assertions: Option<Assertions>,
}

#[derive(Deserialize)]
struct SearchRequest {
    keyword: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

/// `/search` over these ordered items, by GET and by POST.
pub(crate) fn router(items: Vec<Item>, tokens: IssuedTokens, assertions: Option<Assertions>) -> Router {
    Router::new().route("/search", get(answer).post(answer)).with_state(Source {
        items: items.into(),
        tokens,
        assertions,
    })
}

async fn answer(State(source): State<Source>, request: Request) -> Response {
    // Checked first, so that a stranger learns nothing about valid searches.
    if let Err(refusal) = source.tokens.check(request.headers(), SCOPE) {
        let challenge = [(header::WWW_AUTHENTICATE, refusal.challenge())];
        return (challenge, fail(refusal.status(), "the token is missing, unknown or not for searching"))
            .into_response();
    }
    let reader = match &source.assertions {
        None => None,
        Some(assertions) => match assertions.person(request.headers()).await {
            Some(person) => Some(person),
            None => return fail(StatusCode::UNAUTHORIZED, "the assertion is missing or not valid here"),
        },
    };
    let page = read_request(request)
        .await
        .and_then(|parameters| search(&source.items, &parameters, reader.as_deref()));
    match page {
        Ok(page) => envelope(StatusCode::OK, &page),
        Err(reason) => fail(StatusCode::BAD_REQUEST, &reason),
    }
}

/// Reads the body of a POST, else the query.
async fn read_request(request: Request) -> Result<SearchRequest, String> {
    if request.method() == Method::POST {
        let body = Json::from_request(request, &()).await;
        return body.map(|Json(parameters)| parameters).map_err(|rejection| rejection.body_text());
    }
    let query = Query::try_from_uri(request.uri());
    query.map(|Query(parameters)| parameters).map_err(|rejection| rejection.body_text())
}

/// One page of at most `limit` matches that `reader` may see.
fn search(items: &[Item], parameters: &SearchRequest, reader: Option<&str>) -> Result<Value, String> {
    let keyword = parameters.keyword.as_deref().unwrap_or_default().to_lowercase();
    let words: Vec<&str> = keyword.split_whitespace().collect();
    if words.is_empty() {
        return Err("keyword: is required".to_owned());
    }
    let limit = parameters.limit.unwrap_or(DEFAULT_LIMIT).min(LARGEST_LIMIT);
    if limit == 0 {
        return Err("limit: must be at least 1".to_owned());
    }
    let after = parameters.cursor.as_deref().map(read_cursor).transpose()?;
    let holds_every_word = |item: &&Item| {
        let text = format!("{}\n{}", item.title, item.brief).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    // Trimmed before it is counted, so that totals and cursors tell nothing either.
    let is_visible = |item: &&Item| item.reader.is_none() || item.reader.as_deref() == reader;
    let matches: Vec<&Item> = items.iter().filter(is_visible).filter(holds_every_word).collect();
    // The cursor names a place, not an offset, so added and removed items shift no page.
    let start = matches.partition_point(|item| after.is_some_and(|after| place(item) <= after));
    let page = &matches[start..matches.len().min(start + limit)];
    let is_last = start + page.len() == matches.len();
    let cursor = page.last().filter(|_| !is_last).map(|item| format!("{}/{}", item.display_time, item.id));
    Ok(json!({
        "code": 200, "message": null,
        "data": page, "count": page.len(), "total": matches.len(), "cursor": cursor,
    }))
}

/// An item's place in the order.
fn place(item: &Item) -> (Reverse<i64>, &str) {
    (Reverse(item.display_time), &item.id)
}

/// A cursor's place, whether or not its item still exists.
fn read_cursor(cursor: &str) -> Result<(Reverse<i64>, &str), String> {
    let parts = cursor.split_once('/').and_then(|(time, id)| Some((Reverse(time.parse().ok()?), id)));
    parts.ok_or_else(|| "cursor: is none of this source's".to_owned())
}

fn fail(status: StatusCode, message: &str) -> Response {
    envelope(status, &json!({"code": status.as_u16(), "message": message, "data": null}))
}

fn envelope(status: StatusCode, envelope: &Value) -> Response {
    let content_type = [(header::CONTENT_TYPE, "application/json;charset=UTF-8")];
    (status, content_type, envelope.to_string()).into_response()
}
