//! Classifies answers, parsing little: the server may share the machine.

use std::borrow::Cow;

use hyper::StatusCode;
use serde::Deserialize;

const MESSAGE_CHARS: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestFailure {
    pub(super) kind: Cow<'static, str>,
    pub(super) message: String,
    pub(super) unreachable: bool,
}

impl RequestFailure {
    fn answered(kind: impl Into<Cow<'static, str>>, message: impl std::fmt::Display) -> Self {
        Self { kind: kind.into(), message: cut(&message.to_string()), unreachable: false }
    }

    pub(super) fn unanswered(kind: &'static str, message: impl std::fmt::Display) -> Self {
        Self { kind: kind.into(), message: cut(&message.to_string()), unreachable: true }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MESSAGE_CHARS).collect()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PageSummary {
    pub(super) cursor: Option<String>,
    pub(super) partial: bool,
}

#[derive(Deserialize)]
struct SearchHead<'a> {
    code: i64,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    cursor: Option<String>,
    #[serde(default)]
    partial: bool,
}

#[derive(Deserialize)]
struct WriteHead<'a> {
    code: i64,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    data: Option<Vec<RejectedItem>>,
}

#[derive(Deserialize)]
struct RejectedItem {
    message: String,
}

/// # Errors
/// Another status than 2xx, another code than 200, or no envelope.
pub(super) fn judge_search(status: StatusCode, body: &[u8]) -> Result<PageSummary, RequestFailure> {
    let head: SearchHead<'_> = read(status, body)?;
    check(status, head.code, head.message)?;
    Ok(PageSummary { cursor: head.cursor, partial: head.partial })
}

pub(super) fn judge_write(status: StatusCode, body: &[u8]) -> Result<(), RequestFailure> {
    let head: WriteHead<'_> = read(status, body)?;
    check(status, head.code, head.message)?;
    match head.data.unwrap_or_default().first() {
        None => Ok(()),
        Some(rejected) => Err(RequestFailure::answered("rejected", &rejected.message)),
    }
}

fn read<'a, T: Deserialize<'a>>(status: StatusCode, body: &'a [u8]) -> Result<T, RequestFailure> {
    serde_json::from_slice(body).map_err(|_| {
        // A proxy answers in its own format.
        if status.is_success() {
            RequestFailure::answered("unreadable", "not the answer of a trawl server")
        } else {
            RequestFailure::answered(http(status), status)
        }
    })
}

fn check(status: StatusCode, code: i64, message: Option<Cow<'_, str>>) -> Result<(), RequestFailure> {
    let message = message.unwrap_or_default();
    if !status.is_success() {
        Err(RequestFailure::answered(http(status), message))
    } else if code == 200 {
        Ok(())
    } else {
        Err(RequestFailure::answered(format!("code {code}"), message))
    }
}

fn http(status: StatusCode) -> String {
    format!("HTTP {}", status.as_u16())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_is_parsed_past_its_items() {
        let body = br#"{"code":200,"message":null,"data":[{"cursor":"not this","partial":true}],"total":1,"cursor":"v2.a","partial":false,"sources":[]}"#;
        let page = judge_search(StatusCode::OK, body);
        assert_eq!(page, Ok(PageSummary { cursor: Some("v2.a".to_owned()), partial: false }));
        let page = judge_search(
            StatusCode::OK,
            br#"{"code":200,"message":null,"data":[],"cursor":null,"partial":true}"#,
        );
        assert_eq!(page, Ok(PageSummary { cursor: None, partial: true }));
    }

    #[test]
    fn other_answers_are_errors_by_kind() {
        let long = format!(r#"{{"code":502,"message":"{}","data":null}}"#, "ü".repeat(500));
        for (status, body, kind, message) in [
            (StatusCode::OK, r#"{"code":430001,"message":"no","data":null}"#, "code 430001", "no"),
            (StatusCode::OK, "<html>", "unreadable", "not the answer of a trawl server"),
            (StatusCode::NOT_FOUND, r#"{"code":404,"message":"x \"y\"","data":null}"#, "HTTP 404", "x \"y\""),
            (StatusCode::BAD_GATEWAY, "<html>", "HTTP 502", "502 Bad Gateway"),
            (StatusCode::BAD_GATEWAY, &long, "HTTP 502", &"ü".repeat(200)),
        ] {
            let failure = judge_search(status, body.as_bytes()).unwrap_err();
            assert_eq!((failure.kind.as_ref(), failure.message.as_str()), (kind, message));
            assert!(!failure.unreachable);
        }
    }

    #[test]
    fn write_succeeds_when_its_item_was_kept() {
        assert_eq!(
            judge_write(StatusCode::OK, br#"{"code":200,"message":null,"data":[],"total":0}"#),
            Ok(())
        );
        let failure = judge_write(
            StatusCode::OK,
            br#"{"code":200,"message":null,"data":[{"id":"a","message":"title: missing"}]}"#,
        );
        assert_eq!(failure.unwrap_err(), RequestFailure::answered("rejected", "title: missing"));
    }
}
