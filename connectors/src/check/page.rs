//! An answer read strictly: where the client forgives, the check names the clause.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use super::clause::Clause;
use super::probe::Reply;
use crate::action::check_action;
use crate::answer::{BYTE_ORDER_MARK, MAX_CURSOR_BYTES, name_kind};
use crate::content_type::ContentType;
use crate::item::bounds;
use crate::loose::{MOST_VALUES, holds_too_many_values};
use crate::text::quote;

/// Characters of a source's own text that are shown.
const SHOWN_CHARACTERS: usize = 80;
/// Rows of a page that are kept: more than the check ever asks for.
const MOST_ROWS: usize = 1_000;
/// The year 1000: what is earlier is a date that was never set.
const EARLIEST_TIME: i64 = -30_610_224_000_000;
/// What lies less than so many milliseconds, fifty days, around 1970 is seconds, or a date that was never set.
const SECONDS: i64 = 4_294_967_296;
/// What lies further ahead, in milliseconds, is microseconds, or no date.
const FURTHEST_AHEAD: i64 = 20 * 366 * 24 * 3600 * 1000;

/// The optional fields of an item and their bounds in bytes.
const OPTIONAL_TEXTS: [(&str, usize); 7] = [
    ("subTitle", bounds::SUB_TITLE),
    ("brief", bounds::BRIEF),
    ("image", bounds::IMAGE),
    ("author", bounds::AUTHOR),
    ("action", bounds::ACTION),
    ("attachInfo", bounds::ATTACH_INFO),
    ("attachDescription", bounds::ATTACH_DESCRIPTION),
];

/// What one answer says of the clauses.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Clauses that it keeps.
    pub(super) kept: Vec<Clause>,
    /// Clauses that it breaks, with what was seen.
    pub(super) broken: Vec<(Clause, String)>,
    /// The page; `None` where there is none to read, and then the last of `broken` says why.
    pub(super) page: Option<CheckedPage>,
}

/// A page as the clauses about several pages need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CheckedPage {
    pub(super) rows: Vec<Row>,
    pub(super) total: Option<u64>,
    pub(super) cursor: Option<String>,
}

/// One item of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The id as JSON, so that even ids that break the contract can be told apart.
    pub(super) id: String,
    pub(super) display_time: Option<i64>,
    /// What tells apart everything but the ids.
    pub(super) content: u64,
}

impl Reading {
    fn judge(&mut self, clause: Clause, judgement: Result<(), String>) {
        match judgement {
            Ok(()) => self.kept.push(clause),
            Err(seen) => self.broken.push((clause, seen)),
        }
    }
}

/// Reads the answer to a search that asked for at most `limit` items, at `now` in epoch milliseconds.
pub(super) fn read_reply(reply: &Reply, limit: Option<usize>, now: i64) -> Reading {
    let mut reading = Reading::default();
    let content_type = reply.content_type.as_deref();
    judge_content_type(&mut reading, content_type);
    let mut json = reply.body.as_slice();
    if let Some(rest) = json.strip_prefix(BYTE_ORDER_MARK) {
        reading.broken.push((Clause::Utf8, "the body begins with a byte order mark".to_owned()));
        json = rest;
    }
    let text = match std::str::from_utf8(json) {
        Ok(text) => text,
        Err(error) => {
            let seen = format!("byte {} of the body is not UTF-8", error.valid_up_to());
            reading.broken.push((Clause::Utf8, seen));
            return reading;
        }
    };
    reading.kept.push(Clause::Utf8);
    if holds_too_many_values(json) {
        let seen = format!("the body holds more than {MOST_VALUES} values");
        reading.broken.push((Clause::Size, seen));
        return reading;
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(envelope)) => {
            reading.kept.extend([Clause::Json, Clause::Envelope]);
            judge_envelope(&mut reading, &envelope, limit, now);
        }
        Ok(other) => {
            reading.kept.push(Clause::Json);
            reading.broken.push((Clause::Envelope, format!("the body is {}", name_kind(&(&other).into()))));
        }
        Err(error) => {
            let start = quote(&text.chars().take(SHOWN_CHARACTERS).collect::<String>(), SHOWN_CHARACTERS);
            reading.broken.push((Clause::Json, format!("{error}; the body begins with: {start}")));
        }
    }
    reading
}

