//! One engine, kept level with the change log.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use trawl_engine::Health;
use trawl_index::EmbeddedIndexes;
use trawl_opensearch::OpenSearch;
use trawl_search::sources::builtin::ServedIndex;

use super::{
    follower::Follower, lock::DataLock, progress::Announcer, reader::Rows, rebuild_request::Ask,
    shared::SharedRun, sinks::IndexFailure,
};
use crate::{
    config::{EngineKind, Index},
    index_progress::Progress,
    replicas::Leases,
};

/// The parts that each engine needs.
pub(super) struct Context {
    pub(super) rows: Rows,
    pub(super) data: PathBuf,
    pub(super) settings: Index,
    pub(super) leases: Leases,
    /// Where a cluster is configured.
    pub(super) cluster: Option<OpenSearch>,
    /// Codes of tenants with indexes of their own.
    pub(super) own_indexes: Vec<String>,
    pub(super) followed: Followed,
    pub(super) _lock: DataLock,
}

/// Progress of all engines that follow the change log in this process: during a move there are two.
#[derive(Clone, Default)]
pub(super) struct Followed(Arc<Mutex<Vec<watch::Receiver<Progress>>>>);

impl Followed {
    /// The position up to which all have followed the log.
    pub(super) fn least(&self) -> i64 {
        self.all().iter().map(|progress| progress.borrow().position).min().unwrap_or(i64::MAX)
    }

    pub(super) fn add(&self, progress: watch::Receiver<Progress>) {
        self.remove(&progress);
        self.all().push(progress);
    }

    pub(super) fn remove(&self, progress: &watch::Receiver<Progress>) {
        self.all().retain(|other| !other.same_channel(progress));
    }

    fn all(&self) -> MutexGuard<'_, Vec<watch::Receiver<Progress>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The places where an engine is served and its progress is announced.
#[derive(Clone)]
pub(super) struct Outputs {
    pub(super) served: Arc<ServedIndex>,
    pub(super) announcer: Announcer,
}

pub(super) struct EngineRun {
    pub(super) kind: EngineKind,
    pub(super) outputs: Outputs,
    pub(super) asks: mpsc::Sender<Ask>,
    stop: CancellationToken,
    task: JoinHandle<()>,
    followed: Followed,
}

impl EngineRun {
    /// Serves the index where it can be opened at once, and follows the log in the background.
    pub(super) async fn start(
        context: &Arc<Context>,
        kind: EngineKind,
        outputs: Outputs,
        rebuild: bool,
    ) -> Self {
        let (asks, asked) = mpsc::channel(1);
        let stop = CancellationToken::new();
        outputs.announcer.set_stays_ready(false);
        // The engine before may have been away.
        outputs.announcer.set_health(&Health::Good);
        outputs.served.set_degradation(None);
        context.followed.add(outputs.announcer.subscribe());
        let cluster = context.cluster.as_ref().filter(|_| kind == EngineKind::OpenSearch);
        let task = if let Some(cluster) = cluster {
            let run = SharedRun::new(context, cluster, outputs.clone(), asked, rebuild, stop.clone());
            tokio::spawn(run.start().await)
        } else {
            let indexes = EmbeddedIndexes::new(&context.data, context.settings.writer_memory_bytes);
            let mut follower =
                Follower::new(context, Box::new(indexes), &outputs, asked, rebuild, stop.clone());
            follower.prepare_early().await;
            tokio::spawn(follower.run())
        };
        Self { kind, outputs, asks, stop, task, followed: context.followed.clone() }
    }

    /// Waits until the index is complete and holds the change log up to `position`.
    pub(super) async fn wait_until_level(&self, position: i64) {
        let is_level = |progress: &Progress| {
            progress.caught_up && !progress.is_rebuilding() && progress.position >= position
        };
        // The announcer lives as long as this run.
        let _waited = self.outputs.announcer.subscribe().wait_for(is_level).await.map(drop);
    }

    /// Stops after the current batch; the rest is indexed by the next run.
    pub(super) async fn stop(&mut self) {
        self.stop.cancel();
        if let Err(error) = (&mut self.task).await {
            tracing::error!(%error, "the indexer did not stop cleanly");
        }
        self.followed.remove(&self.outputs.announcer.subscribe());
    }
}

impl Follower {
    /// Serves before the first request where possible.
    pub(super) async fn prepare_early(&mut self) {
        for _ in 0..2 {
            match self.prepare().await {
                Err(IndexFailure::Unusable(reason)) => self.recover(IndexFailure::Unusable(reason)).await,
                Err(trouble) => {
                    tracing::warn!(?trouble, "the full-text index could not be opened at startup");
                    return;
                }
                Ok(()) => return,
            }
        }
    }
}
