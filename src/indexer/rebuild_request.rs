//! Requests for a rebuild at run time: accepted, or refused with a reason.

use std::time::Duration;

use tokio::sync::oneshot;

use crate::{error::Error, index_progress::Progress};

const FULL_FOR: Duration = Duration::from_mins(1);

pub(super) type Ask = oneshot::Sender<Result<Progress, Refusal>>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RebuildState {
    #[default]
    None,
    UnderWay,
    /// It failed. Only a request or a restart begins it again, or it could fail forever.
    GivenUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    UnderWay,
    NotBeside,
    NoRoom,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::UnderWay => Self::conflict("the index is being rebuilt already"),
            Refusal::NotBeside => Self::conflict(
                "a second index does not fit: index.writer_memory_bytes must be at least 30 MB, and the \
                 index on the data directory's disk; `trawl serve --rebuild-index` rebuilds in place",
            ),
            Refusal::NoRoom => {
                Self::unavailable("the disk has no room for a second index; nothing was changed", FULL_FOR)
            }
        }
    }
}
