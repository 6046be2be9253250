//! The indexer: follows the change log and keeps the full-text index a few milliseconds behind the database.
//!
//! The log position stands in each index commit, so after a crash the work goes on exactly where the index is. An
//! index that does not fit the database is filled anew from the rows themselves.

mod follower;
mod reader;

use std::time::Duration;

use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use self::follower::Follower;
use crate::{
    error::{Error, Result},
    store::Store,
};

/// The wait before the work is tried again after a failure.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A write of fewer items than this is never held back.
const BULK_ITEMS: usize = 50;

/// Changes that may lie between the database and the index before bulk writes wait for the index.
const MOST_BEHIND: i64 = 20_000;

/// How long a bulk write waits for the index before it is refused.
const BULK_WAIT: Duration = Duration::from_secs(30);

/// Holds bulk writes back while the index is far behind, so that what others write meanwhile is still found a moment
/// after it was acknowledged.
pub struct BulkGate {
    positions: watch::Receiver<i64>,
    progress: watch::Receiver<Progress>,
}

impl BulkGate {
    /// A gate before this store, which this indexer follows.
    pub fn new(store: &Store, indexer: &Indexer) -> Self {
        Self { positions: store.positions(), progress: indexer.progress() }
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
        let near = |progress: &Progress| {
            // An index that is filled anew stands still for long; the log keeps what is written meanwhile.
            progress.rebuilding || *self.positions.borrow() - progress.position < MOST_BEHIND
        };
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

/// How far the index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The change log's position that searches see.
    pub position: i64,
    /// Whether it has been level with the database since the start, or since indexing last failed.
    pub caught_up: bool,
    /// Whether it is being filled anew.
    pub rebuilding: bool,
}

/// A running indexer.
pub struct Indexer {
    progress: watch::Receiver<Progress>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Indexer {
    /// Starts following the store's change log; `rebuild` fills the index anew first.
    pub fn start(store: Store, writer: trawl_index::Writer, batch_changes: u64, rebuild: bool) -> Self {
        let position = writer.checkpoint().map_or(0, |checkpoint| checkpoint.position);
        let (announce, progress) = watch::channel(Progress { position, caught_up: false, rebuilding: false });
        let stop = CancellationToken::new();
        let follower = Follower {
            store,
            writer: Some(writer),
            announce,
            stop: stop.clone(),
            batch_changes,
            rebuild,
            cut_up_to: 0,
            cut: None,
        };
        Self { progress, stop, task: tokio::spawn(follower.run()) }
    }

    /// How far the index is, and a signal whenever that changes.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    /// Ends after the batch in hand; what is left is indexed at the next start.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the indexer did not end in order");
        }
    }
}
