//! Read-only connections to PostgreSQL, `MySQL` and SQLite.

use std::{
    future::Future,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use futures::TryStreamExt as _;
use secrecy::{ExposeSecret, SecretString};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions as _, Executor as _, Row as _, SqlSafeStr as _,
    Statement as _, TypeInfo as _,
};
use sqlx_mysql::{MySqlConnectOptions, MySqlConnection, MySqlSslMode};
use sqlx_postgres::{PgConnectOptions, PgConnection, PgSslMode};
use sqlx_sqlite::{SqliteConnectOptions, SqliteConnection, SqliteLockingMode};
use tokio::time::timeout;
use url::Url;

use super::page::{OWN_COLUMNS, PageRows, QueryColumn};

/// Timeout of connecting, and of each statement.
pub(super) const TIMEOUT: Duration = Duration::from_mins(1);
/// Steps of SQLite's machine between looks at the time.
const SQLITE_STEPS: i32 = 100_000;
const SHOWN_BYTES: usize = 300;
/// The message where SQLite gets no memory.
pub(super) const OUT_OF_MEMORY: &str = "the query takes more memory than its process has";
/// SQLite's code of that (<https://sqlite.org/rescode.html#nomem>).
const NO_MEMORY_CODE: &str = "7";

/// How a file of SQLite is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SqliteAccess {
    /// Beside others, by SQLite's locks.
    Shared,
    /// As one that nobody has open.
    Closed,
    /// As one that nobody has open, with a write-ahead log and without the log's index.
    ///
    /// SQLite makes an index in memory (<https://sqlite.org/wal.html#use_of_wal_without_shared_memory>). It takes an
    /// exclusive lock for it, which a file that is only read cannot have.
    Unindexed,
}

/// An open connection.
pub(super) enum DatabaseConnection {
    Postgres(PgConnection),
    MySql(MySqlConnection),
    Sqlite(SqliteConnection),
}

/// The same of each kind of connection.
macro_rules! on_each {
    ($database:expr, $connection:ident => $work:expr) => {
        match $database {
            DatabaseConnection::Postgres($connection) => $work,
            DatabaseConnection::MySql($connection) => $work,
            DatabaseConnection::Sqlite($connection) => $work,
        }
    };
}

impl DatabaseConnection {
    /// Connects to PostgreSQL, by an address that the form has checked.
    ///
    /// # Errors
    /// A message for operators, as of every method.
    pub(super) async fn postgres(address: &Url, password: Option<&SecretString>) -> Result<Self, String> {
        Box::pin(within(postgres(address, password.map(ExposeSecret::expose_secret)).connect()))
            .await
            .map(Self::Postgres)
    }

    /// Connects to `MySQL` or `MariaDB`.
    pub(super) async fn mysql(address: &Url, password: Option<&SecretString>) -> Result<Self, String> {
        Box::pin(within(mysql(address, password.map(ExposeSecret::expose_secret)).connect()))
            .await
            .map(Self::MySql)
    }

    /// Opens a file to read it.
    pub(super) async fn sqlite(file: &Path, access: SqliteAccess) -> Result<Self, String> {
        let options = SqliteConnectOptions::new().filename(file).read_only(true);
        let options = match access {
            SqliteAccess::Shared => options,
            SqliteAccess::Closed => options.immutable(true),
            SqliteAccess::Unindexed => options.vfs("unix-none").locking_mode(SqliteLockingMode::Exclusive),
        };
        // Temporary files cannot be made.
        let options = options.pragma("temp_store", "memory").disable_statement_logging();
        within(options.connect()).await.map(Self::Sqlite)
    }

    /// The columns of a query.
    pub(super) async fn columns(&mut self, query: &str) -> Result<Vec<QueryColumn>, String> {
        let text = format!("SELECT * FROM ({query}\n) AS subscribed");
        on_each!(self, connection => {
            let prepared = within(connection.prepare(AssertSqlSafe(text).into_sql_str())).await?;
            let columns = prepared.columns().iter().map(|column| QueryColumn {
                name: column.name().to_owned(),
                data_type: column.type_info().name().to_ascii_uppercase(),
            });
            Ok(columns.collect())
        })
    }

