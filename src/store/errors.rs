//! Maps failures of the database to the errors that callers get.

use std::time::Duration;

use sqlx_postgres::PgDatabaseError;

use super::{DatabaseError, statement::NullCharacter};
use crate::error::{Error, disk_full};

/// A failure of the database, by its meaning for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DatabaseFailure {
    DiskFull,
    CannotWrite,
    Unreachable,
    /// Every foreign key refers to the tenant.
    TenantGone,
    NullCharacter,
    Unexpected,
}

impl From<DatabaseError> for Error {
    fn from(error: DatabaseError) -> Self {
        let answer = match failure(&error) {
            DatabaseFailure::DiskFull => disk_full(),
            DatabaseFailure::CannotWrite => cannot_write(),
            DatabaseFailure::Unreachable => unreachable_store(),
            DatabaseFailure::TenantGone => Self::unauthorized("the tenant no longer exists"),
            DatabaseFailure::NullCharacter => Self::bad_request(NullCharacter.to_string()),
            DatabaseFailure::Unexpected => return Self::internal(error),
        };
        answer.caused_by(error)
    }
}

pub(super) fn cannot_write() -> Error {
    Error::unavailable("the store cannot write at the moment; nothing was changed", Duration::from_secs(10))
}

pub(super) fn cannot_commit(error: &DatabaseError) -> Error {
    if failure(error) == DatabaseFailure::DiskFull { disk_full() } else { cannot_write() }
}

pub(super) fn is_unreachable(error: &DatabaseError) -> bool {
    failure(error) == DatabaseFailure::Unreachable
}

/// The database did not say whether it committed.
pub(super) fn unknown_outcome() -> Error {
    Error::unavailable(
        "the store was lost during the change; it may have been made, so look before repeating it",
        Duration::from_secs(10),
    )
}

fn unreachable_store() -> Error {
    Error::unavailable(
        "the store cannot be reached at the moment; nothing was changed",
        Duration::from_secs(1),
    )
}

fn failure(error: &DatabaseError) -> DatabaseFailure {
    let database = match error {
        DatabaseError::Database(database) => database,
        DatabaseError::Encode(cause) if cause.is::<NullCharacter>() => return DatabaseFailure::NullCharacter,
        DatabaseError::Io(_) | DatabaseError::Tls(_) | DatabaseError::PoolTimedOut => {
            return DatabaseFailure::Unreachable;
        }
        _ => return DatabaseFailure::Unexpected,
    };
    match database.try_downcast_ref::<PgDatabaseError>() {
        Some(error) => postgres_failure(error.code()),
        None => database
            .code()
            .and_then(|code| code.parse().ok())
            .map_or(DatabaseFailure::Unexpected, sqlite_failure),
    }
}

/// Classifies an extended result code, whose low byte is the primary one.
fn sqlite_failure(code: u32) -> DatabaseFailure {
    const FOREIGN_KEY: u32 = 787;
    const READ_ONLY: u32 = 8;
    const INPUT_OUTPUT: u32 = 10;
    const FULL: u32 = 13;

    match (code, code & 0xff) {
        (FOREIGN_KEY, _) => DatabaseFailure::TenantGone,
        (_, FULL) => DatabaseFailure::DiskFull,
        (_, READ_ONLY | INPUT_OUTPUT) => DatabaseFailure::CannotWrite,
        _ => DatabaseFailure::Unexpected,
    }
}

/// Classifies a SQLSTATE (PostgreSQL manual, appendix A).
fn postgres_failure(state: &str) -> DatabaseFailure {
    match state {
        "23503" => DatabaseFailure::TenantGone,
        "53100" => DatabaseFailure::DiskFull,
        // A null character in JSON.
        "22P05" => DatabaseFailure::NullCharacter,
        // Read-only (a standby), no lock in time, a deadlock.
        "25006" | "55P03" | "40001" | "40P01" => DatabaseFailure::CannotWrite,
        // Too many connections, no answer in time, the end of the server or of an idle transaction.
        "53300" | "57014" | "57P01" | "57P02" | "57P03" | "25P03" => DatabaseFailure::Unreachable,
        _ if state.starts_with("08") => DatabaseFailure::Unreachable,
        _ => DatabaseFailure::Unexpected,
    }
}
