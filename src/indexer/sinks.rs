//! The open indexes: the searched one, and a fresh one beside it.

use std::sync::Arc;

use futures::FutureExt as _;
use trawl_engine::{BesideIndexes, Change, Checkpoint, Failure, Indexes, OpenedIndex, Sink};
use trawl_search::sources::builtin::{Incompleteness, ServedIndex};

use crate::error::Error;

#[derive(Debug)]
pub(super) enum IndexFailure {
    /// The index has to be rebuilt.
    Unusable(String),
    /// The engine cannot be reached.
    Unavailable(String),
    /// The index is another database's.
    Foreign(String),
    /// The index failed and has to be reopened.
    Failed(String),
    Store(Error),
}

impl<E: Into<Error>> From<E> for IndexFailure {
    fn from(error: E) -> Self {
        Self::Store(error.into())
    }
}

impl IndexFailure {
    fn of_engine(failure: Failure) -> Self {
        match failure {
            Failure::Unavailable(reason) => Self::Unavailable(reason),
            Failure::Foreign(reason) => Self::Foreign(reason),
            Failure::Failed(reason) => Self::Failed(reason),
        }
    }
}

enum Open {
    Nothing,
    Searched(Box<dyn Sink>),
    Beside(BesideIndexes),
}

pub(super) struct Sinks {
    indexes: Box<dyn Indexes>,
    served: Arc<ServedIndex>,
    open: Open,
    unusable: Option<String>,
    reason: Option<String>,
}

impl Sinks {
    pub(super) fn new(indexes: Box<dyn Indexes>, served: Arc<ServedIndex>) -> Self {
        Self { indexes, served, open: Open::Nothing, unusable: None, reason: None }
    }

    pub(super) fn is_open(&self) -> bool {
        !matches!(self.open, Open::Nothing)
    }

    /// Whether a rebuild runs beside the searched index.
    pub(super) fn is_beside(&self) -> bool {
        matches!(self.open, Open::Beside(_))
    }

    pub(super) fn has_room_beside(&self) -> bool {
        self.indexes.has_room_beside()
    }

    pub(super) fn local_bytes(&self) -> u64 {
        self.indexes.local_bytes()
    }

    /// The index that a rebuild fills.
    fn filled(&mut self) -> Option<&mut dyn Sink> {
        match &mut self.open {
            Open::Nothing => None,
            Open::Searched(sink) | Open::Beside(BesideIndexes { fresh: sink, .. }) => Some(&mut **sink),
        }
    }

    fn searched(&mut self) -> Option<&mut dyn Sink> {
        match &mut self.open {
            Open::Nothing => None,
            Open::Searched(sink) | Open::Beside(BesideIndexes { searched: sink, .. }) => Some(&mut **sink),
        }
    }

    /// The searched index's last commit and its note.
    pub(super) fn checkpoint(&mut self) -> Option<(Checkpoint, Option<String>)> {
        let sink = self.searched()?;
        Some((sink.checkpoint()?.clone(), sink.note().map(str::to_owned)))
    }

    pub(super) fn take_reason(&mut self) -> Option<String> {
        self.reason.take()
    }

    /// Opens the index unless it is open; replaces an unusable one.
    ///
    /// Returns whether a rebuild beside it was interrupted.
    pub(super) async fn open(&mut self) -> Result<bool, IndexFailure> {
        if self.is_open() {
            return Ok(false);
        }
        if let Some(reason) = &self.unusable {
            let sink = self.indexes.open_wiped().await.map_err(IndexFailure::of_engine)?;
            (self.open, self.reason) = (Open::Searched(sink), Some(reason.clone()));
            self.unusable = None;
            return Ok(false);
        }
        let opened = self.indexes.open().await.map_err(|failure| {
            if let Failure::Foreign(reason) = &failure {
                self.served.withdraw(reason.clone());
            }
            IndexFailure::of_engine(failure)
        });
        let OpenedIndex { sink, was_rebuilding, damage } = opened?;
        self.open = Open::Searched(sink);
        self.reason = damage.or(self.reason.take());
        Ok(was_rebuilding)
    }

    /// Opens an empty index to rebuild into, and keeps serving the present one.
    pub(super) async fn open_replacement(&mut self) -> Result<(), IndexFailure> {
        let Open::Searched(searched) = std::mem::replace(&mut self.open, Open::Nothing) else {
            return Err(not_open());
        };
        let beside = self.indexes.open_replacement(searched).await.map_err(IndexFailure::of_engine)?;
        self.open = Open::Beside(beside);
        self.reason = Some("asked for".to_owned());
        Ok(())
    }

    pub(super) fn serve(&mut self, lack: Option<&Incompleteness>) {
        let engine = self.searched().map(|sink| sink.engine());
        if let Some(engine) = engine {
            self.served.serve(engine, lack.cloned());
        }
    }

