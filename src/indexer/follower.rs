//! Applies what was read to the index, and commits it.

use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use trawl_index::{Change, Checkpoint};

use super::{
    Progress, RETRY_AFTER,
    reader::{Area, LogReader, Step},
};
use crate::{
    error::{Error, Result},
    store::{Store, change_log},
};

/// Steps that the reader may be ahead.
const STEPS_AHEAD: usize = 4;

/// Requests that are at hand share a commit, but none waits longer than this for those behind it.
const COMMIT_WITHIN: Duration = Duration::from_millis(60);

/// Documents between two commits of a rebuild.
const REBUILD_COMMIT: usize = 50_000;

/// The log is cut when so many entries lie behind the index.
const KEPT_ENTRIES: i64 = 20_000;

/// Entries that one cut removes, so that no write waits long behind it.
const CUT_ENTRIES: u64 = 2_000;

/// Keeps the index level with the store.
pub(super) struct Follower {
    pub(super) store: Store,
    /// Taken while a blocking thread works with it.
    pub(super) writer: Option<trawl_index::Writer>,
    pub(super) announce: watch::Sender<Progress>,
    pub(super) stop: CancellationToken,
    pub(super) batch_changes: u64,
    pub(super) rebuild: bool,
    pub(super) cut_up_to: i64,
    pub(super) cut: Option<AbortOnDropHandle<()>>,
}

impl Follower {
    /// Follows until it is told to stop; what fails is tried again from the last commit.
    pub(super) async fn run(mut self) {
        while !self.stop.is_cancelled() {
            if let Err(error) = self.follow().await {
                tracing::error!(%error, "indexing failed; trying again");
                self.announce.send_modify(|progress| progress.caught_up = false);
                tokio::select! {
                    () = tokio::time::sleep(RETRY_AFTER) => {}
                    () = self.stop.cancelled() => {}
                }
            }
        }
        if let Some(writer) = self.writer.take()
            && let Ok(Err(error)) = tokio::task::spawn_blocking(move || writer.close()).await
        {
            tracing::error!(%error, "the index did not close in order");
        }
    }

    async fn follow(&mut self) -> Result<()> {
        let position = self.starting_position().await?;
        let (sender, mut steps) = mpsc::channel(STEPS_AHEAD);
        let reader = LogReader {
            positions: self.store.positions(),
            store: self.store.clone(),
            batch_changes: self.batch_changes,
            steps: sender,
        };
        let reader = AbortOnDropHandle::new(tokio::spawn(reader.run(position)));
        let mut uncommitted: Option<(i64, Instant)> = None;
        let mut applied_since = None;
        loop {
            let step = tokio::select! {
                step = steps.recv() => step,
                () = self.stop.cancelled() => return Ok(()),
            };
            match step {
                Some(Step::Apply(changes)) => {
                    applied_since.get_or_insert_with(Instant::now);
                    self.with_writer(move |writer| writer.apply(changes)).await?;
                }
                Some(Step::Reach(position)) => {
                    let since = applied_since.take().unwrap_or_else(Instant::now);
                    let since = uncommitted.map_or(since, |(_, since)| since);
                    if steps.is_empty() || since.elapsed() >= COMMIT_WITHIN {
                        uncommitted = None;
                        self.reach(position).await?;
                    } else {
                        uncommitted = Some((position, since));
                    }
                }
                Some(Step::CaughtUp) => {
                    if let Some((position, _)) = uncommitted.take() {
                        self.reach(position).await?;
                    }
                    self.announce
                        .send_if_modified(|progress| !std::mem::replace(&mut progress.caught_up, true));
                }
                None => return reader.await.map_err(Error::internal)?,
            }
        }
    }

    /// Makes everything up to `position` visible.
    async fn reach(&mut self, position: i64) -> Result<()> {
        self.commit(position, true).await?;
        self.announce(position, false);
        self.cut_log(position);
        Ok(())
    }

