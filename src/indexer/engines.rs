//! The open indexes: the current one and, during a side-by-side rebuild, the replaced one.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;
use trawl_engine::{Change, Checkpoint};
use trawl_index::{EmbeddedEngine, Error as IndexError, Writer};
use trawl_search::sources::builtin::{Incompleteness, ServedIndex};

use super::{
    files::{Engine, IndexFiles, Share},
    verification::{IndexDamage, watch_over},
};
use crate::error::Error;

#[derive(Debug)]
pub(super) enum IndexFailure {
    /// The index has to be rebuilt.
    Unusable(String),
    /// The index failed and has to be reopened.
    Failed(String),
    Store(Error),
}

impl<E: Into<Error>> From<E> for IndexFailure {
    fn from(error: E) -> Self {
        Self::Store(error.into())
    }
}

fn failed(error: IndexError) -> IndexFailure {
    match error {
        IndexError::Unusable(reason) => IndexFailure::Failed(reason),
        IndexError::Engine(error) => IndexFailure::Failed(error.to_string()),
        IndexError::Files(error) => IndexFailure::Failed(error.to_string()),
        other => IndexFailure::Failed(other.to_string()),
    }
}

pub(super) struct Engines {
    files: Arc<IndexFiles>,
    served: Arc<ServedIndex>,
    damages: mpsc::Sender<IndexDamage>,
    /// The index written to; the new one during a rebuild.
    current: Option<Engine>,
    /// The index that is served during a side-by-side rebuild.
    before: Option<Engine>,
    unusable: Option<String>,
    reason: Option<String>,
    /// Identifies the served index; increases with each replacement.
    number: u64,
    /// Receives the number of an index that failed.
    failed: watch::Sender<u64>,
    watch: Option<AbortOnDropHandle<()>>,
}

