//! Sample content; times are relative to the first start.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::DemoError;
use crate::auth::login;

pub(super) type JsonObject = Map<String, Value>;

const MILLIS_PER_MINUTE: i64 = 60_000;
/// Length of the story: two years.
const STORY_MINUTES: i64 = 2 * 365 * 24 * 60;

/// A row and its age.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Aged<T> {
    /// The age; the whole story if absent.
    minutes_ago: Option<i64>,
    #[serde(flatten)]
    pub(super) row: T,
}

impl<T> Aged<T> {
    /// The row's time, to the minute.
    pub(super) fn time(&self, now: i64) -> i64 {
        let minutes = self.minutes_ago.unwrap_or(STORY_MINUTES);
        now - now % MILLIS_PER_MINUTE - minutes * MILLIS_PER_MINUTE
    }
}

pub(super) type AgedObjects = Vec<Aged<JsonObject>>;

/// People; those of these logins have the password.
///
/// The directory requires a `sex`; it is arbitrary here.
pub(super) fn users(logins: &[&str], password: &SecretString) -> Result<AgedObjects, DemoError> {
    let mut users: AgedObjects = read(include_str!("data/users.jsonl"))?;
    let digest = login::digest(password);
    for (number, Aged { row, .. }) in users.iter_mut().enumerate() {
        row.entry("sex").or_insert(json!(number % 2 + 1));
        if row["loginId"].as_str().is_some_and(|login| logins.contains(&login)) {
            row.insert("password".to_owned(), json!(digest.expose_secret()));
        }
    }
    Ok(users)
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
    pub(super) messages: AgedObjects,
}

#[derive(Debug, Deserialize)]
pub(super) struct DemoFolder {
    /// Login of the owner.
    pub(super) owner: String,
    pub(super) name: String,
    /// Departments that may read the folder.
    pub(super) readers: Vec<String>,
    pub(super) files: Vec<Aged<DemoFile>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct DemoFile {
    pub(super) name: String,
    pub(super) content: String,
}

pub(super) fn read<T: DeserializeOwned>(lines: &str) -> Result<Vec<T>, DemoError> {
    lines
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            serde_json::from_str(line).map_err(|error| DemoError::Content(format!("{error}: {line}")))
        })
        .collect()
}

pub(super) fn with_display_times(lines: &str, now: i64) -> Result<Vec<JsonObject>, DemoError> {
    let mut rows: AgedObjects = read(lines)?;
    for aged in &mut rows {
        let time = aged.time(now);
        aged.row.insert("displayTime".to_owned(), json!(time));
    }
    Ok(rows.into_iter().map(|aged| aged.row).collect())
}
