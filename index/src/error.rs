//! What can go wrong in the index, sorted by what the caller can do about it.

use std::io::ErrorKind;

use tantivy::TantivyError;

/// A failure of the index.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The files cannot be used: another version wrote them, or they are damaged. Wipe the directory and rebuild.
    #[error("the index cannot be used: {0}")]
    Unusable(String),
    /// Another writer holds the directory.
    #[error("the index is locked by another writer")]
    Locked,
    /// A document's id is longer than [`MAX_ID_BYTES`](crate::MAX_ID_BYTES); nothing of the batch was applied.
    #[error("an id of {0} bytes is too long to be indexed")]
    IdTooLong(usize),
    /// The operating system refused a file operation.
    #[error("the index's files cannot be read or written")]
    Files(#[from] std::io::Error),
    /// The engine failed. A [`Writer`](crate::Writer) that answered this is to be dropped and the index opened again.
    #[error("the search engine failed")]
    Engine(#[source] TantivyError),
}

impl Error {
    /// Whether the system has no room or no means at the moment: waiting helps, and building anew does not.
    pub fn is_passing(&self) -> bool {
        /// The numbers of "too many files are open" of the system and of the process; they have no kind.
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
