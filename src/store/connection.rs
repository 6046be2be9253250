//! Connections to the database: read-only pools, and one that writes.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr as _,
    sync::OnceLock,
};

use secrecy::{ExposeSecret as _, SecretString};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use sqlx_postgres::{PgConnectOptions, PgConnection, PgRow, Postgres};
use sqlx_sqlite::{Sqlite, SqliteConnection};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::{
    DatabaseError, Result, Statement,
    dialect::{self, Dialect, WriteScope},
    postgres, sql, sqlite,
    statement::DatabaseRow,
};

const FILE_NAME: &str = "trawl.db";

/// Sees each statement before SQLite runs it. Tests have PostgreSQL plan them, too.
pub static SQLITE_OBSERVER: OnceLock<fn(&Statement)> = OnceLock::new();

/// Address of a database.
#[derive(Clone)]
pub enum DatabaseAddress {
    /// A file of SQLite.
    File(PathBuf),
    /// A database of a PostgreSQL server.
    Server(Box<PgConnectOptions>),
}

impl DatabaseAddress {
    /// PostgreSQL at `store.url` if set, else SQLite in the data directory.
    ///
    /// # Errors
    /// A message that names the setting.
    pub fn new(url: Option<&SecretString>, data: &Path) -> Result<Self, String> {
        match url {
            Some(url) => Self::from_url(url.expose_secret()).map_err(|error| format!("store.url: {error}")),
            None => Ok(Self::in_directory(data)),
        }
    }

    /// The SQLite database in a data directory.
    pub fn in_directory(directory: &Path) -> Self {
        Self::File(directory.join(FILE_NAME))
    }

    /// The PostgreSQL database of an address such as `postgres://user@host:5432/database`.
    ///
    /// Missing parts come from libpq's environment variables and password file.
    ///
    /// # Errors
    /// A message without the address, which may hold a password.
    pub fn from_url(address: &str) -> Result<Self, String> {
        let scheme = address.split_once("://").map(|(scheme, _)| scheme);
        if !matches!(scheme, Some("postgres" | "postgresql")) {
            return Err("must be postgres://USER@HOST:PORT/DATABASE".to_owned());
        }
        let server = PgConnectOptions::from_str(address).map_err(|error| match error {
            DatabaseError::Configuration(cause) => cause.to_string(),
            _ => "must be postgres://USER@HOST:PORT/DATABASE".to_owned(),
        })?;
        Ok(Self::Server(Box::new(server)))
    }

    /// Whether its file exists; true of a server's database.
    pub fn exists(&self) -> bool {
        match self {
            Self::File(path) => path.is_file(),
            Self::Server(_) => true,
        }
    }

    /// Its dialect of SQL.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::File(_) => Dialect::Sqlite,
            Self::Server(_) => Dialect::Postgres,
        }
    }
}

impl fmt::Display for DatabaseAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(formatter),
            Self::Server(server) => {
                let database = server.get_database().unwrap_or(server.get_username());
                match server.get_socket() {
                    Some(socket) => write!(formatter, "postgres://{}/{database}", socket.display()),
                    None => {
                        write!(formatter, "postgres://{}:{}/{database}", server.get_host(), server.get_port())
                    }
                }
            }
        }
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DatabaseAddress({self})")
    }
}

/// Runs statements, each by itself or in the writer's transaction.
pub struct Connection(Backend);

/// Only the running job locks a writer, so the lock is free.
enum Backend {
    SqlitePool(sqlx::Pool<Sqlite>),
    SqliteWriter(Mutex<SqliteConnection>),
    PostgresPool(sqlx::Pool<Postgres>),
    PostgresWriter(Mutex<PgConnection>),
}

/// Calls a query's method, then a function of the database.
macro_rules! run {
    ($connection:expr, $statement:expr, $method:ident, $sqlite:expr, $postgres:expr) => {
        match &$connection.0 {
            Backend::SqlitePool(pool) => sqlite_query($statement)?.$method(pool).await.map($sqlite),
            Backend::SqliteWriter(writer) => {
                sqlite_query($statement)?.$method(&mut *writer.lock().await).await.map($sqlite)
            }
            Backend::PostgresPool(pool) => {
                postgres::answered(postgres_query($statement)?.$method(pool)).await.map($postgres)
            }
            Backend::PostgresWriter(writer) => {
                let mut writer = writer.lock().await;
                postgres::answered(postgres_query($statement)?.$method(&mut *writer)).await.map($postgres)
            }
        }
    };
}

impl Connection {
    pub(super) async fn open_readers(address: &DatabaseAddress, count: u32) -> Result<Self> {
        Ok(Self(match address {
            DatabaseAddress::File(path) => Backend::SqlitePool(sqlite::open_readers(path, count).await?),
            DatabaseAddress::Server(server) => {
                Backend::PostgresPool(postgres::open_readers(server, count).await?)
            }
        }))
    }

    /// Connections beside the writer's; SQLite has none, for it has one process.
    pub(super) async fn open_coordination(address: &DatabaseAddress) -> Result<Option<Self>> {
        let DatabaseAddress::Server(server) = address else { return Ok(None) };
        Ok(Some(Self(Backend::PostgresPool(postgres::open_coordination(server).await?))))
    }

