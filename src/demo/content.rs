//! Sample content; times are relative to now.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::DemoError;
use crate::auth::login;

type JsonObject = Map<String, Value>;

const MILLIS_PER_MINUTE: i64 = 60_000;

pub(super) fn departments() -> Result<Vec<JsonObject>, DemoError> {
    read(include_str!("data/departments.jsonl"))
}

/// The directory requires a `sex`; it is arbitrary here.
pub(super) fn users(password: &SecretString) -> Result<Vec<JsonObject>, DemoError> {
    let mut rows: Vec<JsonObject> = read(include_str!("data/users.jsonl"))?;
    let digest = login::digest(password);
    for (number, row) in rows.iter_mut().enumerate() {
        row.entry("sex").or_insert(json!(number % 2 + 1));
        row.insert("password".to_owned(), json!(digest.expose_secret()));
    }
    Ok(rows)
}

pub(super) fn articles(now: i64) -> Result<Vec<JsonObject>, DemoError> {
    with_display_times(include_str!("data/articles.jsonl"), now)
}

pub(super) fn feeds(now: i64) -> Result<Vec<JsonObject>, DemoError> {
    with_display_times(include_str!("data/feeds.jsonl"), now)
}

pub(super) fn todos() -> Result<Vec<JsonObject>, DemoError> {
    read(include_str!("data/todos.jsonl"))
}

pub(super) fn done_items() -> Result<Vec<JsonObject>, DemoError> {
    read(include_str!("data/done.jsonl"))
}

pub(super) fn favorites() -> Result<Vec<JsonObject>, DemoError> {
    read(include_str!("data/favorites.jsonl"))
}

/// A group and its robot's messages.
#[derive(Debug, Deserialize)]
pub(super) struct DemoGroup {
    /// Login of the owner.
    pub(super) owner: String,
    /// Form that creates the group.
    pub(super) form: JsonObject,
    pub(super) robot: String,
    /// Oldest first.
    pub(super) messages: Vec<JsonObject>,
}

pub(super) fn groups() -> Result<Vec<DemoGroup>, DemoError> {
    read(include_str!("data/groups.jsonl"))
}

#[derive(Debug, Deserialize)]
pub(super) struct DemoFile {
    /// Login of the owner.
    pub(super) owner: String,
    pub(super) folder: String,
    /// Departments that may read the folder.
    pub(super) readers: Vec<String>,
    pub(super) name: String,
    pub(super) content: String,
}

pub(super) fn files() -> Result<Vec<DemoFile>, DemoError> {
    read(include_str!("data/files.jsonl"))
}

pub(super) fn contracts(now: i64) -> Result<Vec<JsonObject>, DemoError> {
    with_display_times(include_str!("data/contracts.jsonl"), now)
}

fn read<T: DeserializeOwned>(lines: &str) -> Result<Vec<T>, DemoError> {
    lines
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            serde_json::from_str(line).map_err(|error| DemoError::Content(format!("{error}: {line}")))
        })
        .collect()
}

/// Times are to the minute.
fn with_display_times(lines: &str, now: i64) -> Result<Vec<JsonObject>, DemoError> {
    let this_minute = now - now % MILLIS_PER_MINUTE;
    let mut rows: Vec<JsonObject> = read(lines)?;
    for row in &mut rows {
        let minutes = row.remove("minutesAgo").and_then(|minutes| minutes.as_i64()).unwrap_or_default();
        row.insert("displayTime".to_owned(), json!(this_minute - minutes * MILLIS_PER_MINUTE));
    }
    Ok(rows)
}
