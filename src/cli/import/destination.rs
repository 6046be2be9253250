//! Where rows go: which endpoint, in which shape, and how its answer names those that it did not take.

use bytes::Bytes;
use serde::Deserialize;

use super::row::{Prepared, Rejection, Row};
use super::{content, task};
use crate::cli::client::{Client, Failure};

/// What the rows of an import become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Destination {
    /// Content of a built-in module: `PUT /v1/contents/{moduleCode}` (decisions 4.3).
    Contents {
        /// The module's code.
        module: String,
    },
    /// To-dos: `POST /api/todo/batch_create`.
    Tasks {
        /// The login of those rows that name none.
        assignee: Option<String>,
    },
}

/// A row that the server did not take: its id and the server's reason.
pub(super) type Refusal = (String, String);

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
    /// The destination that `--module` names. The error says why there is none.
    pub(super) fn new(module: &str, assignee: Option<&str>) -> Result<Self, String> {
        match (module, assignee) {
            ("", _) => Err("--module must not be empty".to_owned()),
            ("done", _) => {
                Err("done items are not imported by this version; --module todo imports to-dos".to_owned())
            }
            ("todo", assignee) => Ok(Self::Tasks { assignee: assignee.map(ToOwned::to_owned) }),
            (_, Some(_)) => Err("--assignee is for --module todo only".to_owned()),
            (module, None) => Ok(Self::Contents { module: module.to_owned() }),
        }
    }

    /// The code as given to `--module`.
    pub(super) fn module(&self) -> &str {
        match self {
            Self::Contents { module } => module,
            Self::Tasks { .. } => "todo",
        }
    }

    /// The row in the shape that the endpoint takes.
    pub(super) fn prepare(&self, row: Row) -> Result<Prepared, Rejection> {
        match self {
            Self::Contents { .. } => content::prepare(row),
            Self::Tasks { assignee } => task::prepare(row, assignee.as_deref()),
        }
    }

    /// Sends one body and gives the rows that the server did not take.
    pub(super) async fn send(&self, client: &Client, body: Bytes) -> Result<Vec<Refusal>, Failure> {
        match self {
            Self::Contents { module } => {
                let segments = ["v1", "contents", module];
                let failures: Option<Vec<ContentFailure>> =
                    client.send(reqwest::Method::PUT, &segments, body).await?;
                Ok(failures
                    .into_iter()
                    .flatten()
                    .map(|failure| refusal(failure.id, failure.message))
                    .collect())
            }
            Self::Tasks { .. } => {
                let segments = ["api", "todo", "batch_create"];
                let failures: Option<TaskFailures> =
                    client.send(reqwest::Method::POST, &segments, body).await?;
                let failures = failures.into_iter().flat_map(|failures| failures.error);
                Ok(failures.map(|failure| refusal(failure.app_task_id, failure.message)).collect())
            }
        }
    }
}

fn refusal(id: Option<String>, message: Option<String>) -> Refusal {
    (id.unwrap_or_default(), message.unwrap_or_else(|| "no reason given".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_says_where_rows_go() {
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
