//! Maps failures of the database to the errors that callers get.

use std::time::Duration;

use super::DatabaseError;
use crate::error::{Error, disk_full};

/// SQLite's primary result codes: disk full, read-only file, failed read or write.
const FULL: u32 = 13;
const READ_ONLY: u32 = 8;
const INPUT_OUTPUT: u32 = 10;

const FOREIGN_KEY: u32 = 787;

impl From<DatabaseError> for Error {
    fn from(error: DatabaseError) -> Self {
        let code = result_code(&error);
        if code == Some(FOREIGN_KEY) {
            // Every foreign key refers to the tenant.
            return Self::unauthorized("the tenant no longer exists").caused_by(error);
        }
        match code.map(primary) {
            Some(FULL) => disk_full().caused_by(error),
            Some(READ_ONLY | INPUT_OUTPUT) => cannot_write().caused_by(error),
            _ => Self::internal(error),
        }
    }
}

pub(super) fn cannot_write() -> Error {
    Error::unavailable("the store cannot write at the moment; nothing was changed", Duration::from_secs(10))
}

pub(super) fn cannot_commit(error: &DatabaseError) -> Error {
    if result_code(error).map(primary) == Some(FULL) { disk_full() } else { cannot_write() }
}

/// The extended result code, whose low byte is the primary one.
fn result_code(error: &DatabaseError) -> Option<u32> {
    error.as_database_error()?.code()?.parse().ok()
}

fn primary(extended: u32) -> u32 {
    extended & 0xff
}
