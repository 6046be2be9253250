//! An index that one replica fills and whose commits others follow.
//!
//! The leader holds a lease. A leader that lost it is refused by the index, as its successor has raised the epoch; the
//! lease keeps it from trying again.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use trawl_engine::{BesideIndexes, Engine as _, Failure, Health, Indexes, OpenedIndex, Sink};
use trawl_opensearch::{GenerationProgress, OpenSearch, OpenSearchIndexes, SharedProgress};
use trawl_search::sources::builtin::Incompleteness;

use super::{
    context::{EngineContext, Outputs},
    follower::Follower,
    rebuild::RebuildScan,
    rebuild_request::{Ask, RebuildRefusal, pass_on},
};
use crate::{auth::tenants, error::Result, index_progress::Rebuild, replicas::Lease, store::Store};

const LEASE: &str = "index";

/// Interval at which the leader and its successors check the lease.
const LEASE_INTERVAL: Duration = Duration::from_secs(3);

/// Interval between reads of the leader's commits while changes are not searchable.
const BEHIND_INTERVAL: Duration = Duration::from_millis(20);
const IDLE_INTERVAL: Duration = Duration::from_secs(1);

/// Time for which changes wait until their leader counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// Time after which a rebuild that vanished counts as failed.
///
/// A new leader begins an interrupted one again before.
const FAILED_AFTER: Duration = Duration::from_secs(30);

/// Time in which a stopping leader ends its write or gives up.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

const HEALTH_INTERVAL: Duration = Duration::from_secs(3);

pub(super) struct SharedRun {
    context: Arc<EngineContext>,
    outputs: Outputs,
    engine: OpenSearch,
    asks: mpsc::Receiver<Ask>,
    /// The request to answer once the leader has begun the rebuild.
    asked: Option<Ask>,
    rebuild: bool,
    stop: CancellationToken,
    /// The leader's last position, and when it was first seen.
    seen: (i64, Instant),
    seen_rebuild: SeenRebuild,
}

/// The leader's last rebuild, as a standby sees it.
#[derive(Default)]
struct SeenRebuild {
    /// Number of its generation, and when it was last seen.
    last: Option<(u64, Instant)>,
}

/// A standby's last look at the leader's commits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Nothing is expected before the next change.
    Level,
    Behind,
    /// The index has no commit, or the cluster did not answer.
    Unknown,
}

impl SharedRun {
    pub(super) fn new(
        context: &Arc<EngineContext>,
        engine: &OpenSearch,
        outputs: Outputs,
        asks: mpsc::Receiver<Ask>,
        rebuild: bool,
        stop: CancellationToken,
    ) -> Self {
        Self {
            context: Arc::clone(context),
            outputs,
            engine: engine.clone(),
            asks,
            asked: None,
            rebuild,
            stop,
            seen: (0, Instant::now()),
            seen_rebuild: SeenRebuild::default(),
        }
    }

    /// Serves the index early where possible; returns the work that goes on.
    pub(super) async fn start(mut self) -> impl Future<Output = ()> + Send + use<> {
        let mut term = self.begin_term().await;
        match &mut term {
            Some(term) => term.follower.prepare_early().await,
            None => drop(self.take_commit().await),
        }
        self.run(term)
    }

    async fn run(mut self, mut term: Option<LeaderTerm>) {
        let health = watch_health(self.engine.clone(), self.outputs.clone());
        let _health = AbortOnDropHandle::new(tokio::spawn(health));
        while !self.stop.is_cancelled() {
            match term.take() {
                Some(term) => self.lead(term).await,
                None => self.follow_leader().await,
            }
            if !self.stop.is_cancelled() {
                term = self.begin_term().await;
            }
        }
        if let Some(LeaderTerm { lease, .. }) = term {
            release(lease).await;
        }
    }

    /// Becomes the leader, unless another replica is.
    async fn begin_term(&mut self) -> Option<LeaderTerm> {
        let acquired = async {
            let Some(lease) = self.context.leases.try_acquire(LEASE).await? else { return Ok(None) };
            let own_tenants = own_tenants(&self.context.rows.store, &self.context.own_indexes).await?;
            Ok(Some((lease, own_tenants)))
        };
        let acquired: Result<_> = acquired.await;
        let (lease, own_tenants) = acquired.unwrap_or_else(|error| {
            tracing::warn!(%error, "the lease of the index could not be taken");
            None
        })?;
        let (over, lease) = (self.stop.child_token(), Arc::new(lease));
        let mut indexes = OpenSearchIndexes::new(self.engine.clone());
        indexes.set_own_tenants(own_tenants);
        let indexes = LeasedIndexes { indexes, lease: Arc::clone(&lease), over: over.clone() };
        let (asks, asked) = mpsc::channel(1);
        let rebuild = std::mem::take(&mut self.rebuild);
        let follower =
            Follower::new(&self.context, Box::new(indexes), &self.outputs, asked, rebuild, over.clone());
        Some(LeaderTerm { follower, asks, lease, over })
    }

