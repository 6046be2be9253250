//! Strict reading of an answer: what the client tolerates breaks a clause here.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use super::clause::ContractClause;
use super::probe::Reply;
use crate::action::check_action;
use crate::answer::{BYTE_ORDER_MARK, MAX_CURSOR_BYTES, name_kind};
use crate::content_type::ContentType;
use crate::item::bounds;
use crate::lenient_json::{MAX_JSON_VALUES, holds_too_many_values, repair_surrogates};
use crate::nesting::check_json_depth;
use crate::text::quote;

const SHOWN_CHARACTERS: usize = 80;
const MAX_ROWS: usize = 1_000;
/// The year 1000. Earlier times are unset dates.
const EARLIEST_TIME: i64 = -30_610_224_000_000;
/// Fifty days. Times this close to 1970 are seconds or unset dates.
const SECONDS: i64 = 4_294_967_296;
/// Twenty years. Later times are microseconds or no dates.
const FURTHEST_AHEAD: i64 = 20 * 366 * 24 * 3600 * 1000;

const OPTIONAL_TEXTS: [(&str, usize); 7] = [
    ("subTitle", bounds::SUB_TITLE),
    ("brief", bounds::BRIEF),
    ("image", bounds::IMAGE),
    ("author", bounds::AUTHOR),
    ("action", bounds::ACTION),
    ("attachInfo", bounds::ATTACH_INFO),
    ("attachDescription", bounds::ATTACH_DESCRIPTION),
];

