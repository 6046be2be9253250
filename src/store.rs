//! A database with one writer, many readers and a change log.
//!
//! It is SQLite in the data directory, or PostgreSQL. The full-text index follows it by the change log and can be rebuilt
//! from it.

mod batched_writes;
pub mod change_log;
pub mod check;
pub(crate) mod commits;
mod connection;
pub mod copy;
mod dialect;
pub(crate) mod disk_reserve;
mod errors;
mod failover;
pub mod generations;
mod json_column;
mod migrations;
mod observer;
mod pooler;
mod postgres;
pub mod schema;
mod sqlite;
mod statement;
#[cfg(test)]
pub(crate) mod tests;
mod transaction;
mod writer;

use std::{path::Path, sync::Arc, time::Duration};

use backon::{ConstantBuilder, Retryable as _};
use tokio::{
    sync::{Notify, Semaphore, watch},
    time::timeout,
};
use uuid::Uuid;

pub use crate::time::{now_millis, rfc3339};
pub use batched_writes::BatchedWrites;
pub use connection::{Connection, DatabaseAddress, SQLITE_OBSERVER};
pub use dialect::Dialect;
use dialect::WriteScope;
pub use generations::{Cached, Generation};
pub use json_column::Json;
pub use sqlx::{Error as DatabaseError, FromRow, Type as ColumnType};
pub use statement::{
    ROWS_PER_STATEMENT, Record, RowResult, Statement, Value, execute_in, find_in, find_values_in,
    placeholders, sql,
};
pub use transaction::{Transaction, WriteFuture};

use self::{
    commits::Commits, disk_reserve::DiskReserve, generations::Generations, observer::Observer,
    transaction::Signals,
};
use crate::{
    config::{Config, StoreSettings},
    error::Error,
};

/// The result of a statement.
pub type Result<T, E = DatabaseError> = std::result::Result<T, E>;

/// The indexer reads two batches of changes at once, and the log.
const INDEX_READERS: u32 = 3;

/// Least connections of a command beside its readers: of each other kind one.
const COMMAND_CONNECTIONS: u32 = 3;

/// Interval between attempts to reach the database at start.
const WAIT_INTERVAL: Duration = Duration::from_secs(1);

const SCAN_QUEUE_TIMEOUT: Duration = Duration::from_secs(1);

/// The store, cheap to clone.
#[derive(Clone)]
pub struct Store {
    reader: Arc<Connection>,
    index_reader: Arc<Connection>,
    coordination: Option<Arc<Connection>>,
    observer: Option<Arc<Observer>>,
    scans: Arc<Semaphore>,
    writer: Arc<writer::StoreWriter>,
    signals: Signals,
    id: String,
    disk_reserve: Arc<DiskReserve>,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database was written by a later version of trawl.
    #[error(
        "the database {address} has the schema change `{migration}`, which this version of trawl does not know; start the newer trawl that wrote it"
    )]
    NewerSchema {
        /// The database.
        address: DatabaseAddress,
        /// The first unknown schema change.
        migration: String,
    },
    /// The database could not be opened or migrated.
    #[error("the database {address} could not be opened: {cause}")]
    Database {
        /// The database.
        address: DatabaseAddress,
        /// The database's error.
        cause: DatabaseError,
    },
    /// The server or its database cannot hold a store.
    #[error("the database {address} cannot be used: {reason}")]
    Unsuitable {
        /// The database.
        address: DatabaseAddress,
        /// The missing property.
        reason: String,
    },
    /// The address of the database is invalid.
    #[error("{0}")]
    Address(String),
}

impl Store {
    /// Opens the SQLite database in `directory`, creating or migrating it.
    pub async fn open(directory: &Path, readers: u32) -> Result<Self, OpenError> {
        Self::open_at(DatabaseAddress::in_directory(directory), readers).await
    }

