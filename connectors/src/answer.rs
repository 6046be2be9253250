//! Parser of response bodies.
//!
//! Harmless violations become notes; others become [`Answer::broken`] or an error.

use std::collections::HashSet;

use serde_json_borrow::Value;

use crate::content_type::ContentType;
use crate::error::{SourceError, refuses_the_call};
use crate::item::{ContentItem, read_item};
use crate::lenient_json::{
    Integer, MAX_JSON_VALUES, ObjectFields, ViolationCounter, holds_too_many_values, repair_surrogates,
};
use crate::nesting::read_json;
use crate::redaction::redact;
use crate::text::quote;

/// Longest cursor of a source, in bytes; trawl's own cursor carries it.
///
/// A source that is another trawl needs 40 to 80 bytes for each of its sources.
pub const MAX_CURSOR_BYTES: usize = 4096;

const TOTAL_MISSING: &str = "`total` is missing";
const MESSAGE_CHARACTERS: usize = 200;
const TOO_MANY_REQUESTS: i64 = 429;

pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One page of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Items in the source's order, each id once.
    pub items: Vec<ContentItem>,
    /// Number of all matches.
    pub total: Option<u64>,
    /// Cursor of the next page.
    pub cursor: Option<String>,
    /// Why items are missing, although the source answered.
    pub incomplete: Option<String>,
    /// Harmless violations; the source stays `ok`.
    pub notes: Vec<String>,
    /// Breaks that leave rows usable; the source is `invalid`.
    pub broken: Option<String>,
}

impl Answer {
    /// Drops the note of a source that never states a total.
    pub(crate) fn without_note_of_total(mut self) -> Self {
        self.notes.retain(|note| note != TOTAL_MISSING);
        self
    }

    pub(crate) fn redacted(self, secret: &str) -> Self {
        let redacted = |text: Option<String>| text.map(|text| redact(text, secret));
        let notes = self.notes.into_iter().map(|note| redact(note, secret)).collect();
        Self { notes, incomplete: redacted(self.incomplete), broken: redacted(self.broken), ..self }
    }
}

/// Parses the body of an HTTP 200 response to a search for `limit` items.
///
/// # Errors
/// [`SourceError::Unavailable`] for the `code` 429, [`SourceError::Failed`] for others than 200,
/// [`SourceError::Invalid`] for anything but the envelope.
pub fn parse_answer(body: &[u8], content_type: Option<&str>, limit: usize) -> Result<Answer, SourceError> {
    parse_page(body, content_type, limit, false)
}

/// Like [`parse_answer`]. With a cursor, a refusal is [`SourceError::CursorRefused`].
pub(crate) fn parse_page(
    body: &[u8],
    content_type: Option<&str>,
    limit: usize,
    had_cursor: bool,
) -> Result<Answer, SourceError> {
    let mut notes = Vec::new();
    let json = match body.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => {
            notes.push("the answer begins with a byte order mark".to_owned());
            rest
        }
        None => body,
    };
    if holds_too_many_values(json) {
        return Err(SourceError::Invalid(format!("the answer holds more than {MAX_JSON_VALUES} values")));
    }
    let repaired: Vec<u8>;
    let mut read = read_json(json);
    if read.is_err()
        && let Some(whole) = repair_surrogates(json)
    {
        notes.push("texts hold half characters (a surrogate without its pair)".to_owned());
        repaired = whole;
        read = read_json(&repaired);
    }
    let mut envelope = match read {
        Ok(Value::Object(envelope)) => ObjectFields::from(envelope),
        Ok(other) => {
            return Err(SourceError::Invalid(format!(
                "the answer is {}, not the envelope object",
                name_kind(&other)
            )));
        }
        Err(error) => return Err(describe_unreadable(json, content_type, &error)),
    };
    note_content_type(content_type, &mut notes);
    check_code(&envelope, had_cursor, &mut notes)?;
    let data = match envelope.take("data") {
        Some(Value::Array(data)) => data,
        Some(Value::Null) if had_cursor => {
            notes.push("`data` is null, not an array".to_owned());
            Vec::new()
        }
        Some(other) => {
            return Err(SourceError::Invalid(format!("`data` is {}, not an array", name_kind(&other))));
        }
        // Without a code it may be a failure of another form.
        None if had_cursor && envelope.get("code").is_some_and(|code| !code.is_null()) => {
            notes.push("`data` is missing".to_owned());
            Vec::new()
        }
        None => return Err(SourceError::Invalid("`data` is missing".to_owned())),
    };
    Ok(read_page(&envelope, data, limit, notes))
}