impl Engines {
    pub(super) fn new(
        files: Arc<IndexFiles>,
        served: Arc<ServedIndex>,
        damages: mpsc::Sender<IndexDamage>,
    ) -> Self {
        Self {
            files,
            served,
            damages,
            current: None,
            before: None,
            unusable: None,
            reason: None,
            number: 0,
            failed: watch::Sender::new(0),
            watch: None,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.current.is_some()
    }

    /// Whether a rebuild runs beside the served index.
    pub(super) fn is_beside(&self) -> bool {
        self.before.is_some()
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn has_room_beside(&self) -> bool {
        self.files.has_room_beside()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.files.bytes()
    }

    pub(super) fn checkpoint(&self) -> Option<Checkpoint> {
        self.current.as_ref()?.writer.checkpoint().cloned()
    }

    pub(super) fn note(&self) -> Option<&str> {
        self.current.as_ref()?.writer.note()
    }

    pub(super) fn take_reason(&mut self) -> Option<String> {
        self.reason.take()
    }

    /// Opens the index unless it is open, wiping an unusable one. Returns whether a side-by-side rebuild was
    /// interrupted.
    pub(super) async fn open(&mut self) -> Result<bool, IndexFailure> {
        if self.current.is_some() {
            return Ok(false);
        }
        let (files, unusable) = (Arc::clone(&self.files), self.unusable.clone());
        let opened = tokio::task::spawn_blocking(move || {
            let was_rebuilding = files.tidy()?;
            if let Some(reason) = unusable {
                return Ok((files.open_wiped()?, was_rebuilding, Some(reason)));
            }
            match files.open(Share::Whole) {
                Err(error) if is_damage(&error) => {
                    tracing::warn!(%error, "the full-text index is unusable; it is removed and rebuilt");
                    Ok((files.open_wiped()?, was_rebuilding, Some(error.to_string())))
                }
                opened => Ok((opened?, was_rebuilding, None)),
            }
        });
        let (engine, was_rebuilding, reason) =
            opened.await.map_err(|panic| panicked(&panic))?.map_err(failed)?;
        self.current = Some(engine);
        self.unusable = None;
        self.reason = reason.or(self.reason.take());
        Ok(was_rebuilding)
    }

    /// Opens an empty index to rebuild into, and keeps serving the present one.
    pub(super) async fn open_beside(&mut self) -> Result<(), IndexFailure> {
        let (files, current) = (Arc::clone(&self.files), self.current.take());
        let opened = tokio::task::spawn_blocking(move || {
            drop(current);
            Ok((files.open(Share::Least)?, files.open_fresh()?))
        });
        let (before, fresh) = opened.await.map_err(|panic| panicked(&panic))?.map_err(failed)?;
        (self.before, self.current) = (Some(before), Some(fresh));
        self.reason = Some("asked for".to_owned());
        Ok(())
    }

    pub(super) fn serve(&mut self, lack: Option<&Incompleteness>) {
        let Some(engine) = self.before.as_ref().or(self.current.as_ref()) else { return };
        let served = EmbeddedEngine::new(engine.index.clone(), self.number, self.failed.clone());
        self.served.serve(Arc::new(served), lack.cloned());
        let (index, reports, damages) = (engine.index.clone(), self.failed.subscribe(), self.damages.clone());
        // A reopened index keeps its watch.
        self.watch.get_or_insert_with(|| {
            AbortOnDropHandle::new(tokio::spawn(watch_over(index, self.number, reports, damages)))
        });
    }

    pub(super) fn tell(&self, lack: Option<&Incompleteness>) {
        self.served.set_incompleteness(lack);
    }

    pub(super) async fn apply(&mut self, changes: Vec<Change>) -> Result<(), IndexFailure> {
        if self.before.is_some() {
            let changes = changes.clone();
            with_writer(&mut self.before, move |writer| writer.apply(changes)).await?;
        }
        self.fill(changes).await
    }

    pub(super) async fn fill(&mut self, changes: Vec<Change>) -> Result<(), IndexFailure> {
        with_writer(&mut self.current, move |writer| writer.apply(changes)).await
    }

    pub(super) async fn commit_served(&mut self, checkpoint: &Checkpoint) -> Result<(), IndexFailure> {
        let engine = if self.before.is_some() { &mut self.before } else { &mut self.current };
        let checkpoint = checkpoint.clone();
        with_writer(engine, move |writer| writer.commit(&checkpoint)).await
    }

    pub(super) async fn commit_rebuild(
        &mut self,
        checkpoint: &Checkpoint,
        note: Option<String>,
    ) -> Result<(), IndexFailure> {
        let checkpoint = checkpoint.clone();
        with_writer(&mut self.current, move |writer| writer.commit_with_note(&checkpoint, note)).await
    }

    /// Replaces the old index by the rebuilt one, if there are two. Afterwards none is open.
    pub(super) async fn exchange(&mut self) -> Result<(), IndexFailure> {
        let Some(before) = self.before.take() else { return Ok(()) };
        let (files, current) = (Arc::clone(&self.files), self.current.take());
        let exchanged = tokio::task::spawn_blocking(move || {
            drop(before);
            current.map_or(Ok(()), |engine| engine.writer.close())?;
            Ok(files.swap()?)
        });
        exchanged.await.map_err(|panic| panicked(&panic))?.map_err(failed)
    }

    pub(super) async fn take_place(&mut self) -> Result<(), IndexFailure> {
        if self.is_open() {
            self.tell(None);
            return Ok(());
        }
        let files = Arc::clone(&self.files);
        let opened = tokio::task::spawn_blocking(move || files.open(Share::Whole));
        self.current = Some(opened.await.map_err(|panic| panicked(&panic))?.map_err(failed)?);
        self.watch = None;
        self.number += 1;
        self.serve(None);
        Ok(())
    }

    #[cfg(test)]
    pub(super) async fn panic(&mut self) -> Result<(), IndexFailure> {
        with_writer(&mut self.current, |_| panic!("a test has the writer panic")).await
    }

    pub(super) fn doubt(&self) {
        self.failed.send_replace(self.number);
    }

    /// Closes the index and has it wiped; nothing is served until then.
    pub(super) async fn discard(&mut self, reason: String) {
        self.served.withdraw();
        self.watch = None;
        self.number += 1;
        self.unusable = Some(reason);
        self.let_go().await;
    }

    pub(super) async fn let_go(&mut self) {
        let open = (self.current.take(), self.before.take());
        // Waits for its threads. A panic was reported already.
        let _told = tokio::task::spawn_blocking(move || drop(open)).await;
    }

    pub(super) async fn close(&mut self) {
        self.watch = None;
        for engine in [self.before.take(), self.current.take()].into_iter().flatten() {
            match tokio::task::spawn_blocking(move || engine.writer.close()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::error!(%error, "the index did not close cleanly"),
                Err(panic) => tracing::error!(%panic, "the index did not close cleanly"),
            }
        }
    }
}

fn is_damage(error: &IndexError) -> bool {
    match error {
        IndexError::Unusable(_) => true,
        IndexError::Files(_) => !error.is_transient(),
        _ => false,
    }
}

fn panicked(panic: &tokio::task::JoinError) -> IndexFailure {
    IndexFailure::Failed(panic.to_string())
}

/// Runs blocking work on an index, which is closed when the work fails or panics.
pub(super) async fn with_writer<W>(engine: &mut Option<Engine>, work: W) -> Result<(), IndexFailure>
where
    W: FnOnce(&mut Writer) -> Result<(), IndexError> + Send + 'static,
{
    let mut taken = engine.take().ok_or_else(|| IndexFailure::Failed("the index is not open".to_owned()))?;
    let worked = tokio::task::spawn_blocking(move || {
        work(&mut taken.writer)?;
        Ok(taken)
    });
    *engine = Some(worked.await.map_err(|panic| panicked(&panic))?.map_err(failed)?);
    Ok(())
}