    /// Opens the database of the settings for a command.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open_configured(config: &Config, readers: u32) -> Result<Self, OpenError> {
        let address = DatabaseAddress::new(config.store.url.as_ref(), &config.data);
        Self::open_at(address.map_err(OpenError::Address)?, readers).await
    }

    /// Opens the database of the settings, with all connections of a server.
    ///
    /// A server that cannot be reached is tried again for `store.wait_seconds`.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open_for_server(config: &Config) -> Result<Self, OpenError> {
        let settings = &config.store;
        let address =
            DatabaseAddress::new(settings.url.as_ref(), &config.data).map_err(OpenError::Address)?;
        let attempts = settings.wait_seconds as usize;
        let attempts = ConstantBuilder::default().with_delay(WAIT_INTERVAL).with_max_times(attempts);
        (|| Self::open_all(address.clone(), settings))
            .retry(attempts)
            .when(|error: &OpenError| matches!(error, OpenError::Database { cause, .. } if errors::is_unreachable(cause)))
            .notify(|error, _| tracing::warn!(%error, "waiting for the database"))
            .await
    }

    /// Creates the tables of a database or migrates them, without giving it an id.
    pub async fn migrate(address: &DatabaseAddress) -> Result<(), OpenError> {
        let fail = |cause| OpenError::Database { address: address.clone(), cause };
        migrated(address).await?.close_writer().await.map_err(fail)
    }

    /// Opens a database, creating its tables or migrating them.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open_at(address: DatabaseAddress, readers: u32) -> Result<Self, OpenError> {
        Self::open_with(address, readers, readers + COMMAND_CONNECTIONS).await
    }

    async fn open_all(address: DatabaseAddress, settings: &StoreSettings) -> Result<Self, OpenError> {
        let StoreSettings { readers, writers, .. } = *settings;
        let needed = readers + INDEX_READERS + postgres::COORDINATION_CONNECTIONS + 1 + writers;
        let mut store = Self::open_with(address.clone(), readers, needed).await?;
        let added = Arc::make_mut(&mut store.writer).add_tenant_queues(writers).await;
        added.map_err(|cause| OpenError::Database { address, cause })?;
        Ok(store)
    }

    /// `needed`: connections that a pooler must give at once.
    async fn open_with(address: DatabaseAddress, readers: u32, needed: u32) -> Result<Self, OpenError> {
        let fail = |cause| OpenError::Database { address: address.clone(), cause };

        if let DatabaseAddress::Server(server) = &address
            && let Some(reason) = pooler::missing_requirement(server, needed).await.map_err(fail)?
        {
            return Err(OpenError::Unsuitable { address, reason });
        }
        let writer = migrated(&address).await?;
        writer.follow_timeline().await.map_err(fail)?;
        writer::remove_old(&writer).await.map_err(fail)?;
        let id = store_id(&writer).await.map_err(fail)?;
        let last_position = change_log::last_position(&writer).await.map_err(fail)?;
        let reader = Connection::open_readers(&address, readers).await.map_err(fail)?;
        let index_reader = Connection::open_readers(&address, INDEX_READERS).await.map_err(fail)?;
        let signals = Signals::new(last_position);
        let coordination = Connection::open_coordination(&address).await.map_err(fail)?.map(Arc::new);
        let observer = match &coordination {
            Some(connection) => {
                let (positions, generations) = (signals.positions.clone(), Arc::clone(&signals.generations));
                let observer = Observer::start(Arc::clone(connection), positions, generations).await;
                Some(Arc::new(observer.map_err(fail)?))
            }
            None => None,
        };
        Ok(Self {
            coordination,
            observer,
            reader: Arc::new(reader),
            index_reader: Arc::new(index_reader),
            scans: Arc::new(Semaphore::new((readers as usize / 2).max(1))),
            writer: Arc::new(writer::StoreWriter::start(writer, address, signals.clone())),
            signals,
            id,
            disk_reserve: Arc::default(),
        })
    }

    /// Refuses writes while less than `bytes` are free on the disk of `directory`.
    #[must_use]
    pub fn with_disk_reserve(self, directory: &Path, bytes: u64) -> Self {
        Self { disk_reserve: Arc::new(DiskReserve::new(directory, bytes)), ..self }
    }

    /// Whether `bytes` more fit beside the disk reserve; true where the system reports no free space.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        self.disk_reserve.has_room_for(bytes)
    }

    /// The disk's free bytes, where the system reports them.
    pub fn free_bytes(&self) -> Option<u64> {
        self.disk_reserve.free_bytes()
    }

    /// Connections that only read; each statement sees the last commit.
    pub fn reader(&self) -> &Connection {
        &self.reader
    }

    /// Connections of the indexer alone, which callers' reads cannot delay.
    pub fn index_reader(&self) -> &Connection {
        &self.index_reader
    }

    /// Connections for single statements that coordinate replicas, outside of write transactions.
    ///
    /// None on SQLite, which has one process.
    pub fn coordination(&self) -> Option<&Arc<Connection>> {
        self.coordination.as_ref()
    }

    /// Runs a read that looks at many rows, under a permit.
    ///
    /// Half of the readers may scan at once, so that short reads find a connection. A read whose caller has gone away
    /// goes on and holds its permit.
    ///
    /// # Errors
    /// 503 where no permit is free within a second; else the read's own error.
    pub async fn scan<T, F>(&self, read: impl FnOnce(Self) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
        T: Send + 'static,
    {
        let permit = timeout(SCAN_QUEUE_TIMEOUT, Arc::clone(&self.scans).acquire_owned())
            .await
            .map_err(|_late| {
                Error::unavailable("too many scans are running; try again shortly", SCAN_QUEUE_TIMEOUT)
            })?
            .map_err(Error::internal)?;
        let read = read(self.clone());
        let scan = tokio::spawn(async move {
            let _permit = permit;
            read.await
        });
        scan.await.map_err(Error::internal)?
    }

    /// The database's own id, which ties an index to it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The change log's last committed position, with a signal at each change.
    pub fn positions(&self) -> watch::Receiver<i64> {
        self.signals.positions.subscribe()
    }

    pub(crate) fn commits(&self) -> Arc<Commits> {
        Arc::clone(&self.signals.commits)
    }

    /// Generations of cached data, as of the last [`Self::refresh`].
    pub fn generations(&self) -> &Generations {
        &self.signals.generations
    }

    /// Learns of everything that other replicas acknowledged before this call.
    ///
    /// # Errors
    /// 503 if the database does not answer.
    pub async fn refresh(&self) -> Result<(), Error> {
        match &self.observer {
            Some(observer) => observer.refresh().await,
            None => Ok(()),
        }
    }

    /// Notified when a commit leaves work for maintenance.
    pub fn maintenance_requests(&self) -> Arc<Notify> {
        Arc::clone(&self.signals.maintenance)
    }

    /// Writes in the writer's queue, without those that it is running.
    pub fn waiting_writes(&self) -> usize {
        self.writer.waiting()
    }

    /// Runs `job` in the writer's next transaction and returns once it is durable.
    ///
    /// A failing job is rolled back without other requests of its group.
    ///
    /// # Errors
    /// The job's own; 503 for a full disk or queue, or while closing.
    pub async fn write<T, J>(&self, job: J) -> Result<T, Error>
    where
        T: Send + 'static,
        J: for<'a> FnOnce(&'a Transaction) -> WriteFuture<'a, T> + Send + 'static,
    {
        self.write_in(WriteScope::Any, job).await
    }

    /// Runs a `job` that touches rows of one tenant only.
    ///
    /// On PostgreSQL it runs beside those of other tenants.
    ///
    /// # Errors
    /// Those of [`Self::write`].
    pub async fn write_for<T, J>(&self, tenant_id: i64, job: J) -> Result<T, Error>
    where
        T: Send + 'static,
        J: for<'a> FnOnce(&'a Transaction) -> WriteFuture<'a, T> + Send + 'static,
    {
        self.write_in(WriteScope::Tenant(tenant_id), job).await
    }

    async fn write_in<T, J>(&self, scope: WriteScope, job: J) -> Result<T, Error>
    where
        T: Send + 'static,
        J: for<'a> FnOnce(&'a Transaction) -> WriteFuture<'a, T> + Send + 'static,
    {
        self.disk_reserve.check()?;
        let job: writer::Job = Box::new(move |transaction| {
            let result = job(transaction);
            Box::pin(async move { Ok(Box::new(result.await?) as writer::Outcome) })
        });
        let outcome = self.writer.write(scope, job).await?.downcast();
        outcome.map(|outcome| *outcome).map_err(|_| Error::internal("a write returned another job's outcome"))
    }

    /// Deletes a batch of rows of `table`; returns whether none is left.
    ///
    /// `find` selects them by their `key`, at most `batch`.
    ///
    /// # Errors
    /// Those of [`Self::write`].
    pub async fn delete_batch(
        &self,
        table: &str,
        key: &str,
        find: Statement,
        batch: u64,
    ) -> Result<bool, Error> {
        if !find.clone().exists(self.reader()).await? {
            return Ok(true);
        }
        let delete = sql(format!("DELETE FROM {table} WHERE {key} IN ({})", find.text), find.values);
        let job =
            self.write(move |transaction| Box::pin(async move { Ok(delete.execute(transaction).await?) }));
        Ok(job.await? < batch)
    }

    /// Finishes every accepted write, then closes the database. Later writes are refused.
    pub async fn close(self) -> Result<(), Error> {
        self.writer.close().await;
        self.reader.close_pool().await;
        self.index_reader.close_pool().await;
        if let Some(coordination) = &self.coordination {
            coordination.close_pool().await;
        }
        Ok(())
    }
}

/// The writer of a database that has all tables.
async fn migrated(address: &DatabaseAddress) -> Result<Connection, OpenError> {
    let fail = |cause| OpenError::Database { address: address.clone(), cause };
    let writer = Connection::open_writer(address).await.map_err(fail)?;
    if writer.dialect() == Dialect::Postgres
        && let Some(reason) = postgres::missing_requirement(&writer).await.map_err(fail)?
    {
        return Err(OpenError::Unsuitable { address: address.clone(), reason: reason.to_owned() });
    }
    if let Some(migration) = migrations::first_unknown(&writer).await.map_err(fail)? {
        return Err(OpenError::NewerSchema { address: address.clone(), migration });
    }
    migrations::run(&writer).await.map_err(fail)?;
    Ok(writer)
}

async fn store_id(connection: &Connection) -> Result<String> {
    let text = "INSERT INTO meta (name, value) VALUES ('store_id', ?) ON CONFLICT (name) DO NOTHING";
    sql(text, [Uuid::new_v4().to_string().into()]).execute(connection).await?;
    sql("SELECT value FROM meta WHERE name = 'store_id'", []).fetch_value(connection).await
}