fn read_page(
    envelope: &ObjectFields<'_>,
    data: Vec<Value<'_>>,
    limit: usize,
    mut notes: Vec<String>,
) -> Answer {
    let sent = data.len();
    let mut broken = Vec::new();
    if sent > limit {
        broken.push(format!("{sent} items were sent where {limit} were asked for"));
    }
    let items = read_items(data, &mut notes, &mut broken);
    let total = read_total(envelope, sent, &mut notes);
    note_count(envelope, sent, &mut notes);
    if !matches!(envelope.get("message"), None | Some(Value::Null)) {
        notes.push("`message` is not null although `code` is 200".to_owned());
    }
    let cursor = read_cursor(envelope.get("cursor"), &mut notes, &mut broken);
    Answer {
        items,
        total,
        cursor,
        incomplete: None,
        notes,
        broken: (!broken.is_empty()).then(|| broken.join("; ")),
    }
}

fn read_items(data: Vec<Value<'_>>, notes: &mut Vec<String>, broken: &mut Vec<String>) -> Vec<ContentItem> {
    let sent = data.len();
    let mut violations = ViolationCounter::default();
    let mut unreadable = ViolationCounter::default();
    let mut items = Vec::with_capacity(sent);
    for (place, value) in data.into_iter().enumerate() {
        (violations.place, unreadable.place) = (place, place);
        match read_item(value, &mut violations) {
            Ok(item) => items.push(item),
            Err((field, reason)) => unreadable.add(field, reason),
        }
    }
    if unreadable.total() > 0 {
        let reasons = unreadable.sentences().join(", ");
        broken.push(format!("{} of {sent} items are unreadable: {reasons}", unreadable.total()));
    }
    notes.extend(violations.sentences());
    drop_repeated(&mut items, broken);
    items
}

fn drop_repeated(items: &mut Vec<ContentItem>, broken: &mut Vec<String>) {
    let mut seen = HashSet::with_capacity(items.len());
    let fresh: Vec<bool> = items.iter().map(|item| seen.insert(item.id.as_str())).collect();
    let repeated = fresh.iter().filter(|fresh| !**fresh).count();
    if repeated > 0 {
        broken.push(format!("{repeated} of {} items repeat an id of the page", items.len()));
        let mut fresh = fresh.into_iter();
        items.retain(|_| fresh.next().unwrap_or(true));
    }
}

fn check_code(
    envelope: &ObjectFields<'_>,
    had_cursor: bool,
    notes: &mut Vec<String>,
) -> Result<(), SourceError> {
    let code = match envelope.get("code") {
        None | Some(Value::Null) => {
            notes.push("`code` is missing".to_owned());
            return Ok(());
        }
        Some(value) => Integer::read(value)
            .ok_or_else(|| SourceError::Invalid(format!("`code` is {}, not an integer", name_kind(value))))?,
    };
    if let Integer::Text(_) = code {
        notes.push("`code` is text, not an integer".to_owned());
    }
    let code = code.value();
    if code == 200 {
        return Ok(());
    }
    let message = match envelope.get("message") {
        Some(Value::Str(message)) => quote(message, MESSAGE_CHARACTERS),
        _ => String::new(),
    };
    let text = if message.is_empty() {
        format!("the source answered with code {code}")
    } else {
        format!("the source answered with code {code}: {message}")
    };
    Err(if code == TOO_MANY_REQUESTS {
        SourceError::unavailable(text)
    } else if had_cursor && refuses_the_call(code) {
        SourceError::CursorRefused(text)
    } else {
        SourceError::Failed(text)
    })
}

