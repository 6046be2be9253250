//! Endpoint of an import, with its row and failure formats.

use bytes::Bytes;
use serde::Deserialize;

use crate::cli::client::{ApiClient, CallError};
use crate::rows::row::{PreparedRow, RefusedRow, Rejection, Row};
use crate::rows::{content, task};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Destination {
    /// `PUT /v1/contents/{moduleCode}` (decisions 4.3).
    Contents { module: String },
    /// `POST /api/todo/batch_create`.
    Tasks {
        /// Login for rows without an assignee.
        assignee: Option<String>,
    },
}

#[derive(Deserialize)]
struct ContentFailure {
    id: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
struct TaskFailures {
    #[serde(default)]
    error: Vec<TaskFailure>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskFailure {
    app_task_id: Option<String>,
    message: Option<String>,
}

impl Destination {
    /// # Errors
    /// Wrong usage.
    pub(super) fn new(module: &str, assignee: Option<&str>) -> Result<Self, String> {
        match (module, assignee) {
            ("", _) => Err("--module: must not be empty".to_owned()),
            ("done", _) => {
                Err("--module: done items are not imported by this version; todo imports to-dos".to_owned())
            }
            ("todo", assignee) => Ok(Self::Tasks { assignee: assignee.map(ToOwned::to_owned) }),
            (_, Some(_)) => Err("--assignee is for --module todo only".to_owned()),
            (module, None) => Ok(Self::Contents { module: module.to_owned() }),
        }
    }

    pub(super) fn module(&self) -> &str {
        match self {
            Self::Contents { module } => module,
            Self::Tasks { .. } => "todo",
        }
    }

    pub(super) fn prepare(&self, row: Row) -> Result<PreparedRow, Rejection> {
        match self {
            Self::Contents { .. } => content::prepare(row),
            Self::Tasks { assignee } => task::prepare(row, assignee.as_deref()),
        }
    }

    /// Returns the refused rows.
    pub(super) async fn send(&self, client: &ApiClient, body: Bytes) -> Result<Vec<RefusedRow>, CallError> {
        match self {
            Self::Contents { module } => {
                let segments = ["v1", "contents", module];
                let failures: Option<Vec<ContentFailure>> =
                    client.send(reqwest::Method::PUT, &segments, body).await?;
                Ok(failures
                    .into_iter()
                    .flatten()
                    .map(|failure| refused(failure.id, failure.message))
                    .collect())
            }
            Self::Tasks { .. } => {
                let segments = ["api", "todo", "batch_create"];
                let failures: Option<TaskFailures> =
                    client.send(reqwest::Method::POST, &segments, body).await?;
                let failures = failures.into_iter().flat_map(|failures| failures.error);
                Ok(failures.map(|failure| refused(failure.app_task_id, failure.message)).collect())
            }
        }
    }
}

fn refused(id: Option<String>, message: Option<String>) -> RefusedRow {
    let reason = message.unwrap_or_else(|| "no reason given".to_owned());
    RefusedRow { id: id.unwrap_or_default(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_selects_the_endpoint() {
        let contents = Destination::new("article", None).unwrap();
        assert_eq!(contents, Destination::Contents { module: "article".to_owned() });
        let tasks = Destination::new("todo", Some("ann")).unwrap();
        assert_eq!(tasks, Destination::Tasks { assignee: Some("ann".to_owned()) });
        assert_eq!((contents.module(), tasks.module()), ("article", "todo"));
        assert!(Destination::new("done", None).unwrap_err().contains("not imported by this version"));
        assert!(Destination::new("article", Some("ann")).is_err());
        assert!(Destination::new("", None).is_err());
    }
}
