//! The operator's interface to the index: state and rebuilds.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use trawl_engine::Health;
use trawl_search::sources::builtin::ServedIndex;

use super::{
    progress::Freshness,
    rebuild_request::RebuildRefusal,
    supervisor::{Engines, OperatorCommand},
};
use crate::{
    config::EngineKind,
    error::{Error, Result},
    index_progress::{Progress, Rebuild},
};

const TIMEOUT: Duration = Duration::from_secs(20);
const BUSY_FOR: Duration = Duration::from_secs(5);

/// The state of the full-text index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexState {
    /// The engine that answers searches.
    pub engine: EngineStatus,
    /// Searchable documents of all tenants; null while the engine cannot be reached.
    pub documents: Option<u64>,
    /// Size in bytes, with copies; null while the engine cannot be reached.
    pub bytes: Option<u64>,
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
    /// A running move to another engine.
    pub moving: Option<Move>,
}

/// A full-text engine and its health.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct EngineStatus {
    /// The engine.
    pub kind: EngineKind,
    /// How well it can answer.
    pub status: EngineHealth,
    /// The reason, unless it is good.
    pub message: Option<String>,
}

/// How well an engine can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EngineHealth {
    /// Every part of the index is there.
    Good,
    /// Searches are complete; a further failure may end that.
    Degraded,
    /// Searches of built-in modules fail.
    Unavailable,
}

/// A move of the index to another engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    /// The engine that will answer searches.
    pub to: EngineKind,
    /// The change log's position that it has followed.
    pub position: i64,
    /// Items that it has indexed.
    pub items_done: u64,
    /// Items that existed when its filling began.
    pub items_known: u64,
    /// Why it waits, if it cannot be reached.
    pub message: Option<String>,
}

/// Time until changes are found, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FreshnessMillis {
    /// The median over the batches.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
}

/// Reports the state of a running index, rebuilds it and moves it.
pub struct IndexControl {
    pub(super) served: Arc<ServedIndex>,
    pub(super) positions: watch::Receiver<i64>,
    pub(super) progress: watch::Receiver<Progress>,
    pub(super) freshness: Freshness,
    pub(super) commands: mpsc::Sender<OperatorCommand>,
    pub(super) engines: watch::Receiver<Engines>,
}

impl EngineStatus {
    fn new(kind: EngineKind, health: &Health) -> Self {
        let (status, message) = match health {
            Health::Good => (EngineHealth::Good, None),
            Health::Degraded(message) => (EngineHealth::Degraded, Some(message.clone())),
            Health::Unavailable(message) => (EngineHealth::Unavailable, Some(message.clone())),
        };
        Self { kind, status, message }
    }
}

impl IndexControl {
    /// The current state.
    pub async fn state(&self) -> IndexState {
        let progress = self.progress.borrow().clone();
        self.state_at(progress).await
    }

    /// The engine that answers searches.
    pub fn engine(&self) -> EngineStatus {
        EngineStatus::new(self.engines.borrow().searched, &self.progress.borrow().health)
    }

    /// Begins to fill another engine, which answers searches once it is level. Returns the state.
    ///
    /// # Errors
    /// 409 during a move, to the present engine, and to a cluster without settings.
    pub async fn move_to(&self, to: EngineKind) -> Result<IndexState> {
        let (answer, answered) = oneshot::channel();
        self.ask(OperatorCommand::Move(to, answer), answered).await??;
        Ok(self.state().await)
    }

    /// Starts a rebuild beside the served index, which is replaced at its end. Returns the state once it has begun.
    ///
    /// # Errors
    /// 409 while a rebuild runs, and where two indexes cannot coexist. Also 503 without disk space for a second index, or
    /// without an answer from the indexer.
    pub async fn rebuild(&self) -> Result<IndexState> {
        if self.progress.borrow().is_rebuilding() {
            return Err(RebuildRefusal::UnderWay.into());
        }
        let (ask, begun) = oneshot::channel();
        let progress = self.ask(OperatorCommand::Rebuild(ask), begun).await??;
        Ok(self.state_at(progress).await)
    }

    /// The change log's position that searches see.
    pub fn position(&self) -> i64 {
        self.progress.borrow().position
    }

    async fn ask<T>(&self, command: OperatorCommand, answer: oneshot::Receiver<T>) -> Result<T> {
        let asking = async {
            self.commands.send(command).await.ok()?;
            answer.await.ok()
        };
        let busy = || Error::unavailable("the indexer does not answer; see GET /admin/v1/index", BUSY_FOR);
        timeout(TIMEOUT, asking).await.ok().flatten().ok_or_else(busy)
    }

    async fn state_at(&self, progress: Progress) -> IndexState {
        let (documents, bytes) = match self.served.engine() {
            Some(engine) => (engine.documents().await.ok(), engine.bytes().await.ok()),
            None => (None, None),
        };
        // Read after the index's position, so that it is never behind it.
        let store_position = *self.positions.borrow();
        let quantiles = self.freshness.0.lock().unwrap_or_else(PoisonError::into_inner).quantiles();
        let moving = self.engines.borrow().target.as_ref().map(|(to, progress)| {
            let progress = progress.borrow();
            Move {
                to: *to,
                position: progress.position,
                items_done: progress.items_done,
                items_known: progress.items_known,
                message: EngineStatus::new(*to, &progress.health).message,
            }
        });
        IndexState {
            engine: self.engine(),
            documents,
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
            moving,
        }
    }
}
