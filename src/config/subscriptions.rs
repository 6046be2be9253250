//! Settings of subscriptions.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What office programs, systems, storage and browsers leave beside files.
const IGNORED_NAMES: [&str; 33] = [
    "~$*",
    "~WRL*",
    "*.tmp",
    "*~",
    "#*#",
    "*.part",
    "*.partial",
    "*.filepart",
    "*.crdownload",
    "*.ldb",
    "*.laccdb",
    "*.dwl",
    "*.dwl2",
    "*.sb-*",
    "Thumbs.db",
    "ehthumbs.db",
    "ehthumbs_vista.db",
    "desktop.ini",
    "$RECYCLE.BIN",
    "RECYCLER",
    "RECYCLED",
    "System Volume Information",
    "FOUND.000",
    "lost+found",
    "__MACOSX",
    "Network Trash Folder",
    "Temporary Items",
    "@eaDir",
    "@Recycle",
    "@Recently-Snapshot",
    "#recycle",
    "#snapshot",
    "~snapshot",
];

/// Subscriptions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Subscriptions {
    /// Concurrent runs.
    pub at_once: usize,
    /// Seconds after which a run lets others go first, and goes on as the next one.
    pub run_seconds: u64,
    /// Absolute paths of folders whose files and SQLite databases may be read.
    pub folders: Vec<PathBuf>,
    /// Hosts of databases that may be called: `db.intranet`, or `db.intranet:5432` for one port.
    pub databases: Vec<String>,
    /// Names of files and folders to leave out, beside hidden ones; `*` is any characters, `?` one.
    pub ignored_names: Vec<String>,
}

impl Default for Subscriptions {
    fn default() -> Self {
        Self {
            at_once: 8,
            run_seconds: 600,
            folders: Vec::new(),
            databases: Vec::new(),
            ignored_names: IGNORED_NAMES.map(str::to_owned).into(),
        }
    }
}
