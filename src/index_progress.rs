//! Progress of the index, and the gate that delays bulk writes.

use std::time::Duration;

use tokio::sync::watch;
use trawl_engine::Health;

use crate::error::{Error, Result};

/// Progress of indexing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The change log's position that searches see.
    pub position: i64,
    /// Whether it has caught up since the start or the last failure.
    pub caught_up: bool,
    /// The state of the last or running rebuild.
    pub rebuild: Rebuild,
    /// Items indexed by the running rebuild, or else by the last one.
    pub items_done: u64,
    /// Items that existed when the rebuild began.
    pub items_known: u64,
    /// How well the engine can answer.
    pub health: Health,
    /// Whether a failure leaves the server ready.
    ///
    /// True if all replicas share this engine and it has been level.
    pub stays_ready: bool,
}

/// The state of a rebuild.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rebuild {
    /// None runs, and the last one succeeded.
    #[default]
    None,
    /// The incomplete new index is served meanwhile.
    InPlace,
    /// The complete old index is served meanwhile.
    Beside,
    /// The last requested rebuild failed and left the index unchanged.
    Failed,
}

impl Progress {
    /// Whether searches find everything acknowledged before the start.
    pub fn is_ready(&self) -> bool {
        self.stays_ready || self.caught_up && self.rebuild != Rebuild::InPlace
    }

    /// Whether a rebuild is running.
    pub fn is_rebuilding(&self) -> bool {
        matches!(self.rebuild, Rebuild::InPlace | Rebuild::Beside)
    }
}

/// The number of searches that wait for a change to be indexed; clones share it.
#[derive(Clone, Debug, Default)]
pub struct WaitingSearches(watch::Sender<usize>);

/// A search that waits until this is dropped.
#[derive(Debug)]
pub struct WaitingSearch(WaitingSearches);

impl WaitingSearches {
    /// Counts one more search.
    pub fn add(&self) -> WaitingSearch {
        self.0.send_modify(|searches| *searches += 1);
        WaitingSearch(self.clone())
    }

    /// Waits until a search waits.
    pub async fn begun(&self) {
        // The sender is this.
        let _waited = self.0.subscribe().wait_for(|searches| *searches > 0).await.map(drop);
    }
}

impl Drop for WaitingSearch {
    fn drop(&mut self) {
        self.0.0.send_modify(|searches| *searches -= 1);
    }
}

/// Smaller writes are never delayed.
const BULK_ITEMS: usize = 50;

/// Bulk writes wait while more changes than this are unindexed.
const MAX_BEHIND: i64 = 20_000;

const RETRY_AFTER: Duration = Duration::from_secs(1);

const BULK_WAIT: Duration = Duration::from_secs(30);

/// Delays bulk writes while the index is far behind.
///
/// Other writes stay quickly searchable.
#[derive(Clone)]
pub struct BulkGate {
    positions: watch::Receiver<i64>,
    progress: watch::Receiver<Progress>,
}

impl BulkGate {
    /// A gate over the change log's positions and the index's progress.
    pub fn new(positions: watch::Receiver<i64>, progress: watch::Receiver<Progress>) -> Self {
        Self { positions, progress }
    }

    /// Waits until a write of this many items may begin.
    ///
    /// # Errors
    /// 503 when the index does not catch up within 30 seconds.
    pub async fn wait_for_room(&self, items: usize) -> Result<()> {
        if items < BULK_ITEMS {
            return Ok(());
        }
        let mut progress = self.progress.clone();
        let near = |progress: &Progress| *self.positions.borrow() - progress.position < MAX_BEHIND;
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
