//! The writer: gathers waiting requests into a transaction, so that many callers share one durable commit.
//!
//! SQLite allows one writer at a time, and a commit costs an fsync. Each request runs in its own savepoint: a failing
//! request undoes only itself. Each answer leaves after the commit that contains the request is durable.

use std::{
    any::Any,
    io,
    ops::Deref,
    panic::AssertUnwindSafe,
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures::FutureExt;
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    task::JoinHandle,
};

use super::{
    Connection, DatabaseError,
    change_log::{self, ItemKey},
    commits::Commits,
    errors::{cannot_commit, cannot_write},
};
use crate::{
    budget::BodyReservation,
    error::{Error, Kind, Result},
};

/// Further requests are refused with 503.
const QUEUE_LENGTH: usize = 1_024;

const GROUP_LENGTH: usize = 256;

/// Time after which a group is closed, to bound the first request's wait.
const GROUP_TIME: Duration = Duration::from_millis(20);

/// The future of a write job, which borrows the transaction.
pub type WriteFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

pub(super) type Outcome = Box<dyn Any + Send>;

pub(super) type Job = Box<dyn for<'a> FnOnce(&'a Transaction) -> WriteFuture<'a, Outcome> + Send>;

type AfterCommit = Box<dyn FnOnce() + Send>;

/// The writer's transaction as the running request sees it: a connection and the change log.
pub struct Transaction {
    connection: Connection,
    changed: Mutex<Vec<ItemKey>>,
    after_commit: Mutex<Vec<AfterCommit>>,
}

impl Transaction {
    fn new(connection: Connection) -> Self {
        Self { connection, changed: Mutex::default(), after_commit: Mutex::default() }
    }

    /// Adds a searchable item to the change log, in this transaction.
    pub fn record_change(&self, tenant_id: i64, module: &str, item_id: &str) {
        let item = ItemKey { tenant_id, module: module.to_owned(), item_id: item_id.to_owned() };
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).push(item);
    }

    /// Adds the removal of a tenant with all its searchable items to the change log.
    pub fn record_tenant_removal(&self, tenant_id: i64) {
        self.record_change(tenant_id, change_log::WHOLE_TENANT, "");
    }

    /// Runs `job` after the commit and before the answer, even if the caller has gone away.
    ///
    /// A rolled-back request drops the job. It runs on the writer: it must be short and must not block.
    pub fn after_commit(&self, job: impl FnOnce() + Send + 'static) {
        self.after_commit.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(job));
    }

    fn take_after_commit(&self) -> Vec<AfterCommit> {
        std::mem::take(&mut self.after_commit.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take_changed(&self) -> Vec<ItemKey> {
        std::mem::take(&mut self.changed.lock().unwrap_or_else(PoisonError::into_inner))
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
    after_commit: Vec<AfterCommit>,
}

impl Pending {
    fn committed(self) {
        for job in self.after_commit {
            if std::panic::catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!("a job after a commit panicked");
            }
        }
        drop(self.answer.send(self.result));
    }

    fn failed(self, error: &DatabaseError) {
        drop(self.answer.send(Err(cannot_commit(error))));
    }
}

#[derive(Clone)]
pub(super) struct Writer {
    requests: mpsc::Sender<Request>,
    positions: watch::Receiver<i64>,
    commits: Arc<Commits>,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
    closing: Arc<Notify>,
}

impl Writer {
    pub(super) fn start(connection: Connection, path: PathBuf, last_position: i64) -> Self {
        let (requests, received) = mpsc::channel(QUEUE_LENGTH);
        let (announce, positions) = watch::channel(last_position);
        let closing = Arc::new(Notify::new());
        let commits = Arc::new(Commits::default());
        let task = WriterTask {
            transaction: Transaction::new(connection),
            path,
            is_doubtful: false,
            requests: received,
            announce,
            commits: Arc::clone(&commits),
        };
        let task = tokio::spawn(task.run(Arc::clone(&closing)));
        Self { requests, positions, commits, task: Arc::new(Mutex::new(Some(task))), closing }
    }

    pub(super) fn positions(&self) -> watch::Receiver<i64> {
        self.positions.clone()
    }

    pub(super) fn commits(&self) -> Arc<Commits> {
        Arc::clone(&self.commits)
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
    path: PathBuf,
    /// After a failure on the connection, SQLite may have ended the transaction or not.
    is_doubtful: bool,
    requests: mpsc::Receiver<Request>,
    announce: watch::Sender<i64>,
    commits: Arc<Commits>,
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
                    self.commits.add(position);
                    self.announce.send_replace(position);
                }
                group.into_iter().for_each(Pending::committed);
            }
            Err(error) => {
                tracing::error!(%error, requests = group.len(), "a group of writes could not be committed");
                // Other processes may write again. It fails where SQLite has ended the transaction.
                drop(self.transaction.run_script("ROLLBACK").await);
                self.is_doubtful = true;
                for request in group {
                    request.failed(&error);
                }
            }
        }
    }

    /// Returns the last position in the change log if searchable items changed.
    ///
    /// Each hand-over to the driver's thread takes time. One script therefore ends a request's savepoint and begins the
    /// next.
    async fn run_group(
        &mut self,
        first: Request,
        group: &mut Vec<Pending>,
    ) -> Result<Option<i64>, DatabaseError> {
        let started = Instant::now();
        self.replace_doubtful_connection().await?;
        // IMMEDIATE: a deferred transaction that reads and then writes fails when another process wrote in between.
        let mut before = "BEGIN IMMEDIATE";
        let mut position = None;
        let mut next = Some(first);
        while let Some(Request { job, answer, _reservation }) = next {
            self.transaction.run_script(format!("{before}; SAVEPOINT request")).await?;
            let outcome = AssertUnwindSafe(async { job(&self.transaction).await }).catch_unwind().await;
            let result = outcome.unwrap_or_else(|_| Err(Error::internal("a write panicked")));
            let changed = self.transaction.take_changed();
            let mut request = Pending { answer, result, after_commit: self.transaction.take_after_commit() };
            match &request.result {
                Ok(_) => {
                    position = change_log::append(&self.transaction, &changed).await?.or(position);
                    before = "RELEASE request";
                }
                Err(error) if error.kind == Kind::Unavailable => {
                    // SQLite may have rolled back the whole transaction; a later request would then commit by itself.
                    request.after_commit.clear();
                    request.committed();
                    return Err(DatabaseError::Io(io::Error::other("a write of the group failed")));
                }
                Err(_) => {
                    request.after_commit.clear();
                    before = "ROLLBACK TO request; RELEASE request";
                }
            }
            group.push(request);
            let is_full = group.len() >= GROUP_LENGTH || started.elapsed() >= GROUP_TIME;
            next = if is_full { None } else { self.requests.try_recv().ok() };
        }
        self.transaction.run_script(format!("{before}; COMMIT")).await?;
        Ok(position)
    }

    async fn replace_doubtful_connection(&mut self) -> Result<(), DatabaseError> {
        if self.is_doubtful {
            let fresh = Transaction::new(Connection::open_writer(&self.path).await?);
            let doubtful = std::mem::replace(&mut self.transaction, fresh);
            self.is_doubtful = false;
            if let Err(error) = doubtful.connection.close_writer().await {
                tracing::warn!(%error, "a connection that could not write did not close cleanly");
            }
        }
        Ok(())
    }
}
