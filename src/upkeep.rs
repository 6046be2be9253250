//! What has to be done now and then and for no request in particular, one after the other on one task: rows of tenants, groups
//! and folders that are gone, messages of groups that came to another tenant, files whose documents changed with a folder's name
//! or a text, when applications were last used, what has expired, contents that no file has any more.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    audit::kept,
    auth::{revocations, tenants, tokens::Tokens, usage::Usage},
    error::Result,
    indexer::BulkGate,
    platform::{
        directories,
        files::{abandoned, following},
        groups, robots,
        tenants::removal,
    },
    storage::contents::{self, Contents},
    store::Store,
};

/// Between two rounds, unless one is asked for.
const EVERY: Duration = Duration::from_secs(30);

/// Portions of groups' histories, and of files that changed together, that are followed before everything else has its turn again.
const PORTIONS_OF_HISTORY: usize = 20;

/// The running upkeep.
pub struct Upkeep {
    rounds: Arc<Rounds>,
    wake: Arc<Notify>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// What a round needs.
pub(crate) struct Rounds {
    pub(crate) store: Store,
    pub(crate) usage: Arc<Usage>,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) keep_days: u32,
    pub(crate) upload_hours: u32,
    pub(crate) bulk: BulkGate,
    pub(crate) contents: Arc<Contents>,
    pub(crate) stop: CancellationToken,
}

impl Upkeep {
    /// Starts it; what an earlier process left undone comes first.
    pub(crate) fn start(rounds: Rounds) -> Self {
        let (rounds, wake) = (Arc::new(rounds), Arc::new(Notify::new()));
        let task = tokio::spawn(run(Arc::clone(&rounds), Arc::clone(&wake)));
        Self { rounds, wake, task: Mutex::new(Some(task)) }
    }

    /// Has a round begin soon.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// What has a round begin soon when it is notified.
    pub(crate) fn waker(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }

    /// Makes a round now, and ends with it.
    ///
    /// # Errors
    /// The first part of it that failed; the others are done all the same.
    pub async fn make_round(&self) -> Result<()> {
        self.rounds.make().await
    }

    /// Ends after what is in hand, and writes down what is only in memory. The rest is done after the next start.
    pub async fn stop(&self) {
        self.rounds.stop.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the upkeep did not end in order");
        }
        if let Err(error) = self.rounds.usage.write_down(&self.rounds.store).await {
            tracing::warn!(%error, "when applications were last used could not be written down");
        }
    }
}

async fn run(rounds: Arc<Rounds>, wake: Arc<Notify>) {
    while !rounds.stop.is_cancelled() {
        if let Err(error) = rounds.make().await {
            tracing::warn!(%error, "a round of the upkeep failed; it is tried again");
        }
        tokio::select! {
            () = rounds.stop.cancelled() => {}
            () = wake.notified() => {}
            () = tokio::time::sleep(EVERY) => {}
        }
    }
}

impl Rounds {
    async fn make(&self) -> Result<()> {
        loop {
            let removed =
                self.remove_tenants().await.and(self.remove_groups().await).and(self.remove_folders().await);
            let written = self.usage.write_down(&self.store).await;
            let keys = self.tokens.remove_old_keys().await;
            let expired = self.remove_expired().await;
            let unnamed = self.remove_unnamed().await;
            // Last, as it may have to wait for the index.
            let followed = self.follow_groups().await;
            let recorded = self.follow_files().await;
            removed.and(written).and(keys).and(expired).and(unnamed)?;
            if followed? && recorded? {
                return Ok(());
            }
        }
    }

    async fn remove_expired(&self) -> Result<()> {
        while !self.stop.is_cancelled() && !revocations::remove_expired(&self.store).await? {}
        while !self.stop.is_cancelled() && !abandoned::remove_old(&self.store, self.upload_hours).await? {}
        while !self.stop.is_cancelled() && !kept::remove_old(&self.store, self.keep_days).await? {}
        Ok(())
    }

    /// Contents that no file has any more, and what is left of uploads.
    async fn remove_unnamed(&self) -> Result<()> {
        let doubtful = self.contents.remove_doubtful(&self.store, &self.stop).await;
        doubtful.and(contents::discard_leftovers(&self.contents, &self.store).await)
    }

    async fn remove_tenants(&self) -> Result<()> {
        let mut outcome = Ok(());
        for tenant_id in tenants::removed(self.store.reader()).await? {
            // What fails with one is no reason to leave the others' rows.
            outcome = outcome.and(self.remove_tenant(tenant_id).await);
        }
        outcome
    }

    async fn remove_groups(&self) -> Result<()> {
        while !self.stop.is_cancelled() && !groups::model::remove_portion(&self.store).await? {}
        Ok(())
    }

    async fn remove_folders(&self) -> Result<()> {
        while !self.stop.is_cancelled() && !directories::removal::remove_portion(&self.store).await? {}
        Ok(())
    }

    /// Some portions of groups' histories, so that a long one holds up nothing else. Answers whether that was the last.
    async fn follow_groups(&self) -> Result<bool> {
        for _ in 0..PORTIONS_OF_HISTORY {
            if self.stop.is_cancelled() || robots::following::follow_portion(&self.store).await? {
                return Ok(true);
            }
            // What others write meanwhile is not to wait in the change log behind a whole history.
            tokio::select! {
                () = self.stop.cancelled() => return Ok(true),
                room = self.bulk.wait_for_room(robots::following::PORTION) => room?,
            }
        }
        Ok(false)
    }

    /// The same, of files below folders that were renamed, and of files whose text came.
    async fn follow_files(&self) -> Result<bool> {
        for _ in 0..PORTIONS_OF_HISTORY {
            if self.stop.is_cancelled() || following::follow_portion(&self.store).await? {
                return Ok(true);
            }
            tokio::select! {
                () = self.stop.cancelled() => return Ok(true),
                room = self.bulk.wait_for_room(following::PORTION) => room?,
            }
        }
        Ok(false)
    }

    async fn remove_tenant(&self, tenant_id: i64) -> Result<()> {
        while !self.stop.is_cancelled() {
            if removal::remove_portion(&self.store, tenant_id).await? {
                tracing::info!(tenant_id, "the last rows of a deleted tenant are removed");
                break;
            }
        }
        Ok(())
    }
}
