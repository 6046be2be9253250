//! Promises about any answer of another system, for the fuzzers of `tests/fuzz`.

#![allow(clippy::missing_panics_doc, reason = "each panics where a promise is broken")]

use std::time::Duration;

use jiff::Timestamp;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::json;
use tokio::time::Instant;

use crate::answer::{Answer, MAX_CURSOR_BYTES, parse_page};
use crate::content_type::CONTRACT_TYPE;
use crate::error::SourceError;
use crate::item::bounds;
pub use crate::mapping::fuzzing::{link, mapped_answer};
use crate::settings::Grant;
use crate::times;
use crate::token::{FetchFailure, read_token};
use crate::transport::SOURCE;

const LIMIT: usize = 10;
const LONGEST: Duration = Duration::from_hours(24);

/// Status line, headers and body, as in the files of `tests/wild`.
fn parts(bytes: &[u8]) -> (StatusCode, HeaderMap, &[u8]) {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = end.map_or((bytes, &b""[..]), |end| (&bytes[..end], &bytes[end + 2..]));
    let mut lines = head.split(|byte| *byte == b'\n');
    let status =
        lines.next().and_then(|line| StatusCode::from_bytes(line.split(|byte| *byte == b' ').nth(1)?).ok());
    let header = |line: &[u8]| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        Some((name, HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?))
    };
    (status.unwrap_or(StatusCode::OK), lines.filter_map(header).collect(), body)
}

/// An answer of a source has bounded pauses and texts.
///
/// It reads alike a second time.
pub fn answer(bytes: &[u8]) {
    let (status, headers, body) = parts(bytes);
    if let SourceError::Unavailable { retry_after, .. } = SOURCE.describe_status(status, &headers) {
        assert!(retry_after.is_none_or(|wait| wait <= LONGEST));
    }
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let Ok(answer) = parse_page(body, content_type, LIMIT, true) else { return };
    let Answer { items, total, cursor, .. } = answer;
    assert!(cursor.as_ref().is_none_or(|cursor| cursor.len() <= MAX_CURSOR_BYTES));
    for item in &items {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        assert!(!item.id.is_empty() && item.id.len() <= bounds::ID && item.title.len() <= bounds::TITLE);
        assert!(length(&item.brief) <= bounds::BRIEF && length(&item.action) <= bounds::ACTION);
    }
    let envelope = json!({
        "code": 200, "message": null, "count": items.len(), "data": items, "total": total, "cursor": cursor,
    });
    let again = parse_page(envelope.to_string().as_bytes(), Some(CONTRACT_TYPE), items.len(), true);
    let again = again.map(|again| (again.items, again.total, again.cursor));
    assert_eq!(again.ok(), Some((items, total, cursor)));
}

/// An answer of a token endpoint: a token lives a day at most.
pub fn token(bytes: &[u8]) {
    let (status, _, body) = parts(bytes);
    let now = Instant::now();
    for grant in [Grant::ClientCredentials, Grant::JwtBearer, Grant::TokenExchange] {
        match read_token(status, body, grant, now) {
            Ok(token) => {
                assert!(token.fresh_until >= now && token.fresh_until <= now + LONGEST);
                assert!(token.scope.is_none_or(|scope| scope.len() <= 1024));
                assert!(token.note.is_none_or(|note| note.len() <= 1024));
            }
            Err(FetchFailure::Client(error) | FetchFailure::Final(error)) => {
                assert!(error.to_string().len() <= 1024);
            }
        }
    }
}

/// A time: it is within bounds, and reads alike in RFC 3339.
pub fn time(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some(millis) = times::from_text(text) else { return };
    assert!(times::BOUNDS.contains(&millis), "{text}");
    let written = Timestamp::from_millisecond(millis).map(|time| times::from_text(&time.to_string()));
    assert_eq!(written.ok(), Some(Some(millis)), "{text}");
}

#[cfg(test)]
mod tests {
    use trawl_seeds::each_wild_file;

    #[test]
    fn wild_answers_hold_what_the_fuzzers_ask() {
        each_wild_file("answers", super::answer).unwrap();
        each_wild_file("tokens", super::token).unwrap();
        each_wild_file("links", super::link).unwrap();
        each_wild_file("mapped", super::mapped_answer).unwrap();
    }

    #[test]
    fn wild_times_hold_what_the_fuzzer_asks() {
        each_wild_file("times", |table| {
            table.split(|byte| matches!(byte, b'\t' | b'\n')).for_each(super::time);
        })
        .unwrap();
    }
}
