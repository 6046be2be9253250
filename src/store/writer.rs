//! The writer: gathers waiting requests into a transaction, so that many callers share one durable commit.
//!
//! A database runs one write transaction at a time, even for several servers, and each commit costs an fsync. Each request
//! runs in its own savepoint: a failing request undoes only itself. Each answer leaves after the commit that contains the
//! request is durable.

use std::{
    any::Any,
    collections::BTreeSet,
    io,
    ops::Deref,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures::FutureExt;
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    task::JoinHandle,
    time::timeout,
};

use super::{
    Connection, DatabaseAddress, DatabaseError,
    change_log::{self, Changes, ItemKey},
    commits::Commits,
    connection::{CommitStatus, TransactionId},
    dialect::Dialect,
    errors::{cannot_commit, cannot_write, is_unreachable, unknown_outcome},
    failover,
    generations::{self, Cached, Generations},
    observer,
};
use crate::{
    budget::BodyReservation,
    error::{Error, Kind, Result},
};

/// Further requests are refused with 503.
const QUEUE_LENGTH: usize = 1_024;

const GROUP_LENGTH: usize = 256;

/// PostgreSQL caches 64 subtransactions of a transaction; more slow down every reader.
const GROUP_LENGTH_ON_POSTGRES: usize = 64;

/// Time to learn whether a commit took place whose answer was lost.
const OUTCOME_TIMEOUT: Duration = Duration::from_secs(10);

const OUTCOME_INTERVAL: Duration = Duration::from_millis(100);

/// Time after which a group is closed, to bound the first request's wait.
const GROUP_TIME: Duration = Duration::from_millis(20);

/// The future of a write job, which borrows the transaction.
pub type WriteFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

pub(super) type Outcome = Box<dyn Any + Send>;

pub(super) type Job = Box<dyn for<'a> FnOnce(&'a Transaction) -> WriteFuture<'a, Outcome> + Send>;

type AfterCommit = Box<dyn FnOnce() + Send>;

/// Effects of a request beside its rows.
#[derive(Default)]
struct Effects {
    changed: Vec<ItemKey>,
    stale: BTreeSet<Cached>,
    needs_maintenance: bool,
    after_commit: Vec<AfterCommit>,
}

/// The writer's transaction as the running request sees it: a connection and the change log.
pub struct Transaction {
    connection: Connection,
    effects: Mutex<Effects>,
}

impl Transaction {
    fn new(connection: Connection) -> Self {
        Self { connection, effects: Mutex::default() }
    }

    /// Adds a searchable item to the change log, in this transaction.
    pub fn record_change(&self, tenant_id: i64, module: &str, item_id: &str) {
        let item = ItemKey { tenant_id, module: module.to_owned(), item_id: item_id.to_owned() };
        self.effects().changed.push(item);
    }

    /// Adds the removal of a tenant with all its searchable items to the change log.
    pub fn record_tenant_removal(&self, tenant_id: i64) {
        self.record_change(tenant_id, change_log::WHOLE_TENANT, "");
    }

    /// Makes cached data stale at every replica before the answer, even if the caller has gone away.
    pub fn invalidate(&self, cached: Cached) {
        self.effects().stale.insert(cached);
    }

    /// Wakes maintenance after the commit.
    pub fn request_maintenance(&self) {
        self.effects().needs_maintenance = true;
    }

    /// Runs `job` after the commit and before the answer, even if the caller has gone away.
    ///
    /// A rolled-back request drops the job. It runs on the writer: it must be short and must not block.
    pub fn after_commit(&self, job: impl FnOnce() + Send + 'static) {
        self.effects().after_commit.push(Box::new(job));
    }

    fn effects(&self) -> MutexGuard<'_, Effects> {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_effects(&self) -> Effects {
        std::mem::take(&mut self.effects())
    }
}

impl Deref for Transaction {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

struct Request {
    job: Job,
    answer: oneshot::Sender<Result<Outcome>>,
    /// The body's memory, which the job holds even if its caller has gone away.
    _reservation: Option<BodyReservation>,
}

struct Pending {
    answer: oneshot::Sender<Result<Outcome>>,
    result: Result<Outcome>,
    effects: Effects,
}

impl Pending {
    fn committed(self, signals: &Signals) {
        signals.send(self.effects);
        drop(self.answer.send(self.result));
    }