#[derive(Debug, Default)]
pub(super) struct Assessment {
    pub(super) kept: Vec<ContractClause>,
    /// Kept, with a remark.
    pub(super) noted: Vec<(ContractClause, String)>,
    pub(super) broken: Vec<(ContractClause, String)>,
    /// `None` for the reason in the last of `broken`.
    pub(super) page: Option<CheckedPage>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CheckedPage {
    pub(super) rows: Vec<ItemDigest>,
    pub(super) total: Option<u64>,
    pub(super) cursor: Option<String>,
}

impl CheckedPage {
    pub(super) fn ids(&self) -> HashSet<&str> {
        self.rows.iter().map(|row| row.id.as_str()).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ItemDigest {
    /// JSON, so that even invalid ids differ.
    pub(super) id: String,
    pub(super) display_time: Option<i64>,
    pub(super) title: String,
    /// Hash of the fields except the id.
    pub(super) content: u64,
}

impl Assessment {
    fn judge(&mut self, clause: ContractClause, fault: Option<String>) {
        match fault {
            None => self.kept.push(clause),
            Some(seen) => self.broken.push((clause, seen)),
        }
    }
}

/// `now` is in epoch milliseconds.
pub(super) fn assess(reply: &Reply, limit: Option<usize>, now: i64) -> Assessment {
    let mut assessment = Assessment::default();
    let content_type = reply.content_type.as_deref();
    judge_content_type(&mut assessment, content_type);
    let mut json = reply.body.as_slice();
    if let Some(rest) = json.strip_prefix(BYTE_ORDER_MARK) {
        assessment.broken.push((ContractClause::Utf8, "the body begins with a byte order mark".to_owned()));
        json = rest;
    }
    let text = match std::str::from_utf8(json) {
        Ok(text) => text,
        Err(error) => {
            let seen = format!("byte {} of the body is not UTF-8", error.valid_up_to());
            assessment.broken.push((ContractClause::Utf8, seen));
            return assessment;
        }
    };
    assessment.kept.push(ContractClause::Utf8);
    if holds_too_many_values(json) {
        let seen = format!("the body holds more than {MAX_JSON_VALUES} values");
        assessment.broken.push((ContractClause::Size, seen));
        return assessment;
    }
    if let Err(refusal) = check_json_depth(json) {
        assessment.broken.push((ContractClause::Size, format!("the body {refusal}")));
        return assessment;
    }
    let mut read = serde_json::from_str(text);
    let repaired = read.is_err().then(|| repair_surrogates(json)).flatten();
    if let Some(repaired) = repaired.and_then(|repaired| serde_json::from_slice(&repaired).ok()) {
        let seen = "texts hold half a character, such as \\ud83d without its pair".to_owned();
        assessment.broken.push((ContractClause::Json, seen));
        read = Ok(repaired);
    } else if read.is_ok() {
        assessment.kept.push(ContractClause::Json);
    }
    match read {
        Ok(Value::Object(envelope)) => {
            assessment.kept.push(ContractClause::Envelope);
            judge_envelope(&mut assessment, &envelope, limit, now);
        }
        Ok(other) => {
            assessment
                .broken
                .push((ContractClause::Envelope, format!("the body is {}", name_kind(&(&other).into()))));
        }
        Err(error) => {
            let start = quote(&text.chars().take(SHOWN_CHARACTERS).collect::<String>(), SHOWN_CHARACTERS);
            assessment.broken.push((ContractClause::Json, format!("{error}; the body begins with: {start}")));
        }
    }
    assessment
}

fn judge_content_type(assessment: &mut Assessment, content_type: Option<&str>) {
    let Some(content_type) = content_type else {
        assessment.broken.push((ContractClause::ContentType, "no Content-Type".to_owned()));
        return;
    };
    let seen = || format!("Content-Type: {}", quote(content_type, SHOWN_CHARACTERS));
    let read = ContentType::read(content_type);
    assessment.judge(ContractClause::ContentType, (!read.is_json).then(seen));
    if read.charset.is_none() {
        let note = format!("{}: without a charset, JSON is in UTF-8 (RFC 8259 §8.1)", seen());
        assessment.noted.push((ContractClause::Charset, note));
    } else {
        assessment.judge(ContractClause::Charset, (!read.names(&["utf-8"])).then(seen));
    }
}

fn judge_envelope(
    assessment: &mut Assessment,
    envelope: &Map<String, Value>,
    limit: Option<usize>,
    now: i64,
) {
    let message = envelope.get("message").filter(|message| !message.is_null());
    let code = envelope.get("code");
    if let Some(code) = read_integer(code)
        && code != 200
    {
        let message = message.and_then(Value::as_str).unwrap_or_default();
        let seen = format!("`code` is {code}, `message` is \"{}\"", quote(message, SHOWN_CHARACTERS));
        assessment.broken.push((ContractClause::Code, seen));
        return;
    }
    assessment.judge(ContractClause::Code, judge_integer("code", code));
    assessment.judge(ContractClause::Message, message.map(|value| name_value("message", Some(value))));
    let Some(Value::Array(data)) = envelope.get("data") else {
        assessment.broken.push((ContractClause::Data, name_value("data", envelope.get("data"))));
        return;
    };
    assessment.kept.push(ContractClause::Data);

    let sent = data.len();
    let read_count = |name| read_integer(envelope.get(name)).and_then(|count| u64::try_from(count).ok());
    let wrong_count =
        |name| format!("{} where `data` holds {sent} items", name_value(name, envelope.get(name)));
    let (count, total) = (read_count("count"), read_count("total"));
    assessment.judge(ContractClause::Count, (count != Some(sent as u64)).then(|| wrong_count("count")));
    assessment.judge(
        ContractClause::Total,
        total.is_none_or(|total| total < sent as u64).then(|| wrong_count("total")),
    );
    if let Some(limit) = limit {
        let fault = (sent > limit).then(|| format!("{sent} items where {limit} were asked for"));
        assessment.judge(ContractClause::Limit, fault);
    }
    let cursor = judge_cursor(assessment, envelope.get("cursor"));
    let rows = judge_items(assessment, data, now);
    assessment.page = Some(CheckedPage { rows, total, cursor });
}

/// An invalid cursor is followed if it can be sent back.
fn judge_cursor(assessment: &mut Assessment, value: Option<&Value>) -> Option<String> {
    let (fault, cursor) = match value {
        None | Some(Value::Null) => (None, None),
        Some(Value::String(cursor)) if cursor.is_empty() => (Some("`cursor` is empty text".to_owned()), None),
        Some(Value::String(cursor)) if cursor.len() > MAX_CURSOR_BYTES => {
            (Some(format!("`cursor` has {} bytes", cursor.len())), Some(cursor.clone()))
        }
        Some(Value::String(cursor)) => (None, Some(cursor.clone())),
        Some(Value::Number(number)) => (Some(name_value("cursor", value)), Some(number.to_string())),
        Some(_) => (Some(name_value("cursor", value)), None),
    };
    assessment.judge(ContractClause::Cursor, fault);
    cursor
}

fn judge_items(assessment: &mut Assessment, data: &[Value], now: i64) -> Vec<ItemDigest> {
    if data.is_empty() {
        return Vec::new();
    }
    let rows: Vec<ItemDigest> = data.iter().take(MAX_ROWS).map(read_row).collect();
    let each: [(ContractClause, ItemRule); 7] = [
        (ContractClause::ItemId, judge_id),
        (ContractClause::ItemTitle, judge_title),
        (ContractClause::ItemText, judge_texts),
        (ContractClause::ItemBounds, judge_bounds),
        (ContractClause::ItemDisplayTime, judge_time),
        (ContractClause::ItemDisplayTimePlausible, judge_plausible),
        (ContractClause::ItemAction, judge_item_action),
    ];
    for (clause, rule) in each {
        let mut items = data.iter().enumerate();
        let fault = items.find_map(|(place, item)| Some(format!("data[{place}]: {}", rule(item, now)?)));
        assessment.judge(clause, fault);
    }
    let mut seen = HashSet::new();
    let repeated = rows.iter().position(|row| !seen.insert(row.id.as_str()));
    let repeated =
        repeated.map(|place| format!("data[{place}]: the id {} is repeated", show(&rows[place].id)));
    assessment.judge(ContractClause::ItemIdUnique, repeated);
    rows
}

fn read_row(item: &Value) -> ItemDigest {
    let Value::Object(fields) = item else {
        return ItemDigest {
            id: String::new(),
            display_time: None,
            title: String::new(),
            content: hash(item),
        };
    };
    let mut content = fields.clone();
    let id = content.remove("id").map(|id| id.to_string()).unwrap_or_default();
    ItemDigest {
        id,
        display_time: read_integer(fields.get("displayTime")),
        title: fields.get("title").and_then(Value::as_str).unwrap_or_default().to_owned(),
        content: hash(&Value::Object(content)),
    }
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Fault at `now` in epoch milliseconds.
type ItemRule = fn(&Value, i64) -> Option<String>;

fn judge_id(item: &Value, _: i64) -> Option<String> {
    match item.get("id") {
        Some(Value::String(id)) if id.is_empty() => Some("`id` is empty".to_owned()),
        Some(Value::String(id)) if id.len() > bounds::ID => Some(format!("`id` has {} bytes", id.len())),
        Some(Value::String(id)) if id.contains(char::is_control) => {
            Some("`id` holds control characters".to_owned())
        }
        Some(Value::String(_)) => None,
        _ if !item.is_object() => Some(format!("the item is {}", name_kind(&item.into()))),
        other => Some(name_value("id", other)),
    }
}

fn judge_title(item: &Value, _: i64) -> Option<String> {
    let has_brief = item.get("brief").and_then(Value::as_str).is_some_and(|brief| !brief.is_empty());
    match item.get("title") {
        Some(Value::String(title)) if !title.is_empty() || has_brief => None,
        Some(Value::String(_)) => Some("`title` is empty, and `brief` too".to_owned()),
        other => Some(name_value("title", other)),
    }
}

fn judge_texts(item: &Value, _: i64) -> Option<String> {
    let wrong = OPTIONAL_TEXTS.iter().find(|(name, _)| {
        // `action` has a clause of its own.
        *name != "action" && !matches!(item.get(*name), None | Some(Value::Null | Value::String(_)))
    });
    wrong.map(|(name, _)| name_value(name, item.get(*name)))
}

fn judge_bounds(item: &Value, _: i64) -> Option<String> {
    let title = std::iter::once(("title", bounds::TITLE));
    let length = |name| item.get(name).and_then(Value::as_str).map_or(0, str::len);
    let long = title.chain(OPTIONAL_TEXTS).find(|(name, bound)| length(*name) > *bound);
    long.map(|(name, bound)| format!("`{name}` has {} bytes, of which {bound} are kept", length(name)))
}

fn judge_time(item: &Value, _: i64) -> Option<String> {
    judge_integer("displayTime", item.get("displayTime"))
}

fn judge_plausible(item: &Value, now: i64) -> Option<String> {
    let time = read_integer(item.get("displayTime"))?;
    let is_near_1970 = (1 - SECONDS..SECONDS).contains(&time);
    if !is_near_1970 && (EARLIEST_TIME..=now.saturating_add(FURTHEST_AHEAD)).contains(&time) {
        return None;
    }
    let guess = match time {
        100_000_000..SECONDS => "which looks like seconds",
        1_000_000_000_000_000.. => "which looks like microseconds",
        _ => "which is an unlikely date",
    };
    Some(format!("`displayTime` is {time}, {guess}"))
}

fn judge_item_action(item: &Value, _: i64) -> Option<String> {
    match item.get("action") {
        None | Some(Value::Null) => None,
        Some(Value::String(action)) => check_action(action).err().map(|wrong| format!("`action` {wrong}")),
        other => Some(name_value("action", other)),
    }
}

/// `5`, not `5.0` and not `"5"`.
fn read_integer(value: Option<&Value>) -> Option<i64> {
    value.and_then(Value::as_i64)
}

fn judge_integer(name: &str, value: Option<&Value>) -> Option<String> {
    read_integer(value).is_none().then(|| name_value(name, value))
}

fn name_value(name: &str, value: Option<&Value>) -> String {
    match value {
        None => format!("`{name}` is missing"),
        Some(Value::String(text)) => format!("`{name}` is the text \"{}\"", show(text)),
        Some(Value::Number(number)) => format!("`{name}` is the number {number}"),
        Some(other) => format!("`{name}` is {}", name_kind(&other.into())),
    }
}

pub(super) fn show(text: &str) -> String {
    quote(text, SHOWN_CHARACTERS)
}

#[cfg(test)]
mod tests;
