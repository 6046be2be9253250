//! Progress of the index, to wait for and as metrics.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use trawl_engine::Health;
use trawl_search::{latencies::Latencies, sources::builtin::RebuildProgress};

use crate::{
    index_progress::{Progress, Rebuild},
    store::commits::Commits,
};

/// Time from commit to searchable, per recent batch by its oldest change. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Freshness(pub(super) Arc<Mutex<Latencies>>);

/// Clones announce the same index.
#[derive(Clone)]
pub(super) struct Announcer {
    progress: watch::Sender<Progress>,
    commits: Arc<Commits>,
    freshness: Freshness,
}

impl Announcer {
    pub(super) fn new(commits: Arc<Commits>, freshness: Freshness) -> Self {
        Self { progress: watch::Sender::default(), commits, freshness }
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    pub(super) fn reach(&self, position: i64) {
        metrics::counter!("trawl_index_position").absolute(u64::try_from(position).unwrap_or_default());
        if let Some(committed) = self.commits.take_up_to(position) {
            self.freshness.0.lock().unwrap_or_else(PoisonError::into_inner).add(committed.elapsed());
        }
        self.progress.send_modify(|progress| progress.position = position);
    }

    pub(super) fn catch_up(&self) {
        self.progress.send_if_modified(|progress| !std::mem::replace(&mut progress.caught_up, true));
    }

    pub(super) fn fail(&self) {
        self.progress.send_modify(|progress| progress.caught_up = false);
    }

    pub(super) fn now(&self) -> Progress {
        self.progress.borrow().clone()
    }

    pub(super) fn begin_rebuild(&self, position: i64, rebuilt: &RebuildProgress, is_beside: bool) {
        self.change(|progress| {
            progress.position = position;
            progress.rebuild = if is_beside { Rebuild::Beside } else { Rebuild::InPlace };
        });
        self.report_rebuild(rebuilt);
    }

    pub(super) fn report_rebuild(&self, rebuilt: &RebuildProgress) {
        let (done, known) = (rebuilt.done(), rebuilt.known());
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 items")]
        let [done_gauge, known_gauge] = [done as f64, known as f64];
        metrics::gauge!("trawl_index_rebuild_items_done").set(done_gauge);
        metrics::gauge!("trawl_index_rebuild_items_known").set(known_gauge);
        self.progress.send_modify(|progress| {
            (progress.items_done, progress.items_known) = (done, known);
        });
    }

    pub(super) fn give_up(&self) {
        self.change(|progress| progress.rebuild = Rebuild::Failed);
    }

    /// Announces a rebuild of the leader.
    pub(super) fn follow_leader(&self, rebuild: Rebuild, items: &RebuildProgress) {
        self.change(|progress| {
            progress.rebuild = rebuild;
            if progress.is_rebuilding() {
                (progress.items_done, progress.items_known) = (items.done(), items.known());
            }
        });
    }

    /// Sets whether a failure leaves the server ready.
    ///
    /// Each run of an engine calls it. It is true once all replicas share its index, and it is level.
    pub(super) fn set_stays_ready(&self, stays_ready: bool) {
        self.progress.send_if_modified(|progress| {
            std::mem::replace(&mut progress.stays_ready, stays_ready) != stays_ready
        });
    }

    /// Returns whether it is another one.
    pub(super) fn set_health(&self, health: &Health) -> bool {
        self.progress.send_if_modified(|progress| {
            let is_new = progress.health != *health;
            progress.health.clone_from(health);
            is_new
        })
    }

    pub(super) fn end_rebuild(&self, position: i64) {
        self.change(|progress| {
            if progress.is_rebuilding() {
                progress.rebuild = Rebuild::None;
            }
        });
        self.reach(position);
    }

    /// Changes the progress, and the gauge of a rebuild with it.
    fn change(&self, change: impl FnOnce(&mut Progress)) {
        self.progress.send_if_modified(|progress| {
            let before = progress.clone();
            change(progress);
            metrics::gauge!("trawl_index_rebuilding").set(u8::from(progress.is_rebuilding()));
            *progress != before
        });
    }
}
