//! Starts due runs, at one replica at a time.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    task::{Id, JoinHandle, JoinSet},
};
use tokio_util::sync::CancellationToken;
use trawl_connectors::{FeedClient, SettingsError};

use super::{SubscriptionsState, execution::run, hosts::Hosts, repo, run::Runner};
use crate::{
    blobs::extraction::process::TextReader,
    config,
    confined::process::ReaderProcesses,
    error::Result,
    replicas::{Fence, Lease, Leases},
};

/// Interval between looks for runs that are due or requested elsewhere.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// A clock that stands still is not asked more often.
const MIN_PAUSE: Duration = Duration::from_millis(100);
const LEASE: &str = "subscriptions";

/// Runs subscriptions in the background.
pub struct Scheduler {
    state: SubscriptionsState,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Scheduler {
    /// Starts with the runs that are due. Fails without an HTTP client on this machine.
    pub(crate) fn start(
        state: SubscriptionsState,
        leases: Leases,
        texts: TextReader,
        readers: ReaderProcesses,
        &config::Subscriptions { at_once, run_seconds, .. }: &config::Subscriptions,
    ) -> Result<Self, SettingsError> {
        let stop = CancellationToken::new();
        let feeds = FeedClient::new(&state.addresses)?;
        let (hosts, max_run_time) = (Hosts::default(), Duration::from_secs(run_seconds));
        let runner = Runner { state: state.clone(), feeds, hosts, max_run_time, texts, readers };
        let leader =
            Leader { runner: Arc::new(runner), leases, at_once, runs: JoinSet::new(), begun: HashMap::new() };
        let task = tokio::spawn(leader.lead(Arc::clone(&state.wake), stop.clone()));
        Ok(Self { state, stop, task: Mutex::new(Some(task)) })
    }

    /// Looks for due runs at once.
    pub fn wake(&self) {
        self.state.wake.notify_one();
    }

    pub(crate) fn state(&self) -> &SubscriptionsState {
        &self.state
    }

    /// Cuts runs off; they begin again after the next start.
    pub async fn stop(&self) {
        self.stop.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the scheduler of subscriptions did not stop cleanly");
        }
    }
}

struct Leader {
    runner: Arc<Runner>,
    leases: Leases,
    at_once: usize,
    runs: JoinSet<()>,
    begun: HashMap<Id, BegunRun>,
}

/// The tenant and the host of a run under way.
struct BegunRun {
    tenant_id: i64,
    host: String,
}

impl Leader {
    async fn lead(mut self, wake: Arc<Notify>, stop: CancellationToken) {
        let mut lease: Option<Lease> = None;
        while !stop.is_cancelled() {
            let was_held = lease.is_some();
            lease = self.leases.lead(LEASE, lease).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the lease of subscriptions could not be checked");
                None
            });
            let pause = if let Some(held) = &lease {
                self.start_due(held.fence(), !was_held).await.unwrap_or_else(|error| {
                    tracing::warn!(%error, "due subscriptions could not be read");
                    LOOK_INTERVAL
                })
            } else {
                self.runs.shutdown().await;
                self.begun.clear();
                LOOK_INTERVAL
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = wake.notified() => {}
                Some(ended) = self.runs.join_next_with_id() => {
                    let id = match &ended {
                        Ok((id, ())) => *id,
                        Err(error) => {
                            tracing::error!(%error, "a run of a subscription panicked");
                            error.id()
                        }
                    };
                    self.begun.remove(&id);
                }
                () = tokio::time::sleep(pause) => {}
            }
        }
        self.runs.shutdown().await;
        if let Some(lease) = lease {
            lease.release().await;
        }
    }

    /// Starts due runs while there is room; returns when to look again.
    async fn start_due(&mut self, fence: Fence, is_new: bool) -> Result<Duration> {
        let runner = Arc::clone(&self.runner);
        let (reader, clock, hosts) =
            (runner.state.contents.store.reader(), &runner.state.clock, &runner.hosts);
        if is_new {
            for (host, until) in repo::resting(reader, clock.now()).await? {
                hosts.rest(&host, until);
            }
        }
        loop {
            let free = self.at_once.saturating_sub(self.runs.len());
            let now = clock.now();
            let resting = hosts.resting(now);
            if free == 0 {
                return Ok(LOOK_INTERVAL);
            }
            let begun = self.begun.values().map(|begun| &begun.host);
            let without_hosts: HashSet<&String> = begun.chain(resting.iter().map(|(host, _)| host)).collect();
            let without_hosts: Vec<String> = without_hosts.into_iter().cloned().collect();
            let tenants: HashSet<i64> = self.begun.values().map(|begun| begun.tenant_id).collect();
            let without_tenants: Vec<String> =
                tenants.into_iter().filter(|id| self.is_served(*id)).map(|id| id.to_string()).collect();
            let due = repo::due(reader, now, (&without_tenants, &without_hosts), free as u64).await?;
            if due.is_empty() {
                let next = repo::next_due(reader, now).await?;
                let next = resting.into_iter().map(|(_, until)| until).chain(next).min();
                let pause = next.map_or(LOOK_INTERVAL, |next| {
                    Duration::from_millis(u64::try_from(next - now).unwrap_or_default())
                });
                return Ok(pause.clamp(MIN_PAUSE, LOOK_INTERVAL));
            }
            for row in due {
                if self.is_served(row.tenant_id) || self.begun.values().any(|begun| begun.host == row.host) {
                    continue;
                }
                let begun = BegunRun { tenant_id: row.tenant_id, host: row.host.clone() };
                let (runner, fence) = (Arc::clone(&runner), fence.clone());
                let started = self.runs.spawn(async move { run(&runner, row, fence).await });
                self.begun.insert(started.id(), begun);
            }
        }
    }

    /// Whether a tenant has its share of the runs: three quarters, so that its slow sources keep no other tenant waiting.
    fn is_served(&self, tenant_id: i64) -> bool {
        let runs = self.begun.values().filter(|begun| begun.tenant_id == tenant_id).count();
        runs >= self.at_once - self.at_once / 4
    }
}