    /// The index's position, after filling it anew where it does not fit the database.
    async fn starting_position(&mut self) -> Result<i64> {
        let reader = self.store.reader();
        let last = change_log::last_position(reader).await?;
        let first_kept = change_log::first_position(reader).await?.unwrap_or(last + 1);
        let checkpoint = self.writer.as_ref().and_then(|writer| writer.checkpoint().cloned());
        let reason = match &checkpoint {
            _ if self.rebuild => Some("asked for"),
            None if last == 0 => None,
            None => Some("it is new"),
            Some(checkpoint) if checkpoint.store != self.store.id() => Some("it is of another database"),
            Some(checkpoint) if !checkpoint.complete => Some("filling it was interrupted"),
            Some(checkpoint) if checkpoint.position > last => Some("it is ahead of the database"),
            Some(checkpoint) if checkpoint.position + 1 < first_kept => {
                Some("the change log was cut past it")
            }
            Some(_) => None,
        };
        match reason {
            Some(reason) => self.rebuild(last, reason).await,
            None => Ok(checkpoint.map_or(0, |checkpoint| checkpoint.position)),
        }
    }

    /// Fills the index from the rows. What changes meanwhile has an entry after `position` and is followed then.
    async fn rebuild(&mut self, position: i64, reason: &str) -> Result<i64> {
        tracing::info!(reason, "filling the full-text index anew");
        self.announce(position, true);
        self.with_writer(trawl_index::Writer::clear).await?;
        let mut uncommitted = 0;
        let mut documents_in_all = 0;
        for area in Area::ALL {
            let mut sequence = 0;
            while let Some((documents, last)) = area.scan(&self.store, sequence).await? {
                if self.stop.is_cancelled() {
                    return Err(Error::internal("stopped while filling the index"));
                }
                sequence = last;
                uncommitted += documents.len();
                documents_in_all += documents.len();
                let changes = documents.into_iter().map(Change::Put).collect();
                self.with_writer(move |writer| writer.apply(changes)).await?;
                if uncommitted >= REBUILD_COMMIT {
                    self.commit(position, false).await?;
                    uncommitted = 0;
                }
            }
        }
        self.commit(position, true).await?;
        self.rebuild = false;
        self.announce(position, false);
        tracing::info!(documents = documents_in_all, "the full-text index is filled");
        Ok(position)
    }

    async fn commit(&mut self, position: i64, complete: bool) -> Result<()> {
        let checkpoint = Checkpoint { store: self.store.id().to_owned(), position, complete };
        self.with_writer(move |writer| writer.commit(&checkpoint)).await
    }

    /// Runs blocking work on the index. A panic in it loses the writer, and with it this process's indexing: that
    /// is an error on every later round, never a silent stop.
    async fn with_writer<W>(&mut self, work: W) -> Result<()>
    where
        W: FnOnce(&mut trawl_index::Writer) -> Result<(), trawl_index::Error> + Send + 'static,
    {
        let mut writer = self.writer.take().ok_or_else(|| Error::internal("the index writer is lost"))?;
        let (writer, result) = tokio::task::spawn_blocking(move || {
            let result = work(&mut writer);
            (writer, result)
        })
        .await
        .map_err(Error::internal)?;
        self.writer = Some(writer);
        result.map_err(Error::internal)
    }

    /// Removes log entries that the index has behind it, beside the work on the index.
    fn cut_log(&mut self, position: i64) {
        let is_busy = self.cut.as_ref().is_some_and(|cut| !cut.is_finished());
        if is_busy || position - self.cut_up_to < KEPT_ENTRIES {
            return;
        }
        self.cut_up_to = position;
        self.cut = Some(AbortOnDropHandle::new(tokio::spawn(cut_log(self.store.clone(), position))));
    }

    fn announce(&self, position: i64, rebuilding: bool) {
        metrics::counter!("trawl_index_position").absolute(u64::try_from(position).unwrap_or_default());
        self.announce.send_modify(|progress| {
            progress.position = position;
            progress.rebuilding = rebuilding;
        });
    }
}

async fn cut_log(store: Store, position: i64) {
    loop {
        let cut = store.write(move |transaction| {
            Box::pin(async move { Ok(change_log::remove_up_to(transaction, position, CUT_ENTRIES).await?) })
        });
        match cut.await {
            Ok(removed) if removed < CUT_ENTRIES => return,
            Ok(_) => {}
            // What stays is removed with the next cut.
            Err(error) => {
                tracing::warn!(%error, "the change log could not be cut");
                return;
            }
        }
    }
}
