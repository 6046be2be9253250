//! The operator's interface to the index: state and rebuilds.

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

const PATIENCE: Duration = Duration::from_secs(20);
const BUSY_FOR: Duration = Duration::from_secs(5);

/// The state of the full-text index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexState {
    /// Searchable documents of all tenants.
    pub documents: u64,
    /// Size of its files in bytes.
    pub bytes: u64,
    /// The change log's position that searches see.
    pub position: i64,
    /// The change log's last position.
    pub store_position: i64,
    /// Changes between the two.
    pub behind: i64,
    /// Time from acknowledging a change until it is found. Over the last 512 batches since the start, each by its
    /// oldest change; null before the first.
    pub freshness_ms: Option<FreshnessMillis>,
    /// Whether `/readyz` reports the server as ready.
    pub ready: bool,
    /// Whether a rebuild is running.
    pub rebuilding: bool,
    /// Whether the last requested rebuild failed and left the index unchanged; the log has the reason. Reset by the
    /// next rebuild or a restart.
    pub rebuild_failed: bool,
    /// Items indexed by the running rebuild, or else by the last one.
    pub items_done: u64,
    /// Items that existed when the rebuild began.
    pub items_known: u64,
}

/// Time until changes are found, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct FreshnessMillis {
    /// The median over the batches.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
}

/// Reports the state of a running index and rebuilds it.
pub struct IndexControl {
    pub(super) files: Arc<IndexFiles>,
    pub(super) served: Arc<ServedIndex>,
    pub(super) positions: watch::Receiver<i64>,
    pub(super) progress: watch::Receiver<Progress>,
    pub(super) freshness: Freshness,
    pub(super) asks: mpsc::Sender<Ask>,
}

impl IndexControl {
    /// The current state.
    ///
    /// # Errors
    /// 500 when the index files cannot be read.
    pub async fn state(&self) -> Result<IndexState> {
        let progress = self.progress.borrow().clone();
        self.state_at(progress).await
    }

    /// Starts a rebuild beside the served index, which is replaced at its end. Returns the state once it has begun.
    ///
    /// # Errors
    /// 409 while a rebuild runs, and where two indexes cannot coexist. Also 503 without disk space for a second index, or
    /// without an answer from the indexer.
    pub async fn rebuild(&self) -> Result<IndexState> {
        if self.progress.borrow().is_rebuilding() {
            return Err(Refusal::UnderWay.into());
        }
        let (ask, begun) = oneshot::channel();
        let asking = async {
            self.asks.send(ask).await.ok()?;
            begun.await.ok()
        };
        let busy = || Error::unavailable("the indexer does not answer; see GET /admin/v1/index", BUSY_FOR);
        let progress = timeout(PATIENCE, asking).await.ok().flatten().ok_or_else(busy)??;
        self.state_at(progress).await
    }

    /// The change log's position that searches see.
    pub fn position(&self) -> i64 {
        self.progress.borrow().position
    }

    async fn state_at(&self, progress: Progress) -> Result<IndexState> {
        let files = Arc::clone(&self.files);
        let bytes = tokio::task::spawn_blocking(move || files.bytes()).await.map_err(Error::internal)?;
        // Read after the index's position, so that it is never behind it.
        let store_position = *self.positions.borrow();
        let quantiles = self.freshness.0.lock().unwrap_or_else(PoisonError::into_inner).quantiles();
        Ok(IndexState {
            documents: self.served.documents().await.map_err(Error::internal)?,
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
