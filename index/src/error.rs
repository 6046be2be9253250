use std::io::ErrorKind;

use tantivy::TantivyError;
use tantivy::directory::error::OpenReadError;

/// Failure of the index.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Damaged files, or another version. Wipe the directory and rebuild.
    #[error("the index cannot be used: {0}")]
    Unusable(String),
    /// Another writer holds the directory.
    #[error("the index is locked by another writer")]
    Locked,
    /// An id exceeds [`MAX_ID_BYTES`](trawl_engine::MAX_ID_BYTES); nothing of the batch was applied.
    #[error("an id must have at most {max} bytes, not {0}", max = trawl_engine::MAX_ID_BYTES)]
    IdTooLong(usize),
    /// A file operation was refused.
    #[error("the index's files cannot be read or written")]
    Files(#[from] std::io::Error),
    /// Nobody waits for the search any more.
    #[error("the search was cancelled")]
    Cancelled,
    /// The engine failed. Drop the [`Writer`](crate::Writer) and reopen the index.
    #[error("the search engine failed")]
    Engine(#[source] TantivyError),
}

impl Error {
    /// Whether disk space or file handles are exhausted: waiting helps, rebuilding does not.
    pub fn is_transient(&self) -> bool {
        /// `ENFILE` and `EMFILE`, which have no `ErrorKind`.
        const TOO_MANY_FILES: [i32; 2] = [23, 24];
        const KINDS: [ErrorKind; 6] = [
            ErrorKind::StorageFull,
            ErrorKind::QuotaExceeded,
            ErrorKind::FileTooLarge,
            ErrorKind::ReadOnlyFilesystem,
            ErrorKind::OutOfMemory,
            ErrorKind::Interrupted,
        ];
        let Self::Files(error) = self else { return false };
        KINDS.contains(&error.kind())
            || error.raw_os_error().is_some_and(|code| TOO_MANY_FILES.contains(&code))
    }

    /// Refused system calls do not make an index unusable.
    pub(crate) fn from_opening(error: TantivyError) -> Self {
        match error {
            TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. })
            | TantivyError::IoError(io_error)
                if io_error.kind() != ErrorKind::NotFound
                    && let Some(code) = io_error.raw_os_error() =>
            {
                Self::Files(std::io::Error::from_raw_os_error(code))
            }
            TantivyError::LockFailure(..) => Self::Locked,
            other => Self::Unusable(other.to_string()),
        }
    }
}

impl From<TantivyError> for Error {
    fn from(error: TantivyError) -> Self {
        match error {
            TantivyError::LockFailure(..) => Self::Locked,
            TantivyError::DataCorruption(_) | TantivyError::IncompatibleIndex(_) => {
                Self::Unusable(error.to_string())
            }
            other => Self::Engine(other),
        }
    }
}
