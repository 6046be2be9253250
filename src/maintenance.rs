//! Background maintenance that belongs to no request.
//!
//! One task works on rows: removed tenants, groups and folders, outdated documents, usage times, expired data. A second
//! task removes unreferenced contents and leftovers of uploads, because their store may be slow or unavailable.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use trawl_search::{clock::Clock, figures::Figures};

use crate::{
    audit::records,
    auth::{revoked_tokens, sessions::Sessions, tenants, tokens::Tokens, usage::LastUses},
    blobs::contents::{self, Contents},
    error::Result,
    figures,
    index_progress::BulkGate,
    platform::{
        files::{expired_uploads, reindexing},
        folders, groups, insights, robots,
        subscriptions::upkeep,
        tenants::removal,
    },
    replicas::{Lease, Leases},
    store::Store,
};

/// Interval between rounds.
const INTERVAL: Duration = Duration::from_secs(30);

/// Portions of one part before the next part has its turn.
const PORTIONS: usize = 20;

/// Runs maintenance in the background.
pub struct Maintenance {
    jobs: Arc<Jobs>,
    wake: Arc<Notify>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

pub(crate) struct Jobs {
    pub(crate) store: Store,
    pub(crate) usage: Arc<LastUses>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) figures: Arc<Figures>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) keep_days: u32,
    pub(crate) upload_hours: u32,
    pub(crate) bulk: BulkGate,
    pub(crate) contents: Arc<Contents>,
    pub(crate) leases: Leases,
    pub(crate) stop: CancellationToken,
}

impl Maintenance {
    /// Starts with the work left by an earlier process.
    pub(crate) fn start(jobs: Jobs) -> Self {
        let wake = jobs.store.maintenance_requests();
        let jobs = Arc::new(jobs);
        let over = Arc::new(Notify::new());
        let tasks = vec![
            tokio::spawn(run_rows(Arc::clone(&jobs), Arc::clone(&wake), Arc::clone(&over))),
            tokio::spawn(run_contents(Arc::clone(&jobs), over)),
        ];
        Self { jobs, wake, tasks: Mutex::new(tasks) }
    }

    /// Requests a round.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Runs one round to its end.
    ///
    /// # Errors
    /// The first failure; the other parts run regardless.
    pub async fn make_round(&self) -> Result<()> {
        let rows = self.jobs.make_rows(None).await;
        rows.and(self.jobs.make_contents(None).await)
    }

    /// Stops after the current portion and saves usage times and figures.
    pub async fn stop(&self) {
        self.jobs.stop.cancel();
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "a maintenance task did not stop cleanly");
            }
        }
        if let Err(error) = self.jobs.write_usage().await {
            tracing::warn!(%error, "usage times or figures could not be saved");
        }
    }
}

/// Notifies `over` after each round, as removed files may have left contents.
async fn run_rows(jobs: Arc<Jobs>, wake: Arc<Notify>, over: Arc<Notify>) {
    let mut lease = None;
    while !jobs.stop.is_cancelled() {
        lease = jobs.lead("maintenance", lease).await;
        let made = match &lease {
            Some(lease) => jobs.make_rows(Some(lease)).await,
            None => jobs.write_usage().await,
        };
        if let Err(error) = made {
            tracing::warn!(%error, "a maintenance round failed and will be retried");
        }
        over.notify_one();
        jobs.pause(&wake).await;
    }
}

async fn run_contents(jobs: Arc<Jobs>, wake: Arc<Notify>) {
    let mut lease = None;
    while !jobs.stop.is_cancelled() {
        jobs.pause(&wake).await;
        lease = jobs.lead("contents", lease).await;
        if lease.is_some()
            && let Err(error) = jobs.make_contents(lease.as_ref()).await
        {
            tracing::warn!(%error, "some unreferenced contents could not be removed and will be retried");
        }
    }
}

/// Parts of a round, in order.
///
/// Those that may wait for the index come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Tenants,
    Groups,
    Folders,
    Sessions,
    Keys,
    Revocations,
    Uploads,
    Audit,
    Figures,
    Insights,
    Leases,
    Subscriptions,
    Histories,
    Files,
}

const PARTS: [Job; 14] = [
    Job::Tenants,
    Job::Groups,
    Job::Folders,
    Job::Sessions,
    Job::Keys,
    Job::Revocations,
    Job::Uploads,
    Job::Audit,
    Job::Figures,
    Job::Insights,
    Job::Leases,
    Job::Subscriptions,
    Job::Histories,
    Job::Files,
];

async fn is_lost(lease: Option<&Lease>) -> Result<bool> {
    let Some(lease) = lease else { return Ok(false) };
    Ok(!lease.is_held().await?)
}