    pub(super) fn served(&self) -> Arc<ServedIndex> {
        Arc::clone(&self.served)
    }

    pub(super) fn tell(&self, lack: Option<&Incompleteness>) {
        self.served.set_incompleteness(lack);
    }

    /// Tells the searched index whether many changes wait.
    pub(super) fn set_bulk(&mut self, is_bulk: bool) {
        if let Some(sink) = self.searched() {
            sink.set_bulk(is_bulk);
        }
    }

    /// Tells the filled index whether a rebuild is under way.
    pub(super) fn set_rebuilding(&mut self, is_rebuilding: bool) {
        if let Some(sink) = self.filled() {
            sink.set_bulk(is_rebuilding);
        }
    }

    /// Applies changes of the log to all open indexes.
    pub(super) async fn apply(&mut self, changes: Vec<Change>) -> Result<(), IndexFailure> {
        if self.is_beside() {
            let applied = match self.searched() {
                Some(sink) => sink.apply(changes.clone()).await,
                None => Ok(()),
            };
            self.closing_on_failure(applied).await?;
        }
        self.fill(changes).await
    }

    pub(super) async fn fill(&mut self, changes: Vec<Change>) -> Result<(), IndexFailure> {
        let sink = self.filled().ok_or_else(not_open)?;
        let applied = sink.apply(changes).await;
        self.closing_on_failure(applied).await
    }

    pub(super) async fn commit_searched(&mut self, checkpoint: &Checkpoint) -> Result<(), IndexFailure> {
        let sink = self.searched().ok_or_else(not_open)?;
        let committed = sink.commit(checkpoint, None).await;
        self.closing_on_failure(committed).await
    }

    pub(super) async fn commit_rebuild(
        &mut self,
        checkpoint: &Checkpoint,
        note: Option<String>,
    ) -> Result<(), IndexFailure> {
        let sink = self.filled().ok_or_else(not_open)?;
        let committed = sink.commit(checkpoint, note).await;
        self.closing_on_failure(committed).await
    }

    /// Replaces the old index by the rebuilt one, if there are two. Afterwards none is open.
    pub(super) async fn swap(&mut self) -> Result<(), IndexFailure> {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Beside(indexes) => self.indexes.swap(indexes).await.map_err(IndexFailure::of_engine),
            open => {
                self.open = open;
                Ok(())
            }
        }
    }

    /// Serves a rebuilt index as complete.
    pub(super) async fn serve_rebuilt(&mut self) -> Result<(), IndexFailure> {
        if self.is_open() {
            self.tell(None);
        } else {
            self.open().await?;
            self.serve(None);
        }
        Ok(())
    }

    /// Waits until the searched index is found to be damaged.
    pub(super) async fn damaged(&mut self) -> IndexFailure {
        IndexFailure::Unusable(self.indexes.damaged().await)
    }

    pub(super) fn check_damage(&mut self) -> Result<(), IndexFailure> {
        self.damaged().now_or_never().map_or(Ok(()), Err)
    }

    pub(super) fn doubt(&self) {
        self.indexes.doubt();
    }

    /// Closes the index and has it wiped; nothing is served until then.
    pub(super) async fn discard(&mut self, reason: String) {
        self.served.withdraw(NOT_OPEN.to_owned());
        self.unusable = Some(reason);
        self.let_go().await;
    }

    /// Drops the open indexes without a commit.
    pub(super) async fn let_go(&mut self) {
        let open = std::mem::replace(&mut self.open, Open::Nothing);
        // Waits for its threads. A panic was reported already.
        let _told = tokio::task::spawn_blocking(move || drop(open)).await;
    }

    pub(super) async fn close(&mut self) {
        let sinks = match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => Vec::new(),
            Open::Searched(sink) => vec![sink],
            Open::Beside(BesideIndexes { searched, fresh }) => vec![searched, fresh],
        };
        for sink in sinks {
            if let Err(error) = sink.close().await {
                tracing::error!(%error, "the index did not close cleanly");
            }
        }
    }

    async fn closing_on_failure(&mut self, outcome: Result<(), Failure>) -> Result<(), IndexFailure> {
        if outcome.is_err() {
            self.let_go().await;
        }
        outcome.map_err(IndexFailure::of_engine)
    }

    #[cfg(test)]
    pub(super) fn replace_filled(&mut self, replacement: Box<dyn Sink>) {
        match &mut self.open {
            Open::Nothing => {}
            Open::Searched(sink) | Open::Beside(BesideIndexes { fresh: sink, .. }) => *sink = replacement,
        }
    }
}

const NOT_OPEN: &str = "the index cannot be opened at the moment";

fn not_open() -> IndexFailure {
    IndexFailure::Failed("the index is not open".to_owned())
}