fn read_total(envelope: &ObjectFields<'_>, sent: usize, notes: &mut Vec<String>) -> Option<u64> {
    let value = match envelope.get("total") {
        None | Some(Value::Null) => {
            notes.push(TOTAL_MISSING.to_owned());
            return None;
        }
        Some(value) => value,
    };
    let read = Integer::read(value);
    let Some(total) = read.and_then(|total| u64::try_from(total.value()).ok()) else {
        notes.push("`total` is not a count".to_owned());
        return None;
    };
    if let Some(Integer::Text(_)) = read {
        notes.push("`total` is text, not an integer".to_owned());
    }
    if total < sent as u64 {
        notes.push(format!("`total` is {total} where {sent} items were sent"));
    }
    Some(total)
}

fn note_count(envelope: &ObjectFields<'_>, sent: usize, notes: &mut Vec<String>) {
    let Some(value) = envelope.get("count").filter(|value| !value.is_null()) else {
        notes.push("`count` is missing".to_owned());
        return;
    };
    match Integer::read(value) {
        None => notes.push("`count` is not a count".to_owned()),
        Some(Integer::Text(_)) => notes.push("`count` is text, not an integer".to_owned()),
        Some(Integer::Exact(count)) if usize::try_from(count) != Ok(sent) => {
            notes.push(format!("`count` is {count} where {sent} items were sent"));
        }
        Some(Integer::Exact(_)) => {}
    }
}

/// Null and empty strings mean the end.
fn read_cursor(
    value: Option<&Value<'_>>,
    notes: &mut Vec<String>,
    broken: &mut Vec<String>,
) -> Option<String> {
    let cursor = match value? {
        Value::Null => return None,
        Value::Str(cursor) => cursor.clone().into_owned(),
        Value::Number(number) => {
            notes.push("`cursor` is a number, not text".to_owned());
            Value::Number(*number).to_string()
        }
        other => {
            broken.push(format!("`cursor` is {}, not text", name_kind(other)));
            return None;
        }
    };
    if cursor.len() > MAX_CURSOR_BYTES {
        broken.push(format!("`cursor` is longer than {MAX_CURSOR_BYTES} bytes"));
        return None;
    }
    Some(cursor).filter(|cursor| !cursor.is_empty())
}

fn note_content_type(content_type: Option<&str>, notes: &mut Vec<String>) {
    let Some(content_type) = content_type else {
        notes.push("the answer has no content type".to_owned());
        return;
    };
    let read = ContentType::read(content_type);
    // "utf8" is a common misspelling.
    if !read.is_json || read.charset.is_some() && !read.names(&["utf-8", "utf8"]) {
        let shown = quote(content_type, 100);
        notes.push(format!("the content type is {shown}, not application/json;charset=UTF-8"));
    }
}

fn describe_unreadable(body: &[u8], content_type: Option<&str>, error: &serde_json::Error) -> SourceError {
    let start = body.trim_ascii_start();
    let opens = |tag: &[u8]| start.len() >= tag.len() && start[..tag.len()].eq_ignore_ascii_case(tag);
    let kind = if start.is_empty() {
        "empty".to_owned()
    } else if opens(b"<!doctype html") || opens(b"<html") {
        "an HTML page".to_owned()
    } else if opens(b"<") {
        "XML or HTML".to_owned()
    } else if body.starts_with(b"\xff\xfe") || body.starts_with(b"\xfe\xff") {
        "UTF-16, not UTF-8".to_owned()
    } else if std::str::from_utf8(body).is_err() {
        "not UTF-8 text".to_owned()
    } else if error.is_data() {
        return SourceError::Invalid(format!("the answer {error}"));
    } else if matches!(start.first(), Some(b'{' | b'[')) {
        let fault = if error.is_eof() { "cut off" } else { "faulty" };
        format!("JSON that is {fault} at line {} column {}", error.line(), error.column())
    } else {
        "not JSON".to_owned()
    };
    let content_type = match content_type {
        Some(content_type) => format!("content type {}", quote(content_type, 100)),
        None => "no content type".to_owned(),
    };
    SourceError::Invalid(format!("the answer is {kind} ({content_type})"))
}

pub(crate) fn name_kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Str(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