    /// Fills the index until the lease is lost.
    async fn lead(&mut self, term: LeaderTerm) {
        let LeaderTerm { follower, asks, lease, over } = term;
        tracing::info!("this replica fills the shared index");
        // Every step of a leader may be its last one.
        let mut following = AbortOnDropHandle::new(tokio::spawn(follower.run()));
        let hanging = async {
            over.cancelled().await;
            sleep(STOP_TIMEOUT).await;
        };
        tokio::pin!(hanging);
        // An ask without a receiver is not taken up.
        let mut wanted: Option<oneshot::Receiver<_>> = None;
        let mut looks = interval(LEASE_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                followed = &mut following => {
                    if let Err(error) = followed {
                        tracing::error!(%error, "the indexer did not stop cleanly");
                    }
                    break;
                }
                () = &mut hanging => {
                    tracing::warn!("a write to the shared index did not end and is given up");
                    break;
                }
                Some(ask) = self.asks.recv() => pass_on(ask, &asks),
                _ = looks.tick() => {
                    match lease.is_held().await {
                        Ok(true) => {}
                        Ok(false) => over.cancel(),
                        Err(error) => tracing::warn!(%error, "the lease of the index could not be checked"),
                    }
                    // Another replica was asked for a rebuild.
                    let progress = self.engine.progress().await;
                    if progress.is_ok_and(|progress| progress.is_some_and(|progress| progress.rebuild_wanted)) {
                        let (ask, begun) = oneshot::channel();
                        wanted = Some(begun);
                        drop(asks.try_send(ask));
                    }
                }
            }
        }
        drop((wanted, following));
        tracing::info!("this replica no longer fills the shared index");
        release(lease).await;
    }

    /// Follows the leader's commits until the lease must be checked.
    async fn follow_leader(&mut self) {
        // Asked for by a flag at the start.
        if self.rebuild && self.engine.want_rebuild().await.is_ok() {
            self.rebuild = false;
        }
        let mut positions = self.context.rows.store.positions();
        let until = Instant::now() + LEASE_INTERVAL;
        loop {
            let look = self.take_commit().await;
            let is_urgent = look == Look::Behind || self.asked.is_some() && look == Look::Level;
            tokio::select! {
                () = sleep(if is_urgent { BEHIND_INTERVAL } else { IDLE_INTERVAL }) => {}
                changed = positions.changed(), if look == Look::Level => if changed.is_err() { return },
                Some(ask) = self.asks.recv() => self.want_rebuild(ask).await,
                () = sleep_until(until) => return,
                () = self.stop.cancelled() => return,
            }
        }
    }

    /// Serves and announces the leader's last commit.
    async fn take_commit(&mut self) -> Look {
        let Outputs { served, announcer } = &self.outputs;
        let (searched, beside, rebuild_wanted) = match self.engine.progress().await {
            Ok(Some(SharedProgress { served: Some(searched), beside, rebuild_wanted })) => {
                (searched, beside, rebuild_wanted)
            }
            Ok(_) => {
                served.withdraw("the index is not filled yet".to_owned());
                return Look::Unknown;
            }
            Err(Failure::Foreign(reason)) => {
                served.withdraw(reason);
                return Look::Unknown;
            }
            Err(failure) => {
                tracing::debug!(%failure, "the leader's commits are unknown");
                // Searches say that the engine is away.
                if announcer.now().position == 0 {
                    served.serve(Arc::new(self.engine.clone()), Some(Incompleteness::Behind));
                } else {
                    served.set_incompleteness(Some(&Incompleteness::Behind));
                }
                return Look::Unknown;
            }
        };
        let checkpoint = searched.checkpoint.as_ref();
        let last = *self.context.rows.store.positions().borrow();
        // Nothing is committed before the first change.
        let is_complete = checkpoint.map_or(last == 0, |checkpoint| checkpoint.complete);
        let position = checkpoint.map_or(0, |checkpoint| checkpoint.position);
        if self.seen.0 != position {
            self.seen = (position, Instant::now());
        }
        let is_level = position >= last;
        if is_level {
            self.seen.1 = Instant::now();
        }
        let is_stuck = self.seen.1.elapsed() >= STUCK_AFTER;
        let beside_number = beside.as_ref().map(|beside| beside.number);
        let rebuild = self.seen_rebuild.look(searched.number, beside_number, is_complete, Instant::now());
        let filled: &GenerationProgress = beside.as_ref().unwrap_or(&searched);
        let items = Arc::new(RebuildScan::progress_of(filled.note.as_deref()));
        let lack = if !is_complete {
            Some(Incompleteness::Rebuilding(Arc::clone(&items)))
        } else if is_stuck || !(is_level || announcer.now().caught_up) {
            Some(Incompleteness::Behind)
        } else {
            None
        };
        announcer.follow_leader(rebuild, &items);
        served.serve(Arc::new(self.engine.clone()), lack);
        announcer.reach(position);
        if is_level && is_complete {
            announcer.catch_up();
        }
        // The leader has begun it, and may have ended it already.
        if !rebuild_wanted && let Some(asked) = self.asked.take() {
            drop(asked.send(Ok(announcer.now())));
        }
        if is_level { Look::Level } else { Look::Behind }
    }

    async fn want_rebuild(&mut self, ask: Ask) {
        match self.engine.want_rebuild().await {
            Ok(()) => self.asked = Some(ask),
            Err(failure) => drop(ask.send(Err(RebuildRefusal::Unavailable(failure.to_string())))),
        }
    }
}