    /// The offset from UTC of the database's own zone; zero if it does not tell.
    pub(super) async fn zone_millis(&mut self) -> i64 {
        let text = match self {
            // The connection's own `TimeZone` is UTC; both are the host's where nobody set them.
            Self::Postgres(_) => {
                "SELECT CAST(EXTRACT(EPOCH FROM (now() AT TIME ZONE current_setting('log_timezone')) \
                 - (now() AT TIME ZONE 'UTC')) AS BIGINT)"
            }
            Self::MySql(_) => {
                "SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), \
                 CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', @@global.time_zone))"
            }
            // The host's, which a confined process does not know.
            Self::Sqlite(_) => return 0,
        };
        let seconds = on_each!(self, connection => {
            let row = within(connection.fetch_one(text)).await;
            row.ok().and_then(|row| row.try_get_unchecked::<Option<i64>, _>(0).ok().flatten())
        });
        seconds.unwrap_or_default().saturating_mul(1_000)
    }

    /// Whether its user is a superuser of PostgreSQL, whose functions write in a read-only transaction, too.
    pub(super) async fn is_superuser(&mut self) -> bool {
        let Self::Postgres(connection) = self else { return false };
        let row = within(connection.fetch_one("SELECT current_setting('is_superuser') = 'on'")).await;
        row.ok().and_then(|row| row.try_get(0).ok()).unwrap_or_default()
    }

    /// Rows of a statement as texts, until the page is full, in a read-only transaction.
    pub(super) async fn rows(&mut self, (text, values): (String, Vec<String>)) -> Result<PageRows, String> {
        self.begin().await?;
        let rows = on_each!(self, connection => {
            let mut query = sqlx::query(AssertSqlSafe(text));
            for value in values {
                query = query.bind(value);
            }
            let mut rows = query.fetch(&mut *connection);
            let mut page = PageRows::default();
            in_time(async {
                while !page.is_full() && let Some(row) = rows.try_next().await.map_err(|error| describe(&error))? {
                    let fields = row.len().saturating_sub(OWN_COLUMNS);
                    let text = |place| match row.try_get_unchecked::<Option<String>, _>(place) {
                        // SQLite stores any bytes as text.
                        Err(_) if place < fields => {
                            let bytes = row.try_get_unchecked::<Option<Vec<u8>>, _>(place);
                            let bytes = bytes.map_err(|error| describe(&error))?;
                            Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
                        }
                        Err(_) => Err("sql.query: must give ids and cursors in UTF-8".to_owned()),
                        Ok(text) => Ok(text),
                    };
                    page.push((0..row.len()).map(text).collect::<Result<_, String>>()?);
                }
                Ok(page)
            })
            .await
        });
        let ended = on_each!(self, connection => within(connection.execute("ROLLBACK")).await.map(drop));
        let rows = rows?;
        ended.map(|()| rows)
    }

    async fn begin(&mut self) -> Result<(), String> {
        let limit = TIMEOUT.as_millis();
        match self {
            Self::Postgres(connection) => {
                within(connection.execute("BEGIN TRANSACTION READ ONLY")).await?;
                let text = format!("SET LOCAL extra_float_digits = 2; SET LOCAL statement_timeout = {limit}");
                within(connection.execute(AssertSqlSafe(text))).await?;
            }
            Self::MySql(connection) => {
                // MySQL and MariaDB know one of these each.
                for text in [
                    format!("SET SESSION max_execution_time = {limit}"),
                    format!("SET SESSION max_statement_time = {}", TIMEOUT.as_secs()),
                ] {
                    drop(within(connection.execute(AssertSqlSafe(text))).await);
                }
                within(connection.execute("START TRANSACTION READ ONLY")).await?;
            }
            Self::Sqlite(connection) => {
                let end = Instant::now() + TIMEOUT;
                let mut handle = connection.lock_handle().await.map_err(|error| describe(&error))?;
                handle.set_progress_handler(SQLITE_STEPS, move || Instant::now() < end);
                drop(handle);
                within(connection.execute("BEGIN")).await?;
            }
        }
        Ok(())
    }
}

