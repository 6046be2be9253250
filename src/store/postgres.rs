//! PostgreSQL: settings of its connections, and values as its arguments.

use std::time::Duration;

use sqlx::{
    ConnectOptions as _, Connection as _, Encode, Executor as _, Type, encode::IsNull, error::BoxDynError,
    pool::PoolOptions,
};
use sqlx_postgres::{
    PgArgumentBuffer, PgArguments, PgConnectOptions, PgConnection, PgTypeInfo, Postgres, types::Oid,
};
use tokio::time::timeout;

use super::{Connection, DatabaseError, Result, Value, sql, statement::storable};

/// Settings of all connections: PostgreSQL cancels a statement that takes longer.
///
/// Poolers take no settings at the start of a connection.
const SETTINGS: &str = "SET statement_timeout = '60s'; SET client_min_messages = warning";

const READER_SETTINGS: &str = "SET default_transaction_read_only = on";

/// Timeout for another replica's write lock.
const LOCK_SETTINGS: &str = "SET lock_timeout = '10s'";

/// A replica that stops inside a transaction loses it and the lock.
const WRITER_SETTINGS: &str =
    "SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '20s'; SET synchronous_commit = on";

/// Time for an answer; later ones come from a broken network.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(70);

/// Time to connect, or to get a connection of a pool.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Idle time after which a connection is pinged before its next statement.
///
/// A ping before every statement would double the round trips.
const PING_AFTER: Duration = Duration::from_secs(1);

pub(super) const COORDINATION_CONNECTIONS: u32 = 3;

const PREPARED_STATEMENTS: usize = 256;

/// Properties of a server and its database, with the reason that refuses one without.
const REQUIREMENTS: [(&str, &str); 3] = [
    (
        "SELECT current_setting('server_version_num')::integer >= 150000",
        "its server is older than PostgreSQL 15",
    ),
    (
        "SELECT current_setting('server_encoding') = 'UTF8'",
        "its encoding is not UTF8 (CREATE DATABASE … ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0)",
    ),
    (
        // Pages of lists go on behind a text, in the order of its bytes.
        "SELECT 'B' < 'a' AND 'z' < 'é'",
        "its collation is not C (CREATE DATABASE … ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0)",
    ),
];

/// Why a server or its database cannot hold a store.
pub(super) async fn missing_requirement(connection: &Connection) -> Result<Option<&'static str>> {
    for (query, reason) in REQUIREMENTS {
        if !sql(query, []).fetch_value::<bool>(connection).await? {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}

pub(super) async fn open_readers(server: &PgConnectOptions, count: u32) -> Result<sqlx::Pool<Postgres>> {
    open_pool(server, READER_SETTINGS, count).await
}

/// Connections whose statements are transactions of their own.
pub(super) async fn open_coordination(server: &PgConnectOptions) -> Result<sqlx::Pool<Postgres>> {
    open_pool(server, LOCK_SETTINGS, COORDINATION_CONNECTIONS).await
}

async fn open_pool(
    server: &PgConnectOptions,
    settings: &'static str,
    count: u32,
) -> Result<sqlx::Pool<Postgres>> {
    let pool = PoolOptions::new()
        .max_connections(count)
        .min_connections(1)
        .acquire_timeout(CONNECT_TIMEOUT)
        .test_before_acquire(false)
        .after_connect(move |connection, _| Box::pin(set(connection, settings)))
        .before_acquire(|connection: &mut PgConnection, state| {
            Box::pin(async move {
                if state.idle_for > PING_AFTER {
                    connection.ping().await?;
                }
                Ok(true)
            })
        });
    pool.connect_with(options(server)).await
}

pub(super) async fn open_writer(server: &PgConnectOptions) -> Result<PgConnection> {
    let mut writer = connect(server).await?;
    connected(set(&mut writer, WRITER_SETTINGS)).await?;
    Ok(writer)
}

/// Connects without settings.
pub(super) async fn connect(server: &PgConnectOptions) -> Result<PgConnection> {
    connected(options(server).connect()).await
}

async fn set(connection: &mut PgConnection, settings: &'static str) -> Result<()> {
    connection.execute(SETTINGS).await?;
    connection.execute(settings).await.map(drop)
}

/// The result of a first statement, or a network error without one.
pub(super) async fn connected<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    within(CONNECT_TIMEOUT, work).await
}

/// The result of a statement, or a network error without one.
pub(super) async fn answered<T>(statement: impl Future<Output = Result<T>>) -> Result<T> {
    within(ANSWER_TIMEOUT, statement).await
}

async fn within<T>(limit: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(limit, work).await.map_err(|late| DatabaseError::Io(late.into()))?
}

fn options(server: &PgConnectOptions) -> PgConnectOptions {
    // Poolers refuse a parameter about the digits of numbers, of which PostgreSQL writes all by itself.
    let options = server.clone().extra_float_digits(None);
    options.statement_cache_capacity(PREPARED_STATEMENTS).disable_statement_logging()
}

pub(super) fn arguments(values: Vec<Value>) -> Result<PgArguments> {
    use sqlx::Arguments as _;

    let mut arguments = PgArguments::default();
    for value in values {
        match value {
            Value::Null => arguments.add(Untyped),
            Value::Bool(value) => arguments.add(value),
            Value::Integer(value) => arguments.add(value),
            Value::Real(value) => arguments.add(value),
            Value::Text(value) => arguments.add(storable(value)?),
            Value::Bytes(value) => arguments.add(value),
            Value::List(texts) => arguments.add(texts),
        }
        .map_err(DatabaseError::Encode)?;
    }
    Ok(arguments)
}

/// NULL of the type that the statement expects.
struct Untyped;

/// PostgreSQL's type `unknown`.
const UNKNOWN: Oid = Oid(705);

impl Type<Postgres> for Untyped {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(UNKNOWN)
    }
}

impl Encode<'_, Postgres> for Untyped {
    fn encode_by_ref(&self, _buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        Ok(IsNull::Yes)
    }
}
