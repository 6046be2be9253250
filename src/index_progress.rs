//! How far the index is, and the gate that holds bulk writes back meanwhile.

use std::time::Duration;

use tokio::sync::watch;

use crate::error::{Error, Result};

/// How far the index is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The change log's position that searches see.
    pub position: i64,
    /// Whether it has been level with the database since the start, or since indexing last failed.
    pub caught_up: bool,
    /// Whether it is being filled anew.
    pub rebuild: Rebuild,
    /// Items that a filling has put into it; those of the last one once that is over.
    pub items_done: u64,
    /// Items that there were when the filling began.
    pub items_known: u64,
}

/// How a rebuild of the index is, or how the last one ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rebuild {
    /// None is under way, and the last one came to its end.
    #[default]
    None,
    /// What is there of the index answers meanwhile.
    InPlace,
    /// The index of before answers meanwhile, which lacks nothing.
    Beside,
    /// The last one that was asked for came to nothing: the index stayed as it was.
    Failed,
}

impl Progress {
    /// Whether searches find everything that was acknowledged before the start.
    pub fn is_ready(&self) -> bool {
        self.caught_up && self.rebuild != Rebuild::InPlace
    }

    /// Whether the index is being filled anew.
    pub fn is_rebuilding(&self) -> bool {
        matches!(self.rebuild, Rebuild::InPlace | Rebuild::Beside)
    }
}

/// A write of fewer items than this is never held back.
const BULK_ITEMS: usize = 50;

/// Changes that may lie between the database and the index before bulk writes wait for the index.
const MOST_BEHIND: i64 = 20_000;

/// When a refused bulk write may be tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// How long a bulk write waits for the index before it is refused.
const BULK_WAIT: Duration = Duration::from_secs(30);

/// Holds bulk writes back while the index is far behind, so that what others write meanwhile is still found a moment
/// after it was acknowledged.
#[derive(Clone)]
pub struct BulkGate {
    positions: watch::Receiver<i64>,
    progress: watch::Receiver<Progress>,
}

impl BulkGate {
    /// A gate between the positions of the change log and the progress of the index.
    pub fn new(positions: watch::Receiver<i64>, progress: watch::Receiver<Progress>) -> Self {
        Self { positions, progress }
    }

    /// Waits until a write of so many items may begin.
    ///
    /// # Errors
    /// 503 when the index does not come near enough in time.
    pub async fn wait_for_room(&self, items: usize) -> Result<()> {
        if items < BULK_ITEMS {
            return Ok(());
        }
        let mut progress = self.progress.clone();
        let near = |progress: &Progress| *self.positions.borrow() - progress.position < MOST_BEHIND;
        let waited = tokio::time::timeout(BULK_WAIT, progress.wait_for(near)).await;
        match waited {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Error::unavailable(
                "the search index is too far behind; nothing was changed",
                RETRY_AFTER,
            )),
        }
    }
}
