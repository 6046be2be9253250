use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use serde_json::{Value, json};

use super::fault::Fault;
use super::layer::{Call, SourceRequest, send_json};
use super::running::KEYWORD;

const UNKNOWN: &str = "zyzzyva";

pub(super) fn faults() -> Vec<Fault> {
    const BROKEN: StatusCode = StatusCode::INTERNAL_SERVER_ERROR;
    vec![
        Fault::search("keyword-not-required", "keyword-required", |call| take_no_keyword(call).boxed()),
        Fault::send("unknown-word-404", "keyword-unknown", |_, text| {
            answer_nothing(text, || StatusCode::NOT_FOUND.into_response())
        })
        .failing("error", "404")
        .met_by(UNKNOWN),
        Fault::send("unknown-word-code-404", "keyword-unknown", |_, text| {
            let failure = json!({"code": 404, "message": "no results", "data": null});
            answer_nothing(text, || send_json(failure.to_string()))
        })
        .failing("error", "no results")
        .met_by(UNKNOWN),
        Fault::page("unknown-word-data-null", "keyword-unknown", |_, page| {
            if page["total"] == 0 {
                page["data"] = json!(null);
            }
        })
        .unusable("`data` is null")
        .met_by(UNKNOWN),
        Fault::search("unknown-word-finds-everything", "keyword-unknown", |call| {
            find_everything(call).boxed()
        })
        .met_by(UNKNOWN),
        Fault::send("chinese-500", "keyword-chinese", |request, text| {
            fail_where(request, text, BROKEN, |keyword| {
                keyword.contains(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
            })
        })
        .failing("error", "500")
        .met_by("港口"),
        // A column of three-byte UTF-8 takes no emoji.
        Fault::send("emoji-500", "keyword-emoji", |request, text| {
            fail_where(request, text, BROKEN, |keyword| keyword.contains(|c| c > '\u{ffff}'))
        })
        .failing("error", "500")
        .met_by("🏗️"),
        Fault::send("percent-500", "keyword-specials", |request, text| {
            fail_where(request, text, BROKEN, |keyword| keyword.contains('%'))
        })
        .failing("error", "500")
        .met_by("100%"),
        Fault::send("quotation-mark-500", "keyword-specials", |request, text| {
            fail_where(request, text, BROKEN, |keyword| keyword.contains('"'))
        })
        .failing("error", "500")
        .met_by("\"surcharge\""),
        Fault::search("query-not-decoded", "keyword-specials", |call| take_the_query_as_it_is(call).boxed()),
        Fault::search("chinese-finds-nothing", "keyword-chinese", |call| {
            find_nothing_where(call, |keyword| keyword.contains(|c| ('\u{4e00}'..='\u{9fff}').contains(&c)))
                .boxed()
        }),
        Fault::search("two-words-find-nothing", "keyword-spaces", |call| {
            find_nothing_where(call, |keyword| keyword.contains(' ')).boxed()
        }),
        Fault::send("spaces-400", "keyword-spaces", |request, text| {
            fail_where(request, text, StatusCode::BAD_REQUEST, |keyword| keyword.contains(' '))
        })
        .failing("error", "400")
        .met_by("harbour budget"),
        Fault::send("long-keyword-414", "keyword-long", |request, text| {
            fail_where(request, text, StatusCode::URI_TOO_LONG, |keyword| keyword.chars().count() > 200)
        })
        .failing("error", "414")
        .met_by("harbour ".repeat(32).trim()),
    ]
}

async fn take_no_keyword(Call { request, reference, .. }: Call) -> Response {
    let lacks_one = request.keyword.as_deref().is_none_or(|keyword| keyword.trim().is_empty());
    let request =
        if lacks_one { SourceRequest { keyword: Some(UNKNOWN.to_owned()), ..request } } else { request };
    reference.ask(&request).await
}

fn answer_nothing(text: String, otherwise: impl FnOnce() -> Response) -> Response {
    let page: Value = serde_json::from_str(&text).unwrap();
    if page["total"] == 0 { otherwise() } else { send_json(text) }
}

/// An empty success for every keyword that is escaped.
async fn take_the_query_as_it_is(Call { request, reference, .. }: Call) -> Response {
    let undecoded =
        request.query.split('&').find_map(|pair| pair.strip_prefix("keyword=")).map(str::to_owned);
    reference.ask(&SourceRequest { keyword: undecoded.or(request.keyword.clone()), ..request }).await
}

async fn find_nothing_where(Call { request, reference, .. }: Call, such: fn(&str) -> bool) -> Response {
    let is_such = request.keyword.as_deref().is_some_and(such);
    let request =
        if is_such { SourceRequest { keyword: Some(UNKNOWN.to_owned()), ..request } } else { request };
    reference.ask(&request).await
}

async fn find_everything(Call { request, reference, .. }: Call) -> Response {
    match reference.page(&request).await {
        Ok(page) if page["total"] == 0 => {
            reference.ask(&SourceRequest { keyword: Some(KEYWORD.to_owned()), ..request }).await
        }
        Ok(page) => send_json(page.to_string()),
        Err(refusal) => refusal,
    }
}

fn fail_where(
    request: &SourceRequest,
    text: String,
    status: StatusCode,
    such: impl Fn(&str) -> bool,
) -> Response {
    if request.keyword.as_deref().is_some_and(such) { status.into_response() } else { send_json(text) }
}
