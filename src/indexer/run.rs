//! One engine, kept level with the change log.

use std::sync::Arc;

use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use trawl_engine::Health;
use trawl_index::EmbeddedIndexes;

use super::{
    context::{EngineContext, Outputs},
    follower::Follower,
    log_cutter::Followed,
    rebuild_request::Ask,
    shared::SharedRun,
};
use crate::{config::EngineKind, index_progress::Progress};

pub(super) struct EngineRun {
    pub(super) kind: EngineKind,
    pub(super) outputs: Outputs,
    pub(super) asks: mpsc::Sender<Ask>,
    stop: CancellationToken,
    task: JoinHandle<()>,
    followed: Followed,
}

impl EngineRun {
    /// Starts to follow the log in the background.
    ///
    /// Serves the index before, if it can be opened at once.
    pub(super) async fn start(
        context: &Arc<EngineContext>,
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
