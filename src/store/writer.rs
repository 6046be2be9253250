//! Gathers waiting requests into a transaction, so that callers share one commit.
//!
//! Each commit costs an fsync. Each request runs in its own savepoint: a failing request undoes only itself. Each answer
//! leaves after the commit that contains the request is durable.
//!
//! SQLite runs one write transaction at a time. So does PostgreSQL for jobs on rows of any tenant, even of several servers.
//! Jobs of a single tenant run beside those of others; the change log's end is written last, so only commits take turns.

use std::{
    any::Any,
    collections::BTreeSet,
    io,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures::FutureExt;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};
use uuid::Uuid;

use super::{
    Connection, DatabaseAddress, DatabaseError, Transaction, WriteFuture,
    change_log::{self, Changes},
    dialect::{Dialect, WriteScope},
    errors::{cannot_commit, cannot_write, is_unreachable, unknown_outcome},
    generations, now_millis, observer, sql,
    transaction::{Effects, Signals},
};
use crate::{
    budget::BodyReservation,
    error::{Error, ErrorKind, Result},
};

/// Further requests are refused with 503.
const QUEUE_LENGTH: usize = 1_024;

const GROUP_LENGTH: usize = 256;

/// PostgreSQL caches 64 subtransactions of a transaction; more slow down every reader.
const GROUP_LENGTH_ON_POSTGRES: usize = 64;

/// Time to learn whether a commit took place whose answer was lost.
const OUTCOME_TIMEOUT: Duration = Duration::from_secs(10);

/// Milliseconds after which nobody asks for a connection's last transaction.
const UNUSED_FOR: i64 = 24 * 3_600_000;

const OUTCOME_INTERVAL: Duration = Duration::from_millis(100);

/// Time after which a group closes, to bound the first request's wait.
const GROUP_TIME: Duration = Duration::from_millis(20);

pub(super) type Outcome = Box<dyn Any + Send>;

pub(super) type Job = Box<dyn for<'a> FnOnce(&'a Transaction) -> WriteFuture<'a, Outcome> + Send>;

struct WriteRequest {
    scope: WriteScope,
    job: Job,
    answer: oneshot::Sender<Result<Outcome>>,
    /// The body's memory, which the job holds without its caller, too.
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

/// Why a group of writes was not committed.
#[derive(Debug, thiserror::Error)]
enum GroupFailure {
    #[error("undone: {0}")]
    Undone(#[from] DatabaseError),
    /// The answer to the commit was lost, and its outcome is unknown.
    #[error("unknown outcome: {0}")]
    Unknown(DatabaseError),
}

/// Removes the counts of connections that have long ended.
pub(super) async fn remove_old(connection: &Connection) -> Result<(), DatabaseError> {
    let limit = now_millis() - UNUSED_FOR;
    sql("DELETE FROM writers WHERE begun_at < ?", [limit.into()]).execute(connection).await.map(drop)
}

/// The queues of waiting requests, each with a connection of its own.
#[derive(Clone)]
pub(super) struct StoreWriter {
    address: DatabaseAddress,
    signals: Signals,
    /// Runs jobs on rows of any tenant.
    any: Queue,
    /// Each runs the jobs of some tenants; without one, the other queue does.
    tenants: Vec<Queue>,
}

impl StoreWriter {
    pub(super) fn start(connection: Connection, address: DatabaseAddress, signals: Signals) -> Self {
        let any = Queue::start(connection, address.clone(), signals.clone());
        Self { address, signals, any, tenants: Vec::new() }
    }

    /// Lets `count` connections run jobs of single tenants; SQLite has none.
    pub(super) async fn add_tenant_queues(&mut self, count: u32) -> Result<(), DatabaseError> {
        if self.address.dialect() == Dialect::Postgres {
            for _ in 0..count {
                let connection = Connection::open_writer(&self.address).await?;
                self.tenants.push(Queue::start(connection, self.address.clone(), self.signals.clone()));
            }
        }
        Ok(())
    }

    pub(super) fn waiting(&self) -> usize {
        self.queues().map(Queue::waiting).sum()
    }

    pub(super) async fn write(&self, scope: WriteScope, job: Job) -> Result<Outcome> {
        match scope {
            WriteScope::Tenant(tenant_id) if !self.tenants.is_empty() => {
                let number = usize::try_from(tenant_id).unwrap_or_default() % self.tenants.len();
                self.tenants[number].write(scope, job).await
            }
            _ => self.any.write(WriteScope::Any, job).await,
        }
    }

    pub(super) async fn close(&self) {
        for queue in self.queues() {
            queue.close().await;
        }
    }

