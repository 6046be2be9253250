//! Connections to the SQLite database: pools that only read, and the one that writes.

use std::{path::Path, time::Duration};

use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, pool::PoolOptions, query::Query};
use sqlx_sqlite::{
    Sqlite, SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteRow,
    SqliteSynchronous,
};
use tokio::sync::Mutex;

use super::{DatabaseError, Json, Result, Statement, Value};

/// Timeout for another process's write lock (`trawl app create` beside a running server).
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

const PREPARED_STATEMENTS: usize = 256;

/// Runs statements on a pool of readers or in the writer's transaction.
pub struct Connection(Backend);

enum Backend {
    Readers(sqlx::Pool<Sqlite>),
    /// Only the running write job locks it, so the lock is free.
    Writer(Mutex<SqliteConnection>),
}

impl Connection {
    pub(super) async fn open_readers(path: &Path, count: u32) -> Result<Self> {
        let pool = PoolOptions::new()
            .max_connections(count)
            .min_connections(1)
            // An embedded database does not hang up.
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None);
        let options = options(path).pragma("query_only", "on");
        Ok(Self(Backend::Readers(pool.connect_with(options).await?)))
    }

    pub(super) async fn open_writer(path: &Path) -> Result<Self> {
        let connection = options(path).create_if_missing(true).connect().await?;
        Ok(Self(Backend::Writer(Mutex::new(connection))))
    }

    pub(super) async fn close_readers(&self) {
        if let Backend::Readers(pool) = &self.0 {
            pool.close().await;
        }
    }

    pub(super) async fn close_writer(self) -> Result<()> {
        match self.0 {
            Backend::Readers(_) => Ok(()),
            Backend::Writer(connection) => connection.into_inner().close().await,
        }
    }

    pub(super) async fn run_script(&self, text: impl Into<String>) -> Result<()> {
        let script = sqlx::raw_sql(AssertSqlSafe(text.into()));
        match &self.0 {
            Backend::Readers(pool) => script.execute(pool).await,
            Backend::Writer(connection) => script.execute(&mut *connection.lock().await).await,
        }
        .map(drop)
    }

    pub(super) async fn execute(&self, statement: Statement) -> Result<u64> {
        let query = query(statement)?;
        let done = match &self.0 {
            Backend::Readers(pool) => query.execute(pool).await?,
            Backend::Writer(connection) => query.execute(&mut *connection.lock().await).await?,
        };
        Ok(done.rows_affected())
    }

    pub(super) async fn fetch_optional(&self, statement: Statement) -> Result<Option<SqliteRow>> {
        let query = query(statement)?;
        match &self.0 {
            Backend::Readers(pool) => query.fetch_optional(pool).await,
            Backend::Writer(connection) => query.fetch_optional(&mut *connection.lock().await).await,
        }
    }

    pub(super) async fn fetch_all(&self, statement: Statement) -> Result<Vec<SqliteRow>> {
        let query = query(statement)?;
        match &self.0 {
            Backend::Readers(pool) => query.fetch_all(pool).await,
            Backend::Writer(connection) => query.fetch_all(&mut *connection.lock().await).await,
        }
    }
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_TIMEOUT)
        .statement_cache_capacity(PREPARED_STATEMENTS)
        .disable_statement_logging()
}

/// Callers pass data as values: the text of a statement is code.
fn query(statement: Statement) -> Result<Query<'static, Sqlite, SqliteArguments>> {
    use sqlx::Arguments as _;

    let mut arguments = SqliteArguments::default();
    for value in statement.values {
        match value {
            Value::Null => arguments.add(None::<i64>),
            Value::Bool(value) => arguments.add(value),
            Value::Integer(value) => arguments.add(value),
            Value::Real(value) => arguments.add(value),
            Value::Text(value) => arguments.add(value),
            Value::Bytes(value) => arguments.add(value),
            Value::List(texts) => arguments.add(Json(texts)),
        }
        .map_err(DatabaseError::Encode)?;
    }
    Ok(sqlx::query_with(AssertSqlSafe(statement.text), arguments))
}
