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
    confined::process::Readers,
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
        readers: Readers,
        at_once: usize,
    ) -> Result<Self, SettingsError> {
        let stop = CancellationToken::new();
        let feeds = FeedClient::new(&state.addresses)?;
        let runner =
            Arc::new(Runner { state: state.clone(), feeds, hosts: Hosts::default(), texts, readers });
        let leader = Leader { runner, leases, at_once, runs: JoinSet::new(), hosts: HashMap::new() };
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
    /// Hosts of the runs under way.
    hosts: HashMap<Id, String>,
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
                self.hosts.clear();
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
                    self.hosts.remove(&id);
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
            let without: HashSet<&String> =
                self.hosts.values().chain(resting.iter().map(|(host, _)| host)).collect();
            let without: Vec<String> = without.into_iter().cloned().collect();
            let due = repo::due(reader, now, &without, free as u64).await?;
            if due.is_empty() {
                let next = repo::next_due(reader, now).await?;
                let next = resting.into_iter().map(|(_, until)| until).chain(next).min();
                let pause = next.map_or(LOOK_INTERVAL, |next| {
                    Duration::from_millis(u64::try_from(next - now).unwrap_or_default())
                });
                return Ok(pause.clamp(MIN_PAUSE, LOOK_INTERVAL));
            }
            for row in due {
                if self.hosts.values().any(|host| *host == row.host) {
                    continue;
                }
                let (host, runner, fence) = (row.host.clone(), Arc::clone(&runner), fence.clone());
                let started = self.runs.spawn(async move { run(&runner, row, fence).await });
                self.hosts.insert(started.id(), host);
            }
        }
    }
}
