//! The one writer: it gathers waiting requests into a transaction, so that many callers share one durable commit.
//!
//! SQLite allows one writer at a time and a commit costs an fsync. Each request runs in a savepoint of its own, so a
//! request that fails undoes only itself; every answer leaves after the commit that holds it is durable.

use std::{
    ops::Deref,
    panic::AssertUnwindSafe,
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures::FutureExt;
use sea_orm::{
    DatabaseConnection, DatabaseTransaction, DbErr, SqliteTransactionMode, TransactionOptions,
    TransactionTrait,
};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
};

use super::{
    change_log::{self, ItemKey},
    commits::Commits,
};
use crate::{
    bodies::Held,
    error::{Error, Kind, Result, disk_full, is_disk_full},
};

/// Requests that may wait for the writer; one more is refused with 503.
const QUEUE_LENGTH: usize = 1_024;

/// Requests that share one commit at the most.
const GROUP_LENGTH: usize = 256;

/// A group that has run this long takes no more requests in, so that the first of it need not wait for ever.
const GROUP_TIME: Duration = Duration::from_millis(20);

/// What a write job returns: a future that borrows the transaction.
pub type WriteFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// The writer's transaction as one request sees it: a connection to write with, and the change log to write to.
pub struct Transaction {
    savepoint: DatabaseTransaction,
    changed: Mutex<Vec<ItemKey>>,
    after_commit: Mutex<Vec<AfterCommit>>,
}

/// What is to be done once a request's writes are durable.
type AfterCommit = Box<dyn FnOnce() + Send>;

impl Transaction {
    /// Notes that a searchable item changed; the entry is written with the rows, in the same transaction.
    pub fn record_change(&self, tenant_id: i64, module: &str, item_id: &str) {
        let item = ItemKey { tenant_id, module: module.to_owned(), item_id: item_id.to_owned() };
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).push(item);
    }

    /// Notes that a tenant is gone, and with it everything searchable that it had.
    pub fn record_tenant_removal(&self, tenant_id: i64) {
        self.record_change(tenant_id, change_log::WHOLE_TENANT, "");
    }

    /// Has `job` run once what this request wrote is durable, before its caller is answered and also when he has gone away;
    /// never where it was undone. It runs on the writer, so it is short and waits for nothing.
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
    type Target = DatabaseTransaction;

    fn deref(&self) -> &DatabaseTransaction {
        &self.savepoint
    }
}

/// Tells the caller how its request ended, given how the commit of its group ended.
type Reply = Box<dyn FnOnce(Result<()>) + Send>;

/// A request after it ran: whether what it wrote is to be kept, and how to answer it.
struct Ran {
    keep: bool,
    /// The database could not write.
    broken: Option<DbErr>,
    reply: Reply,
}

type Job = Box<dyn for<'a> FnOnce(&'a Transaction) -> Pin<Box<dyn Future<Output = Ran> + Send + 'a>> + Send>;

/// The handle that requests are sent through, cheap to clone.
#[derive(Clone)]
pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
    positions: watch::Receiver<i64>,
    commits: Arc<Commits>,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
    closing: Arc<tokio::sync::Notify>,
}

impl Writer {
    /// A writer over this connection to the database at `path`.
    pub(super) fn start(connection: DatabaseConnection, path: PathBuf, last_position: i64) -> Self {
        let (jobs, received) = mpsc::channel(QUEUE_LENGTH);
        let (announce, positions) = watch::channel(last_position);
        let closing = Arc::new(tokio::sync::Notify::new());
        let commits = Arc::new(Commits::default());
        let told = Told { announce, commits: Arc::clone(&commits) };
        let connection = Connection { inner: connection, path, is_doubtful: false };
        let task = tokio::spawn(run(connection, received, told, Arc::clone(&closing)));
        Self { jobs, positions, commits, task: Arc::new(Mutex::new(Some(task))), closing }
    }

    pub(super) fn positions(&self) -> watch::Receiver<i64> {
        self.positions.clone()
    }

    pub(super) fn commits(&self) -> Arc<Commits> {
        Arc::clone(&self.commits)
    }

    pub(super) fn waiting(&self) -> usize {
        self.jobs.max_capacity() - self.jobs.capacity()
    }

    pub(super) async fn write<T, J>(&self, job: J) -> Result<T>
    where
        T: Send + 'static,
        J: for<'a> FnOnce(&'a Transaction) -> WriteFuture<'a, T> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        // What waits here was a request's body, also when nobody waits for the answer any more.
        let held = Held::current();
        let boxed: Job = Box::new(move |transaction| {
            Box::pin(async move {
                let _held = held;
                run_job(job, transaction, answer).await
            })
        });
        self.jobs.try_send(boxed).map_err(|refused| {
            let message = match refused {
                mpsc::error::TrySendError::Full(_) => "too many writes wait already; nothing was changed",
                mpsc::error::TrySendError::Closed(_) => "the server is stopping; nothing was changed",
            };
            Error::unavailable(message, Duration::from_secs(1))
        })?;
        // Dropped unanswered: the transaction could not be begun or the savepoint not kept.
        answered.await.map_err(|_| cannot_write())?
    }

    /// Refuses new requests, finishes the accepted ones, and closes the connection.
    pub(super) async fn close(&self) {
        self.closing.notify_one();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the writer did not end in order");
        }
    }
}

fn cannot_write() -> Error {
    Error::unavailable("the store cannot write at the moment; nothing was changed", Duration::from_secs(10))
}

