use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use serde_json::{Value, json};

use super::fault::{Act, Fault};
use super::layer::{Call, SourceRequest, send_json};
use super::running::KEYWORD;

const UNKNOWN: &str = "zyzzyva";

pub(super) fn faults() -> Vec<Fault> {
    let mut faults = missing_and_unknown();
    faults.extend(characters());
    faults
}

fn missing_and_unknown() -> Vec<Fault> {
    vec![
        Fault::unseen(
            "keyword-not-required",
            "keyword-required",
            Act::Search(|call| take_no_keyword(call).boxed()),
        ),
        Fault::failing(
            "unknown-word-404",
            "keyword-unknown",
            ("error", "404"),
            Act::Send(|_, text| answer_nothing(text, || StatusCode::NOT_FOUND.into_response())),
        )
        .met_by(UNKNOWN),
        Fault::failing(
            "unknown-word-code-404",
            "keyword-unknown",
            ("error", "no results"),
            Act::Send(|_, text| {
                let failure = json!({"code": 404, "message": "no results", "data": null});
                answer_nothing(text, || send_json(failure.to_string()))
            }),
        )
        .met_by(UNKNOWN),
        Fault::unusable(
            "unknown-word-data-null",
            "keyword-unknown",
            "`data` is null",
            Act::Page(|_, page| {
                if page["total"] == 0 {
                    page["data"] = json!(null);
                }
            }),
        )
        .met_by(UNKNOWN),
        Fault::unseen(
            "unknown-word-finds-everything",
            "keyword-unknown",
            Act::Search(|call| find_everything(call).boxed()),
        )
        .met_by(UNKNOWN),
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

fn characters() -> Vec<Fault> {
    const BROKEN: StatusCode = StatusCode::INTERNAL_SERVER_ERROR;
    vec![
        Fault::failing(
            "chinese-500",
            "keyword-chinese",
            ("error", "500"),
            Act::Send(|request, text| {
                fail_where(request, text, BROKEN, |keyword| {
                    keyword.contains(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
                })
            }),
        )
        .met_by("港口"),
        Fault::failing(
            "emoji-500",
            "keyword-emoji",
            ("error", "500"),
            // A column of three-byte UTF-8 takes no emoji.
            Act::Send(|request, text| {
                fail_where(request, text, BROKEN, |keyword| keyword.contains(|c| c > '\u{ffff}'))
            }),
        )
        .met_by("🏗️"),
        Fault::failing(
            "percent-500",
            "keyword-specials",
            ("error", "500"),
            Act::Send(|request, text| fail_where(request, text, BROKEN, |keyword| keyword.contains('%'))),
        )
        .met_by("100%"),
        Fault::failing(
            "quotation-mark-500",
            "keyword-specials",
            ("error", "500"),
            Act::Send(|request, text| fail_where(request, text, BROKEN, |keyword| keyword.contains('"'))),
        )
        .met_by("\"surcharge\""),
        Fault::failing(
            "spaces-400",
            "keyword-spaces",
            ("error", "400"),
            Act::Send(|request, text| {
                fail_where(request, text, StatusCode::BAD_REQUEST, |keyword| keyword.contains(' '))
            }),
        )
        .met_by("harbour budget"),
        Fault::failing(
            "long-keyword-414",
            "keyword-long",
            ("error", "414"),
            Act::Send(|request, text| {
                fail_where(request, text, StatusCode::URI_TOO_LONG, |keyword| keyword.chars().count() > 200)
            }),
        )
        .met_by("harbour ".repeat(32).trim()),
    ]
}