fn judge_content_type(reading: &mut Reading, content_type: Option<&str>) {
    let Some(content_type) = content_type else {
        reading.broken.push((Clause::ContentType, "no Content-Type".to_owned()));
        return;
    };
    let seen = || format!("Content-Type: {}", quote(content_type, SHOWN_CHARACTERS));
    let read = ContentType::read(content_type);
    reading.judge(Clause::ContentType, read.is_json.then_some(()).ok_or_else(seen));
    reading.judge(Clause::Charset, read.names(&["utf-8"]).then_some(()).ok_or_else(seen));
}

fn judge_envelope(reading: &mut Reading, envelope: &Map<String, Value>, limit: Option<usize>, now: i64) {
    let message = envelope.get("message").filter(|message| !message.is_null());
    let code = envelope.get("code");
    if let Some(code) = read_integer(code)
        && code != 200
    {
        let message = message.and_then(Value::as_str).unwrap_or_default();
        let seen = format!("`code` is {code}, `message` is \"{}\"", quote(message, SHOWN_CHARACTERS));
        reading.broken.push((Clause::Code, seen));
        return;
    }
    reading.judge(Clause::Code, read_integer(code).map(drop).ok_or_else(|| name_value("code", code)));
    reading.judge(Clause::Message, message.map_or(Ok(()), |value| Err(name_value("message", Some(value)))));
    let Some(Value::Array(data)) = envelope.get("data") else {
        reading.broken.push((Clause::Data, name_value("data", envelope.get("data"))));
        return;
    };
    reading.kept.push(Clause::Data);

    let sent = data.len();
    let count = envelope.get("count");
    let is_count = read_integer(count).and_then(|count| usize::try_from(count).ok()) == Some(sent);
    reading.judge(
        Clause::Count,
        is_count
            .then_some(())
            .ok_or_else(|| format!("{} where `data` holds {sent} items", name_value("count", count))),
    );
    let total = read_integer(envelope.get("total")).and_then(|total| u64::try_from(total).ok());
    reading.judge(
        Clause::Total,
        total.filter(|total| *total >= sent as u64).map(drop).ok_or_else(|| {
            format!("{} where `data` holds {sent} items", name_value("total", envelope.get("total")))
        }),
    );
    if let Some(limit) = limit {
        let within = sent <= limit;
        reading.judge(
            Clause::Limit,
            within.then_some(()).ok_or_else(|| format!("{sent} items where {limit} were asked for")),
        );
    }
    let cursor = judge_cursor(reading, envelope.get("cursor"));
    let rows = judge_items(reading, data, now);
    reading.page = Some(CheckedPage { rows, total, cursor });
}

/// The cursor to go on with; also one that breaks the contract, as long as it can be sent back.
fn judge_cursor(reading: &mut Reading, value: Option<&Value>) -> Option<String> {
    let (judgement, cursor) = match value {
        None | Some(Value::Null) => (Ok(()), None),
        Some(Value::String(cursor)) if cursor.is_empty() => (Err("`cursor` is empty text".to_owned()), None),
        Some(Value::String(cursor)) if cursor.len() > MAX_CURSOR_BYTES => {
            (Err(format!("`cursor` has {} bytes", cursor.len())), Some(cursor.clone()))
        }
        Some(Value::String(cursor)) => (Ok(()), Some(cursor.clone())),
        Some(Value::Number(number)) => (Err(name_value("cursor", value)), Some(number.to_string())),
        Some(_) => (Err(name_value("cursor", value)), None),
    };
    reading.judge(Clause::Cursor, judgement);
    cursor
}

fn judge_items(reading: &mut Reading, data: &[Value], now: i64) -> Vec<Row> {
    if data.is_empty() {
        return Vec::new();
    }
    let rows: Vec<Row> = data.iter().take(MOST_ROWS).map(read_row).collect();
    let each: [(Clause, ItemRule); 7] = [
        (Clause::ItemId, judge_id),
        (Clause::ItemTitle, judge_title),
        (Clause::ItemText, judge_texts),
        (Clause::ItemBounds, judge_bounds),
        (Clause::ItemDisplayTime, judge_time),
        (Clause::ItemDisplayTimePlausible, |item, now| judge_plausible(item, now)),
        (Clause::ItemAction, judge_item_action),
    ];
    for (clause, rule) in each {
        let broken = data
            .iter()
            .enumerate()
            .find_map(|(place, item)| rule(item, now).err().map(|seen| format!("data[{place}]: {seen}")));
        reading.judge(clause, broken.map_or(Ok(()), Err));
    }
    let mut seen = HashSet::new();
    let repeated = rows.iter().position(|row| !seen.insert(row.id.as_str()));
    reading.judge(
        Clause::ItemIdUnique,
        repeated.map_or(Ok(()), |place| {
            Err(format!("data[{place}]: the id {} was there before", show(&rows[place].id)))
        }),
    );
    rows
}

