//! SQLite: settings of its connections, and values as its arguments.

use std::{path::Path, time::Duration};

use sqlx::{ConnectOptions as _, pool::PoolOptions};
use sqlx_sqlite::{
    Sqlite, SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous,
};

use super::{DatabaseError, Result, Value, json_column::to_json, statement::storable};

/// Timeout for another process's write lock (`trawl app create` beside a running server).
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

const PREPARED_STATEMENTS: usize = 256;

pub(super) async fn open_readers(path: &Path, count: u32) -> Result<sqlx::Pool<Sqlite>> {
    let pool = PoolOptions::new()
        .max_connections(count)
        .min_connections(1)
        // An embedded database does not hang up.
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None);
    pool.connect_with(options(path).pragma("query_only", "on")).await
}

pub(super) async fn open_writer(path: &Path) -> Result<SqliteConnection> {
    options(path).create_if_missing(true).connect().await
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

pub(super) fn arguments(values: Vec<Value>) -> Result<SqliteArguments> {
    use sqlx::Arguments as _;

    let mut arguments = SqliteArguments::default();
    for value in values {
        match value {
            Value::Null => arguments.add(None::<i64>),
            Value::Bool(value) => arguments.add(value),
            Value::Integer(value) => arguments.add(value),
            Value::Real(value) => arguments.add(value),
            Value::Text(value) => arguments.add(storable(value)?),
            Value::Bytes(value) => arguments.add(value),
            Value::List(texts) => arguments.add(to_json(&texts)?),
        }
        .map_err(DatabaseError::Encode)?;
    }
    Ok(arguments)
}