impl Jobs {
    /// Returns the lease of work if this replica does it.
    async fn lead(&self, name: &str, lease: Option<Lease>) -> Option<Lease> {
        self.leases.lead(name, lease).await.unwrap_or_else(|error| {
            tracing::warn!(%error, name, "a lease could not be checked");
            None
        })
    }

    async fn pause(&self, wake: &Notify) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = wake.notified() => {}
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }

    /// Runs all parts until nothing is left or the lease is lost.
    ///
    /// Failed parts wait for the next round.
    async fn make_rows(&self, lease: Option<&Lease>) -> Result<()> {
        let (mut parts, mut outcome) = (PARTS.to_vec(), Ok(()));
        let mut is_done = false;
        while !is_done && !self.stop.is_cancelled() {
            is_done = true;
            for part in std::mem::take(&mut parts) {
                if is_lost(lease).await? {
                    return outcome;
                }
                match self.make(part).await {
                    Ok(is_last) => {
                        is_done &= is_last;
                        parts.push(part);
                    }
                    Err(error) => outcome = outcome.and(Err(error)),
                }
            }
        }
        outcome
    }

    /// Removes unreferenced contents and leftovers of uploads.
    async fn make_contents(&self, lease: Option<&Lease>) -> Result<()> {
        let mut is_done = false;
        while !is_done && !self.stop.is_cancelled() && !is_lost(lease).await? {
            let doubtful = self.contents.remove_doubtful(&self.store, &self.stop).await;
            let left = contents::discard_leftovers(&self.contents, &self.store, &self.stop).await;
            is_done = doubtful? & left?;
        }
        Ok(())
    }

    /// Runs some portions of a part; returns whether they were the last.
    async fn make(&self, part: Job) -> Result<bool> {
        let store = &self.store;
        for _ in 0..PORTIONS {
            if self.stop.is_cancelled() {
                return Ok(true);
            }
            let is_last = match part {
                Job::Tenants => return self.remove_tenants().await,
                Job::Sessions => {
                    // Unsaved usage times would make used sessions look expired.
                    self.write_usage().await?;
                    self.sessions.remove_expired(store).await?
                }
                Job::Keys => self.tokens.remove_old_keys().await.map(|()| true)?,
                Job::Groups => groups::service::remove_portion(store).await?,
                Job::Folders => folders::removal::remove_portion(store).await?,
                Job::Revocations => revoked_tokens::remove_expired(store).await?,
                Job::Uploads => expired_uploads::remove_old(store, self.upload_hours).await?,
                Job::Audit => records::remove_old(store, self.keep_days).await?,
                Job::Figures => figures::fold_portion(store, self.clock.now()).await?,
                Job::Insights => insights::service::remove_old(store, self.clock.now()).await?,
                Job::Leases => self.leases.remove_orphans().await.map(|()| true)?,
                Job::Subscriptions => upkeep::follow_portion(store, self.clock.now()).await?,
                Job::Histories => robots::backfill::follow_portion(store).await?,
                Job::Files => reindexing::follow_portion(store).await?,
            };
            if is_last {
                return Ok(true);
            }
            // Keeps other writes from waiting behind a long history in the change log.
            let portion = match part {
                Job::Subscriptions => upkeep::PORTION,
                Job::Histories => robots::backfill::PORTION,
                Job::Files => reindexing::PORTION,
                _ => continue,
            };
            tokio::select! {
                () = self.stop.cancelled() => return Ok(true),
                room = self.bulk.wait_for_room(portion) => room?,
            }
        }
        Ok(false)
    }

    async fn write_usage(&self) -> Result<()> {
        let applications = self.usage.write_down(&self.store).await;
        let sessions = self.sessions.write_down(&self.store).await;
        applications.and(sessions).and(figures::write_down(&self.store, &self.figures).await)
    }

    async fn remove_tenants(&self) -> Result<bool> {
        let (mut are_last, mut outcome) = (true, Ok(()));
        for tenant_id in tenants::removed(self.store.reader()).await? {
            match self.remove_tenant(tenant_id).await {
                Ok(is_last) => are_last &= is_last,
                // A failure must not keep the other tenants' rows.
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome.map(|()| are_last)
    }

    async fn remove_tenant(&self, tenant_id: i64) -> Result<bool> {
        for _ in 0..PORTIONS {
            if self.stop.is_cancelled() {
                return Ok(true);
            }
            if removal::remove_portion(&self.store, tenant_id).await? {
                tracing::info!(tenant_id, "all rows of a deleted tenant are removed");
                return Ok(true);
            }
        }
        Ok(false)
    }
}
