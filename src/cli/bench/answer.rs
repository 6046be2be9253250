//! What an answer says about its request: looked into only as far as that needs, since the load generator's own work
//! takes from the server's on the same machine.

use std::borrow::Cow;

use hyper::StatusCode;
use serde::Deserialize;

/// The longest message that is kept of a failure, in characters.
const MESSAGE_CHARS: usize = 200;

/// Why a request counts as an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// What errors are counted by: `HTTP 503`, `code 400`, `timeout`, `connect`, ….
    pub(super) kind: Cow<'static, str>,
    /// The words of the first one are shown.
    pub(super) message: String,
    /// Whether no answer came at all.
    pub(super) unreachable: bool,
}

impl Failure {
    /// An answer that is an error.
    fn answered(kind: impl Into<Cow<'static, str>>, message: impl std::fmt::Display) -> Self {
        Self { kind: kind.into(), message: cut(&message.to_string()), unreachable: false }
    }

    /// No answer.
    pub(super) fn unanswered(kind: &'static str, message: impl std::fmt::Display) -> Self {
        Self { kind: kind.into(), message: cut(&message.to_string()), unreachable: true }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MESSAGE_CHARS).collect()
}

/// What a search's answer says beside its items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// What to send back for the next page; none at the end.
    pub(super) cursor: Option<String>,
    /// Whether something is missing (decisions 5.5).
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
    data: Option<Vec<Rejected>>,
}

#[derive(Deserialize)]
struct Rejected {
    message: String,
}

/// Judges the answer of a search.
///
/// # Errors
/// Every status but 2xx, every code of the envelope but 200, and what is no envelope.
pub(super) fn judge_search(status: StatusCode, body: &[u8]) -> Result<Page, Failure> {
    let head: SearchHead<'_> = read(status, body)?;
    check(status, head.code, head.message)?;
    Ok(Page { cursor: head.cursor, partial: head.partial })
}

/// Judges the answer of a write.
///
/// # Errors
/// As for a search; and an item that was not kept.
pub(super) fn judge_write(status: StatusCode, body: &[u8]) -> Result<(), Failure> {
    let head: WriteHead<'_> = read(status, body)?;
    check(status, head.code, head.message)?;
    match head.data.unwrap_or_default().first() {
        None => Ok(()),
        Some(rejected) => Err(Failure::answered("rejected", &rejected.message)),
    }
}

fn read<'a, T: Deserialize<'a>>(status: StatusCode, body: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|error| {
        // Something between here and the server may answer in its own words.
        if status.is_success() {
            Failure::answered("unreadable", error)
        } else {
            Failure::answered(http(status), status)
        }
    })
}

fn check(status: StatusCode, code: i64, message: Option<Cow<'_, str>>) -> Result<(), Failure> {
    let message = message.unwrap_or_default();
    if !status.is_success() {
        Err(Failure::answered(http(status), message))
    } else if code == 200 {
        Ok(())
    } else {
        Err(Failure::answered(format!("code {code}"), message))
    }
}

fn http(status: StatusCode) -> String {
    format!("HTTP {}", status.as_u16())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_looked_into_past_its_items() {
        let body = br#"{"code":200,"message":null,"data":[{"cursor":"not this","partial":true}],"total":1,"cursor":"v2.a","partial":false,"sources":[]}"#;
        let page = judge_search(StatusCode::OK, body);
        assert_eq!(page, Ok(Page { cursor: Some("v2.a".to_owned()), partial: false }));
        let page = judge_search(
            StatusCode::OK,
            br#"{"code":200,"message":null,"data":[],"cursor":null,"partial":true}"#,
        );
        assert_eq!(page, Ok(Page { cursor: None, partial: true }));
    }

    #[test]
    fn every_other_answer_is_an_error_of_a_kind() {
        let long = format!(r#"{{"code":502,"message":"{}","data":null}}"#, "ü".repeat(500));
        for (status, body, kind, message) in [
            (StatusCode::OK, r#"{"code":430001,"message":"no","data":null}"#, "code 430001", "no"),
            (StatusCode::OK, "<html>", "unreadable", "expected value at line 1 column 1"),
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
    fn a_write_is_done_when_its_item_was_kept() {
        assert_eq!(
            judge_write(StatusCode::OK, br#"{"code":200,"message":null,"data":[],"total":0}"#),
            Ok(())
        );
        let failure = judge_write(
            StatusCode::OK,
            br#"{"code":200,"message":null,"data":[{"id":"a","message":"title: missing"}]}"#,
        );
        assert_eq!(failure.unwrap_err(), Failure::answered("rejected", "title: missing"));
    }
}
