//! A write job's transaction, and the effects of its commit.

use std::{
    collections::BTreeSet,
    ops::Deref,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, watch};

use super::{
    Connection,
    change_log::{self, ItemKey},
    commits::Commits,
    generations::{Cached, Generations},
};
use crate::error::Result;

/// The future of a write job, which borrows the transaction.
pub type WriteFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

type AfterCommit = Box<dyn FnOnce() + Send>;

/// Effects of a request beside its rows.
#[derive(Default)]
pub(super) struct Effects {
    pub(super) changed: Vec<ItemKey>,
    pub(super) stale: BTreeSet<Cached>,
    needs_maintenance: bool,
    after_commit: Vec<AfterCommit>,
}

/// The writer's transaction for one request: a connection and the change log.
pub struct Transaction {
    pub(super) connection: Connection,
    effects: Mutex<Effects>,
}

impl Transaction {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, effects: Mutex::default() }
    }

    /// Adds a searchable item to the change log, in this transaction.
    pub fn record_change(&self, tenant_id: i64, module: &str, item_id: &str) {
        let item = ItemKey { tenant_id, module: module.to_owned(), item_id: item_id.to_owned() };
        self.effects().changed.push(item);
    }

    /// Adds the removal of a tenant's searchable items to the change log.
    pub fn record_tenant_removal(&self, tenant_id: i64) {
        self.record_change(tenant_id, change_log::WHOLE_TENANT, "");
    }

    /// Makes cached data stale at every replica before the answer.
    ///
    /// It does so even if the caller has gone away.
    pub fn invalidate(&self, cached: Cached) {
        self.effects().stale.insert(cached);
    }

    /// Wakes maintenance after the commit.
    pub fn request_maintenance(&self) {
        self.effects().needs_maintenance = true;
    }

    /// Runs `job` between commit and answer, even if the caller is gone.
    ///
    /// A rolled-back request drops the job. It runs on the writer: it must be short and must not block.
    pub fn after_commit(&self, job: impl FnOnce() + Send + 'static) {
        self.effects().after_commit.push(Box::new(job));
    }

    fn effects(&self) -> MutexGuard<'_, Effects> {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take_effects(&self) -> Effects {
        std::mem::take(&mut self.effects())
    }
}

impl Deref for Transaction {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

/// Signals of commits to the rest of the process.
#[derive(Clone)]
pub(super) struct Signals {
    /// The change log's last committed position.
    pub(super) positions: watch::Sender<i64>,
    pub(super) commits: Arc<Commits>,
    pub(super) generations: Arc<Generations>,
    pub(super) maintenance: Arc<Notify>,
}

impl Signals {
    pub(super) fn new(last_position: i64) -> Self {
        Self {
            positions: watch::Sender::new(last_position),
            commits: Arc::default(),
            generations: Arc::default(),
            maintenance: Arc::default(),
        }
    }

    pub(super) fn send(&self, effects: Effects) {
        self.generations.raise(effects.stale);
        if effects.needs_maintenance {
            self.maintenance.notify_one();
        }
        for job in effects.after_commit {
            if std::panic::catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!("a job after a commit panicked");
            }
        }
    }
}