    fn queues(&self) -> impl Iterator<Item = &Queue> {
        self.tenants.iter().chain([&self.any])
    }
}

#[derive(Clone)]
struct Queue {
    requests: mpsc::Sender<WriteRequest>,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
    closing: Arc<Notify>,
}

impl Queue {
    fn start(connection: Connection, address: DatabaseAddress, signals: Signals) -> Self {
        let (requests, received) = mpsc::channel(QUEUE_LENGTH);
        let closing = Arc::new(Notify::new());
        let task = WriterTask {
            id: Uuid::new_v4(),
            transaction: Transaction::new(connection),
            address,
            is_doubtful: false,
            requests: received,
            postponed: None,
            signals,
        };
        let task = tokio::spawn(task.run(Arc::clone(&closing)));
        Self { requests, task: Arc::new(Mutex::new(Some(task))), closing }
    }

    fn waiting(&self) -> usize {
        self.requests.max_capacity() - self.requests.capacity()
    }

    async fn write(&self, scope: WriteScope, job: Job) -> Result<Outcome> {
        let (answer, answered) = oneshot::channel();
        let request = WriteRequest { scope, job, answer, _reservation: BodyReservation::current() };
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

    async fn close(&self) {
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
    id: Uuid,
    transaction: Transaction,
    address: DatabaseAddress,
    /// Whether a failure leaves unknown if the database ended the transaction.
    is_doubtful: bool,
    requests: mpsc::Receiver<WriteRequest>,
    /// The next request, whose tenant's lock another transaction held.
    postponed: Option<WriteRequest>,
    signals: Signals,
}

impl WriterTask {
    async fn run(mut self, closing: Arc<Notify>) {
        loop {
            if let Some(postponed) = self.postponed.take() {
                self.write_group(postponed).await;
                continue;
            }
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

    async fn write_group(&mut self, first: WriteRequest) {
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
        first: WriteRequest,
        group: &mut Vec<Pending>,
    ) -> Result<Option<i64>, GroupFailure> {
        let started = Instant::now();
        let number = self.begin(first.scope).await?;
        let (mut changes, mut stale) = (Changes::new(), BTreeSet::new());
        let mut next = Some(first);
        while let Some(WriteRequest { job, answer, _reservation, .. }) = next {
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
                Err(error) if error.kind == ErrorKind::Unavailable => {
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
            if let Some(request) = &next {
                let begin = if is_undone { "" } else { "; SAVEPOINT request" };
                let is_locked = self.transaction.run_and_lock(format!("{end}{begin}"), request.scope).await?;
                if !is_locked {
                    // To wait for it while holding other locks could be a deadlock.
                    self.postponed = next.take();
                }
            } else if is_undone {
                self.transaction.run_script(end).await?;
            }
        }
        let position = change_log::append(&self.transaction, &changes).await?;
        generations::append(&self.transaction, &stale).await?;
        self.commit(number).await?;
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
    async fn begin(&mut self, scope: WriteScope) -> Result<Option<i64>, DatabaseError> {
        self.replace_doubtful_connection().await?;
        match self.transaction.begin(scope, self.id, "SAVEPOINT request").await {
            Err(error) if is_unreachable(&error) => {
                self.is_doubtful = true;
                self.replace_doubtful_connection().await?;
                self.transaction.begin(scope, self.id, "SAVEPOINT request").await
            }
            begun => begun,
        }
    }

    /// Commits the transaction. Where the server's answer is lost, it is asked about the outcome.
    async fn commit(&mut self, number: Option<i64>) -> Result<(), GroupFailure> {
        let Err(error) = self.transaction.run_script("COMMIT").await else { return Ok(()) };
        let Some(number) = number else { return Err(GroupFailure::Undone(error)) };
        self.is_doubtful = true;
        match timeout(OUTCOME_TIMEOUT, self.is_committed(number)).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(GroupFailure::Undone(error)),
            Err(_late) => Err(GroupFailure::Unknown(error)),
        }
    }

    /// Waits to learn whether the lost connection's transaction was committed.
    async fn is_committed(&mut self, number: i64) -> bool {
        loop {
            if let Err(error) = self.replace_doubtful_connection().await {
                tracing::warn!(%error, "the database does not tell the outcome of a commit yet");
            } else if let Ok(is_committed) = self.transaction.is_committed(self.id, number).await {
                return is_committed;
            } else {
                self.is_doubtful = true;
            }
            tokio::time::sleep(OUTCOME_INTERVAL).await;
        }
    }

    async fn replace_doubtful_connection(&mut self) -> Result<(), DatabaseError> {
        if self.is_doubtful {
            let fresh = Transaction::new(Connection::open_writer(&self.address).await?);
            fresh.follow_timeline().await?;
            let doubtful = std::mem::replace(&mut self.transaction, fresh);
            self.is_doubtful = false;
            if let Err(error) = doubtful.connection.close_writer().await {
                tracing::warn!(%error, "a connection that could not write did not close cleanly");
            }
        }
        Ok(())
    }
}