/// What callers are told of a group that could not be committed.
fn cannot_commit(error: &DbErr) -> Error {
    if is_disk_full(error) { disk_full() } else { cannot_write() }
}

async fn run_job<T, J>(job: J, transaction: &Transaction, answer: oneshot::Sender<Result<T>>) -> Ran
where
    T: Send + 'static,
    J: for<'a> FnOnce(&'a Transaction) -> WriteFuture<'a, T> + Send,
{
    let outcome = AssertUnwindSafe(async { job(transaction).await }).catch_unwind().await;
    let result = outcome.unwrap_or_else(|_| Err(Error::internal("a write panicked")));
    let keep = result.is_ok();
    let is_broken = result.as_ref().is_err_and(|error| error.kind == Kind::Unavailable);
    let broken = is_broken.then(|| DbErr::Custom("a write of the group could not be carried out".to_owned()));
    // A caller that went away has no use for the answer.
    let reply: Reply = Box::new(move |committed| drop(answer.send(committed.and(result))));
    Ran { keep, broken, reply }
}

/// The connection that writes.
struct Connection {
    inner: DatabaseConnection,
    path: PathBuf,
    /// A group failed on it. SQLite ends some transactions by itself then, and the driver goes on counting them as open: the
    /// connection would never begin another one.
    is_doubtful: bool,
}

impl Connection {
    /// A connection on which a transaction can be begun.
    async fn get(&mut self) -> Result<&DatabaseConnection, DbErr> {
        if self.is_doubtful {
            let fresh = super::connect(&self.path, 1, false).await?;
            let doubtful = std::mem::replace(&mut self.inner, fresh);
            self.is_doubtful = false;
            if let Err(error) = doubtful.close().await {
                tracing::warn!(%error, "a connection that could not write did not close in order");
            }
        }
        Ok(&self.inner)
    }
}

/// Who is told of a commit.
struct Told {
    announce: watch::Sender<i64>,
    commits: Arc<Commits>,
}

async fn run(
    mut connection: Connection,
    mut jobs: mpsc::Receiver<Job>,
    told: Told,
    closing: Arc<tokio::sync::Notify>,
) {
    loop {
        let first = tokio::select! {
            job = jobs.recv() => job,
            () = closing.notified() => {
                jobs.close();
                continue;
            }
        };
        let Some(first) = first else { break };
        write_group(&mut connection, first, &mut jobs, &told).await;
    }
    if let Err(error) = connection.inner.close().await {
        tracing::error!(%error, "the database did not close in order");
    }
}

/// Runs a group of requests in one transaction, then answers each of them.
async fn write_group(connection: &mut Connection, first: Job, jobs: &mut mpsc::Receiver<Job>, told: &Told) {
    let mut replies = Vec::new();
    let committed = match run_group(connection, first, jobs, &mut replies).await {
        Ok((group, position)) => group.commit().await.map(|()| position),
        Err(error) => Err(error),
    };
    match committed {
        Ok(position) => {
            if let Some(position) = position {
                told.commits.add(position);
                told.announce.send_replace(position);
            }
            for reply in replies {
                reply(Ok(()));
            }
        }
        Err(error) => {
            connection.is_doubtful = true;
            tracing::error!(%error, requests = replies.len(), "a group of writes could not be committed");
            for reply in replies {
                reply(Err(cannot_commit(&error)));
            }
        }
    }
}

async fn run_group(
    connection: &mut Connection,
    first: Job,
    jobs: &mut mpsc::Receiver<Job>,
    replies: &mut Vec<Reply>,
) -> Result<(DatabaseTransaction, Option<i64>), DbErr> {
    // IMMEDIATE: a deferred transaction that reads and then writes fails when another process wrote in between.
    let options = TransactionOptions {
        sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
        ..TransactionOptions::default()
    };
    let started = Instant::now();
    let mut position = None;
    let mut next = Some(first);
    let group = connection.get().await?.begin_with_options(options).await?;
    while let Some(job) = next {
        let (reply, last) = run_in_savepoint(&group, job).await?;
        replies.push(reply);
        position = last.or(position);
        let more = replies.len() < GROUP_LENGTH && started.elapsed() < GROUP_TIME;
        next = if more { jobs.try_recv().ok() } else { None };
    }
    Ok((group, position))
}

async fn run_in_savepoint(group: &DatabaseTransaction, job: Job) -> Result<(Reply, Option<i64>), DbErr> {
    let transaction = Transaction {
        savepoint: group.begin().await?,
        changed: Mutex::default(),
        after_commit: Mutex::default(),
    };
    let Ran { keep, broken, mut reply } = job(&transaction).await;
    let mut position = None;
    if keep {
        let changed = transaction.take_changed();
        position = change_log::append(&transaction, &changed).await?;
        let jobs = transaction.take_after_commit();
        if !jobs.is_empty() {
            reply = Box::new(move |committed| {
                if committed.is_ok() {
                    for job in jobs {
                        // It is not the writer's end, whatever becomes of it.
                        if std::panic::catch_unwind(AssertUnwindSafe(job)).is_err() {
                            tracing::error!("what was to be done after a commit panicked");
                        }
                    }
                }
                reply(committed);
            });
        }
        transaction.savepoint.commit().await?;
    } else if let Some(reason) = broken {
        // SQLite may have ended the whole transaction for that: what came before in the group is not kept either, and what
        // came behind would be kept at once.
        reply(Ok(()));
        return Err(reason);
    } else {
        transaction.savepoint.rollback().await?;
    }
    Ok((reply, position))
}