    fn failed(self, failure: &GroupFailure, signals: &Signals) {
        let error = match failure {
            GroupFailure::Undone(error) => cannot_commit(error),
            GroupFailure::Unknown(_) => {
                // The data may be stale.
                signals.send(self.effects);
                unknown_outcome()
            }
        };
        drop(self.answer.send(Err(error)));
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

    fn send(&self, effects: Effects) {
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

/// Why a group of writes was not committed.
#[derive(Debug, thiserror::Error)]
enum GroupFailure {
    #[error("undone: {0}")]
    Undone(#[from] DatabaseError),
    /// The server's answer to the commit was lost, and it could not be asked about it.
    #[error("unknown outcome: {0}")]
    Unknown(DatabaseError),
}

#[derive(Clone)]
pub(super) struct Writer {
    requests: mpsc::Sender<Request>,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
    closing: Arc<Notify>,
}

impl Writer {
    pub(super) fn start(connection: Connection, address: DatabaseAddress, signals: Signals) -> Self {
        let (requests, received) = mpsc::channel(QUEUE_LENGTH);
        let closing = Arc::new(Notify::new());
        let task = WriterTask {
            transaction: Transaction::new(connection),
            address,
            is_doubtful: false,
            requests: received,
            signals,
        };
        let task = tokio::spawn(task.run(Arc::clone(&closing)));
        Self { requests, task: Arc::new(Mutex::new(Some(task))), closing }
    }

    pub(super) fn waiting(&self) -> usize {
        self.requests.max_capacity() - self.requests.capacity()
    }

    pub(super) async fn write(&self, job: Job) -> Result<Outcome> {
        let (answer, answered) = oneshot::channel();
        let request = Request { job, answer, _reservation: BodyReservation::current() };
        self.requests.try_send(request).map_err(|refused| {
            let message = match refused {
                mpsc::error::TrySendError::Full(_) => "too many writes are waiting; nothing was changed",
                mpsc::error::TrySendError::Closed(_) => "the server is stopping; nothing was changed",
            };
            Error::unavailable(message, Duration::from_secs(1))
        })?;
        // Dropped unanswered: the transaction was not begun, or the savepoint failed.
        answered.await.map_err(|_| cannot_write())?
    }

    pub(super) async fn close(&self) {
        self.closing.notify_one();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the writer failed");
        }
    }
}

struct WriterTask {
    transaction: Transaction,
    address: DatabaseAddress,
    /// After a failure on the connection, the database may have ended the transaction or not.
    is_doubtful: bool,
    requests: mpsc::Receiver<Request>,
    signals: Signals,
}

impl WriterTask {
    async fn run(mut self, closing: Arc<Notify>) {
        loop {
            let first = tokio::select! {
                request = self.requests.recv() => request,
                () = closing.notified() => {
                    self.requests.close();
                    continue;
                }
            };
            let Some(first) = first else { break };
            self.write_group(first).await;
        }
        if let Err(error) = self.transaction.connection.close_writer().await {
            tracing::error!(%error, "the database did not close cleanly");
        }
    }

    async fn write_group(&mut self, first: Request) {
        let mut group = Vec::new();
        match self.run_group(first, &mut group).await {
            Ok(position) => {
                if let Some(position) = position {
                    self.signals.commits.add(position);
                    observer::advance(&self.signals.positions, position);
                }
                for request in group {
                    request.committed(&self.signals);
                }
            }
            Err(failure) => {
                tracing::error!(%failure, requests = group.len(), "a group of writes could not be committed");
                if !self.is_doubtful {
                    // Other processes may write again. It fails where the database has ended the transaction.
                    drop(self.transaction.run_script("ROLLBACK").await);
                    self.is_doubtful = true;
                }
                for request in group {
                    request.failed(&failure, &self.signals);
                }
            }
        }
    }

    /// Returns the last position in the change log if searchable items changed.
    ///
    /// Each hand-over to the driver takes time. One script therefore ends a request's savepoint and begins the next, and
    /// the commit ends the last one.
    async fn run_group(
        &mut self,
        first: Request,
        group: &mut Vec<Pending>,
    ) -> Result<Option<i64>, GroupFailure> {
        let started = Instant::now();
        let id = self.begin().await?;
        let (mut changes, mut stale) = (Changes::new(), BTreeSet::new());
        let mut next = Some(first);
        while let Some(Request { job, answer, _reservation }) = next {
            let outcome = AssertUnwindSafe(async { job(&self.transaction).await }).catch_unwind().await;
            let result = outcome.unwrap_or_else(|_| Err(Error::internal("a write panicked")));
            let mut request = Pending { answer, result, effects: self.transaction.take_effects() };
            let end = match &request.result {
                Ok(_) => {
                    stale.extend(request.effects.stale.iter().copied());
                    let items = std::mem::take(&mut request.effects.changed);
                    let count = items.len();
                    changes.extend(items.into_iter().zip(1..).map(|(item, number)| (item, number == count)));
                    "RELEASE request"
                }
                Err(error) if error.kind == Kind::Unavailable => {
                    // The database may have rolled back the whole transaction; on SQLite a later request would then
                    // commit by itself.
                    request.effects = Effects::default();
                    request.committed(&self.signals);
                    return Err(DatabaseError::Io(io::Error::other("a write of the group failed")).into());
                }
                Err(_) => {
                    request.effects = Effects::default();
                    "ROLLBACK TO request"
                }
            };
            let is_undone = request.result.is_err();
            group.push(request);
            let is_full = group.len() >= self.group_length() || started.elapsed() >= GROUP_TIME;
            next = if is_full { None } else { self.requests.try_recv().ok() };
            if next.is_some() {
                let begin = if is_undone { "" } else { "; SAVEPOINT request" };
                self.transaction.run_script(format!("{end}{begin}")).await?;
            } else if is_undone {
                self.transaction.run_script(end).await?;
            }
        }
        let position = change_log::append(&self.transaction, &changes).await?;
        generations::append(&self.transaction, &stale).await?;
        self.commit(id).await?;
        Ok(position)
    }

    fn group_length(&self) -> usize {
        match self.address.dialect() {
            Dialect::Sqlite => GROUP_LENGTH,
            Dialect::Postgres => GROUP_LENGTH_ON_POSTGRES,
        }
    }

    /// Begins a transaction and the savepoint of its first request.
    ///
    /// A server may have hung up since the last group, which a second connection tells.
    async fn begin(&mut self) -> Result<Option<TransactionId>, DatabaseError> {
        self.replace_doubtful_connection().await?;
        match self.transaction.begin("SAVEPOINT request").await {
            Err(error) if is_unreachable(&error) => {
                self.is_doubtful = true;
                self.replace_doubtful_connection().await?;
                self.transaction.begin("SAVEPOINT request").await
            }
            begun => begun,
        }
    }

    /// Commits the transaction. Where the server's answer is lost, it is asked about the outcome.
    async fn commit(&mut self, id: Option<TransactionId>) -> Result<(), GroupFailure> {
        let Err(error) = self.transaction.run_script("COMMIT").await else { return Ok(()) };
        let Some(id) = id else { return Err(GroupFailure::Undone(error)) };
        self.is_doubtful = true;
        match timeout(OUTCOME_TIMEOUT, self.outcome(&id)).await {
            Ok(CommitStatus::Committed) => Ok(()),
            Ok(CommitStatus::Aborted) => Err(GroupFailure::Undone(error)),
            Ok(CommitStatus::Unknown) | Err(_) => Err(GroupFailure::Unknown(error)),
        }
    }

    /// How a transaction of the lost connection ended, as soon as the server tells.
    async fn outcome(&mut self, id: &TransactionId) -> CommitStatus {
        loop {
            if let Err(error) = self.replace_doubtful_connection().await {
                tracing::warn!(%error, "the database does not tell the outcome of a commit yet");
            } else if let Ok(Some(status)) = self.transaction.commit_status(id).await {
                return status;
            } else {
                self.is_doubtful = true;
            }
            tokio::time::sleep(OUTCOME_INTERVAL).await;
        }
    }

    async fn replace_doubtful_connection(&mut self) -> Result<(), DatabaseError> {
        if self.is_doubtful {
            let fresh = Connection::open_writer(&self.address).await?;
            if fresh.dialect() == Dialect::Postgres {
                failover::follow_timeline(&fresh).await?;
            }
            let fresh = Transaction::new(fresh);
            let doubtful = std::mem::replace(&mut self.transaction, fresh);
            self.is_doubtful = false;
            if let Err(error) = doubtful.connection.close_writer().await {
                tracing::warn!(%error, "a connection that could not write did not close cleanly");
            }
        }
        Ok(())
    }
}