fn postgres(address: &Url, password: Option<&str>) -> PgConnectOptions {
    // The server's environment is about its own store. Only `PGOPTIONS` and a client certificate of it stay.
    let options = PgConnectOptions::new_without_pgpass()
        .host(host(address))
        .port(address.port().unwrap_or(5432))
        .username(&decoded(address.username()))
        .password(password.unwrap_or_default())
        .database(&decoded(address.path().trim_start_matches('/')))
        .application_name("trawl")
        .extra_float_digits(None)
        .ssl_mode(if requires_tls(address) { PgSslMode::VerifyFull } else { PgSslMode::Prefer })
        .disable_statement_logging();
    match system_authorities() {
        Some(file) => options.ssl_root_cert(file),
        None => options.ssl_root_cert_from_pem(Vec::new()),
    }
}

fn mysql(address: &Url, password: Option<&str>) -> MySqlConnectOptions {
    let mut options = MySqlConnectOptions::new()
        .host(host(address))
        .port(address.port().unwrap_or(3306))
        .username(&decoded(address.username()))
        .database(&decoded(address.path().trim_start_matches('/')))
        .timezone(Some("+00:00".to_owned()))
        .ssl_mode(if requires_tls(address) { MySqlSslMode::VerifyIdentity } else { MySqlSslMode::Preferred });
    if let Some(password) = password {
        options = options.password(password);
    }
    if let Some(file) = system_authorities() {
        options = options.ssl_ca(file);
    }
    options.disable_statement_logging()
}

/// An IPv6 address without its brackets.
fn host(address: &Url) -> &str {
    address.host_str().unwrap_or_default().trim_matches(['[', ']'])
}

fn requires_tls(address: &Url) -> bool {
    address.query() == Some("tls=required")
}

/// The file of the system's authorities, trusted beside Mozilla's; `SSL_CERT_FILE` names another.
fn system_authorities() -> Option<PathBuf> {
    openssl_probe::probe().cert_file
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

async fn within<T>(work: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, String> {
    in_time(async { work.await.map_err(|error| describe(&error)) }).await
}

async fn in_time<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    timeout(TIMEOUT, work).await.unwrap_or_else(|_| Err("the database did not answer in time".to_owned()))
}

/// The database's message on a query; others may reveal too much.
fn describe(error: &sqlx::Error) -> String {
    match error {
        // SQLite's word for an end by the progress handler.
        sqlx::Error::Database(error) if error.message() == "interrupted" => {
            format!("the query takes more than {} s", TIMEOUT.as_secs())
        }
        sqlx::Error::Database(error) if error.code().as_deref() == Some(NO_MEMORY_CODE) => {
            OUT_OF_MEMORY.to_owned()
        }
        sqlx::Error::Database(error) => {
            let mut message = format!("the database answered: {}", error.message());
            crate::rows::row::truncate(&mut message, SHOWN_BYTES);
            message
        }
        sqlx::Error::Io(error) => format!("the database cannot be reached: {error}"),
        sqlx::Error::Tls(_) => "the connection to the database failed in TLS".to_owned(),
        _ => "the database could not be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_address_is_called_without_brackets() {
        let address = |kind| Url::parse(&format!("{kind}://reader@[::1]:5432/crm")).unwrap();
        assert_eq!(postgres(&address("postgres"), None).get_host(), "::1");
        assert_eq!(mysql(&address("mysql"), None).get_host(), "::1");
    }
}