fn read_row(item: &Value) -> Row {
    let Value::Object(fields) = item else {
        return Row { id: String::new(), display_time: None, content: hash(item) };
    };
    let mut content = fields.clone();
    let id = content.remove("id").map(|id| id.to_string()).unwrap_or_default();
    Row { id, display_time: read_integer(fields.get("displayTime")), content: hash(&Value::Object(content)) }
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Whether one item keeps a clause; `now` in epoch milliseconds.
type ItemRule = fn(&Value, i64) -> Result<(), String>;

fn judge_id(item: &Value, _: i64) -> Result<(), String> {
    match item.get("id") {
        Some(Value::String(id)) if id.is_empty() => Err("`id` is empty".to_owned()),
        Some(Value::String(id)) if id.len() > bounds::ID => Err(format!("`id` has {} bytes", id.len())),
        Some(Value::String(id)) if id.contains(char::is_control) => {
            Err("`id` holds control characters".to_owned())
        }
        Some(Value::String(_)) => Ok(()),
        _ if !item.is_object() => Err(format!("the item is {}", name_kind(&item.into()))),
        other => Err(name_value("id", other)),
    }
}

fn judge_title(item: &Value, _: i64) -> Result<(), String> {
    let has_brief = item.get("brief").and_then(Value::as_str).is_some_and(|brief| !brief.is_empty());
    match item.get("title") {
        Some(Value::String(title)) if !title.is_empty() || has_brief => Ok(()),
        Some(Value::String(_)) => Err("`title` is empty, and `brief` too".to_owned()),
        other => Err(name_value("title", other)),
    }
}

fn judge_texts(item: &Value, _: i64) -> Result<(), String> {
    let wrong = OPTIONAL_TEXTS.iter().find(|(name, _)| {
        // The form of `action` is a clause of its own.
        *name != "action" && !matches!(item.get(*name), None | Some(Value::Null | Value::String(_)))
    });
    wrong.map_or(Ok(()), |(name, _)| Err(name_value(name, item.get(*name))))
}

fn judge_bounds(item: &Value, _: i64) -> Result<(), String> {
    let title = std::iter::once(("title", bounds::TITLE));
    let length = |name| item.get(name).and_then(Value::as_str).map_or(0, str::len);
    let long = title.chain(OPTIONAL_TEXTS).find(|(name, bound)| length(*name) > *bound);
    long.map_or(Ok(()), |(name, bound)| {
        Err(format!("`{name}` has {} bytes, of which {bound} are kept", length(name)))
    })
}

fn judge_time(item: &Value, _: i64) -> Result<(), String> {
    let time = item.get("displayTime");
    read_integer(time).map(drop).ok_or_else(|| name_value("displayTime", time))
}

fn judge_plausible(item: &Value, now: i64) -> Result<(), String> {
    let Some(time) = read_integer(item.get("displayTime")) else { return Ok(()) };
    let is_near_1970 = (1 - SECONDS..SECONDS).contains(&time);
    if !is_near_1970 && (EARLIEST_TIME..=now.saturating_add(FURTHEST_AHEAD)).contains(&time) {
        return Ok(());
    }
    let guess = match time {
        100_000_000..SECONDS => "which looks like seconds",
        1_000_000_000_000_000.. => "which looks like microseconds",
        _ => "which is no likely date",
    };
    Err(format!("`displayTime` is {time}, {guess}"))
}

fn judge_item_action(item: &Value, _: i64) -> Result<(), String> {
    match item.get("action") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(action)) => check_action(action).map_err(|wrong| format!("`action` {wrong}")),
        other => Err(name_value("action", other)),
    }
}

/// A JSON integer: `5`, not `5.0` and not `"5"`.
fn read_integer(value: Option<&Value>) -> Option<i64> {
    value.and_then(Value::as_i64)
}

/// Says what a field holds, shortly.
fn name_value(name: &str, value: Option<&Value>) -> String {
    match value {
        None => format!("`{name}` is missing"),
        Some(Value::String(text)) => format!("`{name}` is the text \"{}\"", show(text)),
        Some(Value::Number(number)) => format!("`{name}` is the number {number}"),
        Some(other) => format!("`{name}` is {}", name_kind(&other.into())),
    }
}

/// A source's own text, fit to be shown.
pub(super) fn show(text: &str) -> String {
    quote(text, SHOWN_CHARACTERS)
}

#[cfg(test)]
mod tests;
