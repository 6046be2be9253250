//! Lock of the data directory, which one server uses at a time.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

const LOCK: &str = "index.lock";

/// Held until it is dropped.
pub(super) struct DataLock {
    _file: File,
}

/// Why the data directory is not this server's.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another server uses it.
    #[error("another server uses it")]
    Taken,
    /// The lock file cannot be opened or locked.
    #[error(transparent)]
    File(#[from] std::io::Error),
}

impl DataLock {
    pub(super) fn take(data: &Path) -> Result<Self, LockError> {
        let file = File::create(data.join(LOCK))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(LockError::Taken),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }
}
