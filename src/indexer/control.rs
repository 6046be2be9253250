//! The index as its operator sees it, and has it filled anew while the server runs.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use serde::Serialize;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use trawl_search::sources::builtin::ServedIndex;

use super::{
    files::IndexFiles,
    progress::Freshness,
    rebuild_request::{Ask, Refusal},
};
use crate::{
    error::{Error, Result},
    index_progress::{Progress, Rebuild},
};

/// How long the indexer may take to begin.
const PATIENCE: Duration = Duration::from_secs(20);
/// When to come back where it does not answer.
const BUSY_FOR: Duration = Duration::from_secs(5);

/// How the full-text index is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexState {
    /// Documents that are searched, of all tenants.
    pub documents: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// The change log's position that searches see.
    pub position: i64,
    /// The change log's last position.
    pub store_position: i64,
    /// Changes that lie between the two.
    pub behind: i64,
    /// How soon changes were found after they were acknowledged, over the last 512 batches since the start, each counted by its
    /// oldest change; null before the first.
    pub freshness_ms: Option<FreshnessMillis>,
    /// Whether `/readyz` says that the server is ready.
    pub ready: bool,
    /// Whether it is being filled anew.
    pub rebuilding: bool,
    /// Whether the last rebuild that was asked for came to nothing, so that the index stayed as it was; the log says why. Until
    /// another one begins, or the server is started again.
    pub rebuild_failed: bool,
    /// Items that a filling has put into it; those of the last one once that is over.
    pub items_done: u64,
    /// Items that there were when the filling began.
    pub items_known: u64,
}

/// How soon changes were found, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct FreshnessMillis {
    /// Half of the batches took at most this.
    pub p50: u64,
    /// Ninety-nine of a hundred.
    pub p99: u64,
}

/// Shows the index of a running indexer, and has it filled anew.
pub struct IndexControl {
    pub(super) files: Arc<IndexFiles>,
    pub(super) served: Arc<ServedIndex>,
    pub(super) positions: watch::Receiver<i64>,
    pub(super) progress: watch::Receiver<Progress>,
    pub(super) freshness: Freshness,
    pub(super) asks: mpsc::Sender<Ask>,
}

impl IndexControl {
    /// How the index is now.
    ///
    /// # Errors
    /// 500 where its files could not be looked at.
    pub async fn state(&self) -> Result<IndexState> {
        let progress = self.progress.borrow().clone();
        self.state_at(progress).await
    }

    /// Has the index be filled anew, beside the one that is served, which answers until it is replaced. Says how it is once
    /// that has begun.
    ///
    /// # Errors
    /// 409 while it is being filled and where there cannot be two indexes; 503 where the disk has no room for a second one, and
    /// where the indexer does not answer.
    pub async fn rebuild(&self) -> Result<IndexState> {
        if self.progress.borrow().is_rebuilding() {
            return Err(Refusal::UnderWay.into());
        }
        let (ask, begun) = oneshot::channel();
        let asking = async {
            self.asks.send(ask).await.ok()?;
            begun.await.ok()
        };
        let busy =
            || Error::unavailable("the indexer does not answer; look at GET /admin/v1/index", BUSY_FOR);
        let progress = timeout(PATIENCE, asking).await.ok().flatten().ok_or_else(busy)??;
        self.state_at(progress).await
    }

    async fn state_at(&self, progress: Progress) -> Result<IndexState> {
        let files = Arc::clone(&self.files);
        let bytes = tokio::task::spawn_blocking(move || files.bytes()).await.map_err(Error::internal)?;
        // Looked at after the index's: it is never behind it.
        let store_position = *self.positions.borrow();
        let quantiles = self.freshness.0.lock().unwrap_or_else(PoisonError::into_inner).quantiles();
        Ok(IndexState {
            documents: self.served.documents(),
            bytes,
            position: progress.position,
            store_position,
            behind: (store_position - progress.position).max(0),
            freshness_ms: quantiles.map(|latency| FreshnessMillis { p50: latency.p50, p99: latency.p99 }),
            ready: progress.is_ready(),
            rebuilding: progress.is_rebuilding(),
            rebuild_failed: progress.rebuild == Rebuild::Failed,
            items_done: progress.items_done,
            items_known: progress.items_known,
        })
    }
}
