//! The embedded engine: indexes in a data directory, filled and searched by one process.

mod directories;
mod engine;
mod indexes;
mod sink;
mod watch;

use tokio::task::spawn_blocking;
use tokio_util::task::AbortOnDropHandle;
use trawl_engine::Failure;

use crate::Error;

pub(crate) use self::directories::bytes_in;
pub use self::engine::EmbeddedEngine;
pub use self::indexes::EmbeddedIndexes;

/// Runs work that blocks on files or the processor.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Failure> {
    let worked = AbortOnDropHandle::new(spawn_blocking(work)).await;
    worked.map_err(|panic| Failure::Failed(panic.to_string()))?.map_err(Failure::from)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Failed(match error {
            Error::Unusable(reason) => reason,
            Error::Engine(error) => error.to_string(),
            Error::Files(error) => error.to_string(),
            other => other.to_string(),
        })
    }
}