impl SeenRebuild {
    fn look(&mut self, searched: u64, beside: Option<u64>, is_complete: bool, now: Instant) -> Rebuild {
        if let Some(number) = beside {
            self.last = Some((number, now));
            return Rebuild::Beside;
        }
        match self.last {
            _ if !is_complete => Rebuild::InPlace,
            Some((number, seen)) if number > searched => {
                if now - seen < FAILED_AFTER {
                    Rebuild::Beside
                } else {
                    Rebuild::Failed
                }
            }
            Some(_) | None => Rebuild::None,
        }
    }
}

async fn watch_health(engine: OpenSearch, outputs: Outputs) {
    loop {
        let health = engine.health().await;
        let degradation = match &health {
            Health::Degraded(reason) => Some(reason.clone()),
            Health::Good | Health::Unavailable(_) => None,
        };
        if outputs.announcer.set_health(&health) {
            match &health {
                Health::Good => tracing::info!("all parts of the shared index can be searched"),
                Health::Degraded(reason) => tracing::warn!(reason, "the shared index has lost copies"),
                Health::Unavailable(reason) => tracing::error!(reason, "the shared index cannot be searched"),
            }
        }
        outputs.served.set_degradation(degradation);
        if outputs.announcer.now().is_ready() {
            outputs.announcer.set_stays_ready(true);
        }
        sleep(HEALTH_INTERVAL).await;
    }
}

async fn own_tenants(store: &Store, codes: &[String]) -> Result<Vec<i64>> {
    let mut ids = Vec::new();
    for code in codes {
        let tenant = tenants::find_by_code(store.reader(), code).await?;
        if tenant.is_none() {
            tracing::warn!(code, "engine.opensearch.own_indexes names no tenant");
        }
        ids.extend(tenant.map(|tenant| tenant.id));
    }
    Ok(ids)
}

/// This replica's time as the leader.
struct LeaderTerm {
    follower: Follower,
    /// Requests to the follower.
    asks: mpsc::Sender<Ask>,
    lease: Arc<Lease>,
    /// Cancelled when the lease is lost.
    over: CancellationToken,
}

async fn release(lease: Arc<Lease>) {
    if let Some(lease) = Arc::into_inner(lease) {
        lease.release().await;
    }
}

/// The indexes while this replica holds the lease.
struct LeasedIndexes {
    indexes: OpenSearchIndexes,
    lease: Arc<Lease>,
    over: CancellationToken,
}

impl LeasedIndexes {
    async fn check(&self) -> std::result::Result<(), Failure> {
        match self.lease.is_held().await {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.over.cancel();
                Err(Failure::Unavailable("another replica fills the index".to_owned()))
            }
            Err(error) => Err(Failure::Unavailable(error.to_string())),
        }
    }
}

#[async_trait]
impl Indexes for LeasedIndexes {
    async fn open(&mut self) -> std::result::Result<OpenedIndex, Failure> {
        self.check().await?;
        self.indexes.open().await
    }

    async fn open_wiped(&mut self) -> std::result::Result<Box<dyn Sink>, Failure> {
        self.check().await?;
        self.indexes.open_wiped().await
    }

    async fn open_replacement(
        &mut self,
        searched: Box<dyn Sink>,
    ) -> std::result::Result<BesideIndexes, Failure> {
        self.check().await?;
        self.indexes.open_replacement(searched).await
    }

    async fn swap(&mut self, indexes: BesideIndexes) -> std::result::Result<(), Failure> {
        self.check().await?;
        self.indexes.swap(indexes).await
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::{FAILED_AFTER, Rebuild, SeenRebuild};

    #[test]
    fn vanished_rebuild_has_failed_unless_begun_again() {
        let (mut seen, now) = (SeenRebuild::default(), Instant::now());
        let mut look = |searched, beside, now| seen.look(searched, beside, true, now);
        assert_eq!(look(1, None, now), Rebuild::None);
        assert_eq!(look(1, Some(2), now), Rebuild::Beside);
        assert_eq!(look(2, None, now), Rebuild::None);
        assert_eq!(look(2, Some(3), now), Rebuild::Beside);
        assert_eq!(look(2, None, now), Rebuild::Beside);
        assert_eq!(look(2, Some(4), now + FAILED_AFTER), Rebuild::Beside);
        assert_eq!(look(2, None, now + FAILED_AFTER), Rebuild::Beside);
        assert_eq!(look(2, None, now + FAILED_AFTER * 2), Rebuild::Failed);
        assert_eq!(look(2, Some(5), now + FAILED_AFTER * 2), Rebuild::Beside);
        assert_eq!(look(5, None, now + FAILED_AFTER * 2), Rebuild::None);
    }

    #[test]
    fn searched_index_that_is_not_complete_is_rebuilt_in_place() {
        let look = SeenRebuild::default().look(1, None, false, Instant::now());
        assert_eq!(look, Rebuild::InPlace);
    }
}
