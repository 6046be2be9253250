//! The demo company's content: the project's own writing, with times relative to now.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::DemoError;
use crate::auth::login;

/// One JSON object a line.
type Row = Map<String, Value>;

const MILLIS_PER_MINUTE: i64 = 60_000;

/// Departments, parents first.
pub(super) fn departments() -> Result<Vec<Row>, DemoError> {
    read(include_str!("data/departments.jsonl"))
}

/// People, all of whom have this password. The directory wants a sex of each; the demo does not care.
pub(super) fn users(password: &SecretString) -> Result<Vec<Row>, DemoError> {
    let mut rows: Vec<Row> = read(include_str!("data/users.jsonl"))?;
    let digest = login::digest(password);
    for (number, row) in rows.iter_mut().enumerate() {
        row.entry("sex").or_insert(json!(number % 2 + 1));
        row.insert("password".to_owned(), json!(digest.expose_secret()));
    }
    Ok(rows)
}

/// Articles.
pub(super) fn articles(now: i64) -> Result<Vec<Row>, DemoError> {
    dated(include_str!("data/articles.jsonl"), now)
}

/// Feeds.
pub(super) fn feeds(now: i64) -> Result<Vec<Row>, DemoError> {
    dated(include_str!("data/feeds.jsonl"), now)
}

/// To-do items.
pub(super) fn todos() -> Result<Vec<Row>, DemoError> {
    read(include_str!("data/todos.jsonl"))
}

/// Done, read and withdrawn items.
pub(super) fn done_items() -> Result<Vec<Row>, DemoError> {
    read(include_str!("data/done.jsonl"))
}

/// What the person whom the example searches as keeps for herself.
pub(super) fn favorites() -> Result<Vec<Row>, DemoError> {
    read(include_str!("data/favorites.jsonl"))
}

/// A group, and what its robot said in it.
#[derive(Debug, Deserialize)]
pub(super) struct Group {
    /// Whose group it is: a login.
    pub(super) owner: String,
    /// The form that it is created by.
    pub(super) form: Row,
    /// The robot's name.
    pub(super) robot: String,
    /// What it says, oldest first.
    pub(super) messages: Vec<Row>,
}

/// Groups.
pub(super) fn groups() -> Result<Vec<Group>, DemoError> {
    read(include_str!("data/groups.jsonl"))
}

/// A file, and the folder among its owner's own that it is in.
#[derive(Debug, Deserialize)]
pub(super) struct File {
    /// Whose it is: a login.
    pub(super) owner: String,
    /// The folder's name.
    pub(super) folder: String,
    /// The departments whose people may take what is in the folder.
    pub(super) readers: Vec<String>,
    /// The file's name.
    pub(super) name: String,
    /// What it says.
    pub(super) content: String,
}

/// Files.
pub(super) fn files() -> Result<Vec<File>, DemoError> {
    read(include_str!("data/files.jsonl"))
}

/// What the external system knows.
pub(super) fn contracts(now: i64) -> Result<Vec<Row>, DemoError> {
    dated(include_str!("data/contracts.jsonl"), now)
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

/// `minutesAgo` becomes `displayTime`, to the minute.
fn dated(lines: &str, now: i64) -> Result<Vec<Row>, DemoError> {
    let this_minute = now - now % MILLIS_PER_MINUTE;
    let mut rows: Vec<Row> = read(lines)?;
    for row in &mut rows {
        let minutes = row.remove("minutesAgo").and_then(|minutes| minutes.as_i64()).unwrap_or_default();
        row.insert("displayTime".to_owned(), json!(this_minute - minutes * MILLIS_PER_MINUTE));
    }
    Ok(rows)
}
