//! Poolers between a server and PostgreSQL, such as `PgBouncer` (book: how-to/pgbouncer.md).

use sqlx::{Connection as _, Executor as _, Row as _};
use sqlx_postgres::{PgConnectOptions, PgConnection};

use super::{DatabaseError, Result, errors, postgres};

/// A start-up parameter that PostgreSQL keeps, and poolers refuse or leave out.
const PARAMETER: &str = "trawl.is_direct";

const SHARES_CONNECTIONS: &str = "the pooler before it gives connections for single transactions; \
                                  set pool_mode = session for this database";

/// Why a pooler before a database cannot serve `needed` connections.
pub(super) async fn missing_requirement(server: &PgConnectOptions, needed: u32) -> Result<Option<String>> {
    if is_direct(server).await? {
        return Ok(None);
    }
    let mut held: Vec<(PgConnection, i32)> = Vec::new();
    let found = look_for_fault(server, needed, &mut held).await;
    for (connection, _) in held {
        // The next ones wait for these.
        connection.close().await.ok();
    }
    found
}

/// Whether PostgreSQL itself answers. One that refuses is asked again by what follows.
async fn is_direct(server: &PgConnectOptions) -> Result<bool> {
    let told = async {
        let mut connection = postgres::connect(&server.clone().options([(PARAMETER, "on")])).await?;
        let row = connection.fetch_one("SELECT current_setting('trawl.is_direct', true)").await?;
        connection.close().await?;
        row.try_get::<Option<String>, _>(0)
    };
    match told.await {
        Ok(told) => Ok(told.as_deref() == Some("on")),
        Err(DatabaseError::Database(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Holds the connections at once: each has a process of PostgreSQL for itself.
async fn look_for_fault(
    server: &PgConnectOptions,
    needed: u32,
    held: &mut Vec<(PgConnection, i32)>,
) -> Result<Option<String>> {
    for count in 0..needed {
        let next = async {
            let mut connection = postgres::connect(server).await?;
            let process = process_of(&mut connection).await?;
            Ok::<_, DatabaseError>((connection, process))
        };
        match next.await {
            Ok((_, process)) if held.iter().any(|(_, other)| *other == process) => {
                return Ok(Some(SHARES_CONNECTIONS.to_owned()));
            }
            Ok(next) => held.push(next),
            Err(error) if count > 0 && errors::is_unreachable(&error) => {
                return Ok(Some(format!(
                    "the pooler before it gives {count} of the {needed} connections that this program needs; raise its \
                     pool size, or lower store.readers and store.writers"
                )));
            }
            Err(error) => return Err(error),
        }
    }
    // One that deals out connections in turn gives another in one of two transactions.
    if let Some((connection, process)) = held.first_mut() {
        for _ in 0..2 {
            if process_of(connection).await? != *process {
                return Ok(Some(SHARES_CONNECTIONS.to_owned()));
            }
        }
    }
    Ok(None)
}

async fn process_of(connection: &mut PgConnection) -> Result<i32, DatabaseError> {
    let asked = async { connection.fetch_one("SELECT pg_backend_pid()").await?.try_get(0) };
    postgres::connected(asked).await
}
