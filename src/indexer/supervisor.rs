//! Runs the engine that is searched and, during a move, its successor.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    context::{EngineContext, Outputs},
    progress::{Announcer, Freshness},
    rebuild_request::{Ask, pass_on},
    run::EngineRun,
};
use crate::{
    config::EngineKind,
    error::{Error, Result},
    index_progress::Progress,
};

/// Time for the target of a move to follow the last changes.
///
/// Meanwhile no change is indexed elsewhere.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(10);

/// A request of an operator.
pub(super) enum OperatorCommand {
    Rebuild(Ask),
    Move(EngineKind, oneshot::Sender<Result<()>>),
}

/// The engines that run.
#[derive(Clone)]
pub(super) struct Engines {
    pub(super) searched: EngineKind,
    pub(super) target: Option<(EngineKind, watch::Receiver<Progress>)>,
}

pub(super) struct Supervisor {
    context: Arc<EngineContext>,
    searched: EngineRun,
    target: Option<EngineRun>,
    commands: mpsc::Receiver<OperatorCommand>,
    engines: watch::Sender<Engines>,
    stop: CancellationToken,
}

impl Supervisor {
    pub(super) fn new(
        context: Arc<EngineContext>,
        searched: EngineRun,
        commands: mpsc::Receiver<OperatorCommand>,
        stop: CancellationToken,
    ) -> (Self, watch::Receiver<Engines>) {
        let (engines, receiver) = watch::channel(Engines { searched: searched.kind, target: None });
        (Self { context, searched, target: None, commands, engines, stop }, receiver)
    }

    pub(super) async fn run(mut self) {
        loop {
            let target = &self.target;
            let is_level = async {
                match target {
                    Some(target) => target.wait_until_level(0).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = is_level => self.take_over().await,
                Some(command) = self.commands.recv() => self.obey(command).await,
                () = self.stop.cancelled() => break,
            }
        }
        for mut run in [self.target, Some(self.searched)].into_iter().flatten() {
            run.stop().await;
        }
    }

    async fn obey(&mut self, command: OperatorCommand) {
        match command {
            OperatorCommand::Rebuild(ask) => pass_on(ask, &self.searched.asks),
            OperatorCommand::Move(to, answer) => match self.refusal(to) {
                Some(refusal) => {
                    let _gone = answer.send(Err(Error::conflict(refusal)));
                }
                None => self.begin_move(to, answer).await,
            },
        }
    }

    fn refusal(&self, to: EngineKind) -> Option<&'static str> {
        if self.target.is_some() {
            Some("the index is being moved already")
        } else if to == self.searched.kind {
            Some("to: this engine answers searches already")
        } else if to == EngineKind::OpenSearch && self.context.cluster.is_none() {
            Some("to: engine.opensearch.urls is not set on this server")
        } else {
            None
        }
    }

    /// Answers before the target is opened, which may take long.
    async fn begin_move(&mut self, to: EngineKind, answer: oneshot::Sender<Result<()>>) {
        let announcer = Announcer::new(self.context.rows.store.commits(), Freshness::default());
        let progress = announcer.subscribe();
        let outputs = Outputs { served: Arc::default(), announcer };
        self.engines.send_modify(|engines| engines.target = Some((to, progress)));
        let _gone = answer.send(Ok(()));
        tracing::info!(to = to.name(), "the index is being moved to another engine");
        self.target = Some(EngineRun::start(&self.context, to, outputs, false).await);
    }

    /// Has searches answered by the target, which is level.
    async fn take_over(&mut self) {
        let Some(mut target) = self.target.take() else { return };
        let (before, outputs) = (self.searched.kind, self.searched.outputs.clone());
        self.searched.stop().await;
        // Nothing that was found before is missing afterwards.
        let position = outputs.announcer.now().position;
        if timeout(HANDOVER_TIMEOUT, target.wait_until_level(position)).await.is_err() {
            tracing::warn!("the target of the move fell behind; the move goes on later");
            self.searched = EngineRun::start(&self.context, before, outputs, false).await;
            self.target = Some(target);
            return;
        }
        target.stop().await;
        self.searched = EngineRun::start(&self.context, target.kind, outputs, false).await;
        self.engines.send_replace(Engines { searched: target.kind, target: None });
        tracing::info!(engine = target.kind.name(), "another engine answers searches");
    }
}
