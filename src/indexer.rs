//! The indexer: follows the change log and keeps the full-text index a few milliseconds behind the database.
//!
//! The log position stands in each index commit, so after a crash the work goes on exactly where the index is. An
//! index that does not fit the database, or is damaged, is filled anew from the rows themselves, in the background: what is
//! there of it is searched meanwhile, and the change log is followed.

mod asked;
mod control;
mod engines;
mod files;
mod filling;
mod follower;
mod progress;
mod reader;
#[cfg(test)]
mod tests;
mod verification;

use std::{path::Path, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

pub use self::{
    control::{FreshnessMillis, IndexControl, IndexState},
    progress::{Progress, Rebuild},
};

use self::{
    asked::Ask,
    engines::Engines,
    files::IndexFiles,
    follower::Follower,
    progress::{Announcer, Freshness},
    reader::Rows,
};
use crate::{
    config,
    error::{Error, Result},
    platform::users,
    search::served::Served,
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

/// A running indexer.
pub struct Indexer {
    progress: watch::Receiver<Progress>,
    served: Arc<Served>,
    control: Arc<IndexControl>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Indexer {
    /// Opens the index in the data directory and starts following the store's change log; `rebuild` has the index be filled
    /// anew. An index that cannot be opened now is tried again in the background. What documents show of this server lies
    /// below `public_url`.
    ///
    /// # Errors
    /// The index belongs to another server, or its directory cannot be locked.
    pub async fn start(
        store: Store,
        data: &Path,
        settings: &config::Index,
        public_url: &str,
        rebuild: bool,
    ) -> Result<Self, trawl_index::Error> {
        let files = Arc::new(IndexFiles::lock(data, settings.writer_memory_bytes)?);
        let served = Arc::new(Served::default());
        if let Err(error) = users::documents::follow_public_url(&store, public_url).await {
            tracing::warn!(%error, "avatars keep their old address until the next start");
        }
        let rows = Rows { store, public_url: public_url.into() };
        let freshness = Freshness::default();
        let (positions, of_files) = (rows.store.positions(), Arc::clone(&files));
        let (mut follower, progress, asks) =
            follower(rows, files, Arc::clone(&served), settings.batch_changes, rebuild, freshness.clone());
        let control = Arc::new(IndexControl {
            files: of_files,
            served: Arc::clone(&served),
            positions,
            progress: progress.clone(),
            freshness,
            asks,
        });
        let stop = follower.stop.clone();
        // What is usual is served from the first request on. What fails here is recovered from when it fails again.
        for _ in 0..2 {
            match follower.prepare().await {
                Err(engines::Trouble::Unusable(reason)) => {
                    follower.recover(engines::Trouble::Unusable(reason)).await;
                }
                Err(trouble) => {
                    tracing::warn!(?trouble, "the full-text index could not be opened at the start");
                    break;
                }
                Ok(()) => break,
            }
        }
        Ok(Self { progress, served, control, stop, task: tokio::spawn(follower.run()) })
    }

    /// What is searched.
    pub fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served)
    }

    /// The index as its operator sees it.
    pub fn control(&self) -> Arc<IndexControl> {
        Arc::clone(&self.control)
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

/// A follower that has not begun, and how far it is.
fn follower(
    rows: Rows,
    files: Arc<IndexFiles>,
    served: Arc<Served>,
    batch_changes: u64,
    rebuild: bool,
    freshness: Freshness,
) -> (Follower, watch::Receiver<Progress>, mpsc::Sender<Ask>) {
    let (found, damages) = mpsc::channel(1);
    let (asks, asked) = mpsc::channel(1);
    let (announcer, progress) = Announcer::new(rows.store.commits(), freshness);
    let follower = Follower {
        rows,
        engines: Engines::new(files, served, found),
        announcer,
        stop: CancellationToken::new(),
        batch_changes,
        rebuild,
        beside: asked::Beside::None,
        filling: None,
        position: 0,
        failures: 0,
        damages,
        asks: asked,
        asked: None,
        cut_up_to: 0,
        cut: None,
    };
    (follower, progress, asks)
}
