//! What trawl keeps: an embedded SQLite database with one writer, many readers and a change log.
//!
//! The database is the truth; the full-text index follows it by the change log and can always be rebuilt from it.

pub mod change_log;
pub(crate) mod commits;
mod migrations;
pub(crate) mod room;
#[cfg(test)]
pub(crate) mod tests;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use jiff::Timestamp;
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbBackend, DbErr, FromQueryResult,
    Statement, Value,
    sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use tokio::{
    sync::{Semaphore, watch},
    time::timeout,
};
use uuid::Uuid;

pub use writer::{Transaction, WriteFuture};

use self::{commits::Commits, room::Room};
use crate::error::{Error, Result};

/// The database's file name in the data directory.
const FILE_NAME: &str = "trawl.db";

/// Connections of the indexer: two pieces of changes are read at a time, and the log meanwhile.
const INDEX_READERS: u32 = 3;

/// How long a read that looks into many rows waits for its place.
const SCAN_PATIENCE: Duration = Duration::from_secs(1);

/// How long a statement waits for another process's write lock (`trawl app create` beside a running server).
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The store, cheap to clone.
#[derive(Clone)]
pub struct Store {
    reader: DatabaseConnection,
    index_reader: DatabaseConnection,
    scans: Arc<Semaphore>,
    writer: writer::Writer,
    id: String,
    room: Arc<Room>,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database was written by a later version of trawl.
    #[error(
        "the database {path} has the schema change `{migration}`, which this version of trawl does not know; start the newer trawl that wrote it"
    )]
    NewerSchema {
        /// The database file.
        path: PathBuf,
        /// The first schema change that is not known here.
        migration: String,
    },
    /// The database could not be opened or migrated.
    #[error("the database {path} could not be opened: {cause}")]
    Database {
        /// The database file.
        path: PathBuf,
        /// What the database said.
        cause: DbErr,
    },
}

impl Store {
    /// Opens the database in `directory`, creating or migrating it.
    pub async fn open(directory: &Path, readers: u32) -> Result<Self, OpenError> {
        let path = directory.join(FILE_NAME);
        let fail = |cause| OpenError::Database { path: path.clone(), cause };

        let write_connection = connect(&path, 1, false).await.map_err(fail)?;
        if let Some(migration) = migrations::first_unknown(&write_connection).await.map_err(fail)? {
            return Err(OpenError::NewerSchema { path, migration });
        }
        migrations::run(&write_connection).await.map_err(fail)?;
        let id = store_id(&write_connection).await.map_err(fail)?;
        let last_position = change_log::last_position(&write_connection).await.map_err(fail)?;
        let reader = connect(&path, readers, true).await.map_err(fail)?;
        let index_reader = connect(&path, INDEX_READERS, true).await.map_err(fail)?;
        let scans = Arc::new(Semaphore::new((readers as usize / 2).max(1)));
        let writer = writer::Writer::start(write_connection, path, last_position);
        Ok(Self { reader, index_reader, scans, writer, id, room: Arc::new(Room::new(directory, 0)) })
    }

    /// The same store, which refuses writes while less than this is free on its disk.
    #[must_use]
    pub fn keeping_free(self, directory: &Path, reserve_bytes: u64) -> Self {
        Self { room: Arc::new(Room::new(directory, reserve_bytes)), ..self }
    }

    /// Whether so many bytes more can be written before writes are refused, as far as the system tells.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        self.room.has_room_for(bytes)
    }

    /// The bytes that are free on its disk, where the system tells.
    pub fn free_bytes(&self) -> Option<u64> {
        self.room.free_bytes()
    }

    /// A pool of connections that only read; each statement sees the last commit.
    pub fn reader(&self) -> &DatabaseConnection {
        &self.reader
    }

    /// The connections of the indexer, which callers cannot take from it: what was acknowledged is found soon however much
    /// is read.
    pub fn index_reader(&self) -> &DatabaseConnection {
        &self.index_reader
    }

    /// Reads what takes a look into many rows. Such reads have places, one for every second connection that reads, so that the
    /// reads of others find one. A read goes on to its end, with its place, where its caller goes away: its statement does too.
    ///
    /// # Errors
    /// 503 where no place is free for a second; else the read's own error.
    pub async fn scan<T, F>(&self, read: impl FnOnce(DatabaseConnection) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: Send + 'static,
    {
        let waiting = timeout(SCAN_PATIENCE, Arc::clone(&self.scans).acquire_owned()).await;
        let place = waiting
            .map_err(|_late| Error::unavailable("too much is being looked through already", SCAN_PATIENCE))?
            .map_err(Error::internal)?;
        let reading = read(self.reader.clone());
        let scanning = tokio::spawn(async move {
            let _place = place;
            reading.await
        });
        scanning.await.map_err(Error::internal)?
    }

    /// Tells this database from every other one, so that an index of another database is not taken for its own.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The change log's last committed position, and a signal at each commit that moves it.
    pub fn positions(&self) -> watch::Receiver<i64> {
        self.writer.positions()
    }

    /// When changes were committed that the index does not have yet.
    pub(crate) fn commits(&self) -> Arc<Commits> {
        self.writer.commits()
    }

    /// Writes that wait for the writer; those that it has taken in do not count.
    pub fn waiting_writes(&self) -> usize {
        self.writer.waiting()
    }

    /// Runs `job` inside the writer's next transaction and answers once that is durable. What `job` did is undone
    /// when it fails; other requests of the same group are not touched by that.
    ///
    /// # Errors
    /// The job's own error; 503 when the disk is full or nearly so, too many writes wait already, or the store is closing.
    pub async fn write<T, J>(&self, job: J) -> Result<T>
    where
        T: Send + 'static,
        J: for<'a> FnOnce(&'a Transaction) -> WriteFuture<'a, T> + Send + 'static,
    {
        self.room.check()?;
        self.writer.write(job).await
    }

    /// Finishes every write that was accepted, then closes the database. Later writes are refused.
    pub async fn close(self) -> Result<()> {
        self.writer.close().await;
        self.reader.close().await?;
        self.index_reader.close().await.map_err(Error::from)
    }
}

