//! Reports of runs.

use serde::{Deserialize, Serialize};

/// The outcome of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunOutcome {
    /// The source was read.
    #[default]
    Read,
    /// The source has not changed since the last run.
    Unchanged,
    /// The source could not be read to its end.
    Failed,
}

impl RunOutcome {
    /// The name in metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Unchanged => "unchanged",
            Self::Failed => "failed",
        }
    }
}

/// A completed run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LastRun {
    /// Begin, epoch milliseconds.
    pub started_at: i64,
    /// End, epoch milliseconds.
    pub finished_at: i64,
    /// `read`, `unchanged` or `failed`.
    pub outcome: RunOutcome,
    /// Entries read.
    pub received: u64,
    /// New items.
    pub added: u64,
    /// Items written anew.
    pub changed: u64,
    /// Items removed because the source holds them no longer.
    pub removed: u64,
    /// Entries that cannot be items.
    pub refused: u64,
    /// Files and folders left out because of their names.
    pub left_out: u64,
    /// Files whose text is empty or not whole.
    pub incomplete: u64,
    /// Rows of a query whose cursor lies beyond now or is unlike the others. They are read and do not move the cursor.
    pub passed_over: u64,
    /// The first refused entries, incomplete files, and rows that were passed over.
    pub problems: Vec<EntryProblem>,
    /// Items whose text was cut.
    pub truncated: u64,
    /// Items whose time cannot be read, and stands as of 1970.
    pub undated: u64,
    /// What was guessed or not understood, with its place.
    pub notes: Vec<String>,
    /// Why it failed; null if it did not.
    pub error: Option<String>,
}

/// An entry that cannot be an item, a file whose text is not whole, or a row whose cursor does not count.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct EntryProblem {
    /// The entry's id at the source; null if it has none.
    pub id: Option<String>,
    /// The place in a feed, the wrong field and the expected value.
    pub reason: String,
}
