//! Subscriptions.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Subscriptions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Subscriptions {
    /// Concurrent runs.
    pub at_once: usize,
    /// Absolute paths of folders whose files and SQLite databases may be read.
    pub folders: Vec<PathBuf>,
    /// Hosts of databases that may be called: `db.intranet`, or `db.intranet:5432` for one port.
    pub databases: Vec<String>,
}

impl Default for Subscriptions {
    fn default() -> Self {
        Self { at_once: 8, folders: Vec::new(), databases: Vec::new() }
    }
}

impl Subscriptions {
    pub(super) fn check(&self) -> Result<(), String> {
        match self.folders.iter().find(|folder| !folder.is_absolute()) {
            Some(folder) => {
                Err(format!("subscriptions.folders: must be absolute paths, unlike {}", folder.display()))
            }
            None => Ok(()),
        }
    }
}