/// A statement with its values, in SQLite's dialect.
pub fn sql(text: impl Into<String>, values: impl IntoIterator<Item = Value>) -> Statement {
    Statement::from_sql_and_values(DbBackend::Sqlite, text, values)
}

/// Rows of one INSERT, or values of one `IN`: SQLite takes 32,766 values in a statement.
pub const ROWS_PER_STATEMENT: usize = 1_000;

/// So many placeholders of a statement.
pub fn placeholders(count: usize) -> String {
    vec!["?"; count].join(", ")
}

/// The rows of `text IN (values)`, read in portions that a statement can hold. `text` ends before its `IN`; its own
/// placeholders are `first`.
pub async fn find_in<R: FromQueryResult, C: ConnectionTrait>(
    connection: &C,
    text: &str,
    first: &[Value],
    values: &[impl AsRef<str>],
) -> Result<Vec<R>, DbErr> {
    let mut rows = Vec::with_capacity(values.len());
    for portion in values.chunks(ROWS_PER_STATEMENT) {
        let text = format!("{text} IN ({})", placeholders(portion.len()));
        let values = first.iter().cloned().chain(portion.iter().map(|value| value.as_ref().into()));
        rows.extend(R::find_by_statement(sql(text, values)).all(connection).await?);
    }
    Ok(rows)
}

/// The number of the last of up to `limit` rows of a table after `sequence`, in the order of that; `None` behind the last one.
pub async fn end_of_portion<C: ConnectionTrait>(
    connection: &C,
    table: &'static str,
    sequence: i64,
    limit: u64,
) -> Result<Option<i64>, DbErr> {
    let text = format!(
        "SELECT MAX(sequence) AS last FROM (SELECT sequence FROM {table} WHERE sequence > ? ORDER BY sequence LIMIT ?)"
    );
    let row = connection.query_one_raw(sql(text, [sequence.into(), limit.into()])).await?;
    row.map_or(Ok(None), |row| row.try_get("", "last"))
}

/// Milliseconds since 1970, the unit of every time that trawl keeps.
pub fn now_millis() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}

/// Such a time as RFC 3339 text, for what shows it so: `2024-01-01T00:00:00.000Z`.
pub fn rfc3339(millis: i64) -> String {
    let time = Timestamp::from_millisecond(millis).unwrap_or_default();
    format!("{time:.3}")
}

async fn connect(path: &Path, connections: u32, read_only: bool) -> Result<DatabaseConnection, DbErr> {
    let mut options = ConnectOptions::new("sqlite::memory:");
    let path = path.to_owned();
    options
        .max_connections(connections)
        .min_connections(1)
        // An embedded database does not hang up: no test of a connection before each use, no ageing.
        .test_before_acquire(false)
        .idle_timeout(None::<Duration>)
        .max_lifetime(None::<Duration>)
        .sqlx_logging(false)
        .map_sqlx_sqlite_opts(move |_| {
            SqliteConnectOptions::new()
                .filename(&path)
                .create_if_missing(true)
                .foreign_keys(true)
                .journal_mode(SqliteJournalMode::Wal)
                .synchronous(SqliteSynchronous::Full)
                .busy_timeout(BUSY_TIMEOUT)
                .statement_cache_capacity(256)
                .pragma("query_only", if read_only { "on" } else { "off" })
        });
    Database::connect(options).await
}

/// The database's own id, made at its first opening.
async fn store_id(connection: &DatabaseConnection) -> Result<String, DbErr> {
    connection
        .execute_raw(sql(
            "INSERT INTO meta (name, value) VALUES ('store_id', ?) ON CONFLICT (name) DO NOTHING",
            [Uuid::new_v4().to_string().into()],
        ))
        .await?;
    let row = connection
        .query_one_raw(sql("SELECT value FROM meta WHERE name = 'store_id'", []))
        .await?
        .ok_or_else(|| DbErr::RecordNotFound("store_id".to_owned()))?;
    row.try_get("", "value")
}
