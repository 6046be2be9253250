//! Endpoint of an import, with its row and failure formats.

use std::collections::HashMap;

use bytes::Bytes;
use reqwest::Method;
use serde::Deserialize;

use crate::cli::client::{ApiClient, CallError};
use crate::rows::row::{PreparedRow, Rejection, Row};
use crate::rows::{content, task};

#[derive(Debug)]
pub(super) enum Destination {
    /// `PUT /v1/contents/{moduleCode}`.
    Contents { module: String },
    /// `POST /api/todo/batch_create`.
    Tasks {
        /// Login for rows without an assignee.
        assignee: Option<String>,
    },
}

#[derive(Deserialize)]
struct RefusedItem {
    id: String,
    message: String,
}

#[derive(Deserialize)]
struct RefusedTasks {
    error: Vec<RefusedTask>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RefusedTask {
    app_task_id: String,
    message: String,
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

    pub(super) fn prepare(&self, row: Row) -> Result<PreparedRow, Rejection> {
        match self {
            Self::Contents { .. } => content::prepare(row),
            Self::Tasks { assignee } => task::prepare(row, assignee.as_deref()),
        }
    }

    /// Returns the ids of refused rows with the reasons.
    pub(super) async fn send(
        &self,
        client: &ApiClient,
        body: Bytes,
    ) -> Result<HashMap<String, String>, CallError> {
        match self {
            Self::Contents { module } => {
                let path = ["v1", "contents", module];
                let refused: Option<Vec<RefusedItem>> = client.send(Method::PUT, &path, body).await?;
                Ok(refused.into_iter().flatten().map(|item| (item.id, item.message)).collect())
            }
            Self::Tasks { .. } => {
                let path = ["api", "todo", "batch_create"];
                let answer: Option<RefusedTasks> = client.send(Method::POST, &path, body).await?;
                let refused = answer.into_iter().flat_map(|answer| answer.error);
                Ok(refused.map(|task| (task.app_task_id, task.message)).collect())
            }
        }
    }
}