    pub(super) async fn open_writer(address: &DatabaseAddress) -> Result<Self> {
        Ok(Self(match address {
            DatabaseAddress::File(path) => {
                Backend::SqliteWriter(Mutex::new(sqlite::open_writer(path).await?))
            }
            DatabaseAddress::Server(server) => {
                Backend::PostgresWriter(Mutex::new(postgres::open_writer(server).await?))
            }
        }))
    }

    pub(super) fn dialect(&self) -> Dialect {
        match &self.0 {
            Backend::SqlitePool(_) | Backend::SqliteWriter(_) => Dialect::Sqlite,
            Backend::PostgresPool(_) | Backend::PostgresWriter(_) => Dialect::Postgres,
        }
    }

    pub(super) async fn close_pool(&self) {
        match &self.0 {
            Backend::SqlitePool(pool) => pool.close().await,
            Backend::PostgresPool(pool) => pool.close().await,
            Backend::SqliteWriter(_) | Backend::PostgresWriter(_) => {}
        }
    }

    pub(super) async fn close_writer(self) -> Result<()> {
        match self.0 {
            Backend::SqliteWriter(connection) => connection.into_inner().close().await,
            Backend::PostgresWriter(connection) => connection.into_inner().close().await,
            Backend::SqlitePool(_) | Backend::PostgresPool(_) => Ok(()),
        }
    }

    /// Runs statements without values, in the database's own dialect.
    pub(super) async fn run_script(&self, text: impl Into<String>) -> Result<()> {
        let script = sqlx::raw_sql(AssertSqlSafe(text.into()));
        match &self.0 {
            Backend::SqlitePool(pool) => script.execute(pool).await.map(drop),
            Backend::SqliteWriter(writer) => script.execute(&mut *writer.lock().await).await.map(drop),
            Backend::PostgresPool(pool) => postgres::answered(script.execute(pool)).await.map(drop),
            Backend::PostgresWriter(writer) => {
                let mut writer = writer.lock().await;
                postgres::answered(script.execute(&mut *writer)).await.map(drop)
            }
        }
    }

    /// Begins a write transaction, counts it as one of `writer`, and runs `then` in it.
    ///
    /// PostgreSQL gives its number.
    pub(super) async fn begin(&self, scope: WriteScope, writer: Uuid, then: &str) -> Result<Option<i64>> {
        let (begin, count) = (self.dialect().begin(scope), self.dialect().count_transaction(writer));
        let row = self.run_writer_script(format!("{begin}{count}; {then}")).await?;
        row.map(|row| {
            row.try_get::<&str, _>(0)?.parse().map_err(|error| DatabaseError::Decode(Box::new(error)))
        })
        .transpose()
    }

    /// Whether this transaction was committed, once it has ended.
    pub(super) async fn is_committed(&self, writer: Uuid, number: i64) -> Result<bool> {
        // The row is locked by a transaction that is running.
        let last =
            sql("SELECT transactions FROM writers WHERE id = ? FOR UPDATE", [writer.to_string().into()]);
        Ok(last.fetch_optional_value::<i64>(self).await? == Some(number))
    }

    /// Runs a script in the write transaction, then tries another scope's lock.
    ///
    /// Returns whether the transaction has the lock, which it does not wait for.
    pub(super) async fn run_and_lock(&self, script: String, scope: WriteScope) -> Result<bool> {
        let script = match self.dialect().try_lock(scope) {
            Some(lock) => format!("{script}; {lock}"),
            None => script,
        };
        let row = self.run_writer_script(script).await?;
        row.map_or(Ok(true), |row| Ok(row.try_get::<&str, _>(0)? == "true"))
    }

    /// Runs a script and returns PostgreSQL's last row.
    async fn run_writer_script(&self, script: String) -> Result<Option<PgRow>> {
        let Backend::PostgresWriter(writer) = &self.0 else {
            return self.run_script(script).await.map(|()| None);
        };
        let mut writer = writer.lock().await;
        let rows = postgres::answered(sqlx::raw_sql(AssertSqlSafe(script)).fetch_all(&mut *writer)).await?;
        Ok(rows.into_iter().last())
    }

    pub(super) async fn execute(&self, statement: Statement) -> Result<u64> {
        run!(self, statement, execute, |done| done.rows_affected(), |done| done.rows_affected())
    }

    pub(super) async fn fetch_optional(&self, statement: Statement) -> Result<Option<DatabaseRow>> {
        run!(self, statement, fetch_optional, |row| row.map(DatabaseRow::Sqlite), |row| row
            .map(DatabaseRow::Postgres))
    }

    pub(super) async fn fetch_all(&self, statement: Statement) -> Result<Vec<DatabaseRow>> {
        run!(self, statement, fetch_all, |rows| rows.into_iter().map(DatabaseRow::Sqlite).collect(), |rows| {
            rows.into_iter().map(DatabaseRow::Postgres).collect()
        })
    }
}

type Query<DB> = sqlx::query::Query<'static, DB, <DB as sqlx::Database>::Arguments>;

/// Callers pass data as values: the text of a statement is code.
fn sqlite_query(statement: Statement) -> Result<Query<Sqlite>> {
    if let Some(observe) = SQLITE_OBSERVER.get() {
        observe(&statement);
    }
    Ok(sqlx::query_with(AssertSqlSafe(statement.text), sqlite::arguments(statement.values)?))
}

fn postgres_query(statement: Statement) -> Result<Query<Postgres>> {
    let text = dialect::postgres(&statement.text);
    Ok(sqlx::query_with(AssertSqlSafe(text), postgres::arguments(statement.values)?))
}
