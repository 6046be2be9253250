//! Keeps the full-text index a few milliseconds behind the database.
//!
//! Each index commit stores its log position, where indexing resumes after a crash. An index that is damaged or does
//! not match the database is rebuilt from the rows. The part rebuilt so far is searched meanwhile, and the change log
//! is followed.

mod control;
mod engines;
mod files;
mod follower;
mod progress;
mod reader;
mod rebuild;
mod rebuild_request;
#[cfg(test)]
mod tests;
mod verification;

use std::{path::Path, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use trawl_search::sources::builtin::ServedIndex;

pub use crate::index_progress::{Progress, Rebuild};

pub use self::control::{FreshnessMillis, IndexControl, IndexState};

use self::{
    engines::Engines,
    files::IndexFiles,
    follower::Follower,
    progress::{Announcer, Freshness},
    reader::Rows,
    rebuild_request::Ask,
};
use crate::{config, error::Result, platform::users, store::Store};

const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A running indexer.
pub struct Indexer {
    progress: watch::Receiver<Progress>,
    served: Arc<ServedIndex>,
    control: Arc<IndexControl>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Indexer {
    /// Opens the index in the data directory and follows the change log.
    ///
    /// An index that cannot be opened now is retried in the background. Documents show addresses below `public_url`.
    ///
    /// # Errors
    /// The index is locked by another server, or its directory cannot be locked.
    pub async fn start(
        store: Store,
        data: &Path,
        settings: &config::Index,
        public_url: &str,
        rebuild: bool,
    ) -> Result<Self, trawl_index::Error> {
        let files = Arc::new(IndexFiles::lock(data, settings.writer_memory_bytes)?);
        let served = Arc::new(ServedIndex::default());
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
        // Serve before the first request where possible.
        for _ in 0..2 {
            match follower.prepare().await {
                Err(engines::IndexFailure::Unusable(reason)) => {
                    follower.recover(engines::IndexFailure::Unusable(reason)).await;
                }
                Err(trouble) => {
                    tracing::warn!(?trouble, "the full-text index could not be opened at startup");
                    break;
                }
                Ok(()) => break,
            }
        }
        Ok(Self { progress, served, control, stop, task: tokio::spawn(follower.run()) })
    }

    /// The index that searches use.
    pub fn served(&self) -> Arc<ServedIndex> {
        Arc::clone(&self.served)
    }

    /// The operator's view of the index.
    pub fn control(&self) -> Arc<IndexControl> {
        Arc::clone(&self.control)
    }

    /// The progress of indexing; changes are signalled.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    /// Stops after the current batch; the rest is indexed at the next start.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the indexer did not stop cleanly");
        }
    }
}

fn follower(
    rows: Rows,
    files: Arc<IndexFiles>,
    served: Arc<ServedIndex>,
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
        beside: rebuild_request::RebuildState::None,
        scan: None,
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
