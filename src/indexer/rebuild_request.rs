//! Requests for a rebuild, which are accepted, or refused with a reason.

use std::time::Duration;

use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot,
};

use crate::{error::Error, index_progress::Progress};

const FULL_FOR: Duration = Duration::from_mins(1);
const AWAY_FOR: Duration = Duration::from_secs(5);

pub(super) type Ask = oneshot::Sender<Result<Progress, RebuildRefusal>>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RebuildState {
    #[default]
    None,
    UnderWay,
    /// It failed. Only a request or a restart begins it again, or it could fail forever.
    GivenUp,
}

/// Requests to a follower for a rebuild, with the last outcome.
pub(super) struct RebuildRequests {
    pub(super) asks: mpsc::Receiver<Ask>,
    /// The request to answer once the rebuild has begun.
    asked: Option<Ask>,
    /// Whether the next opening begins a rebuild.
    pub(super) is_due: bool,
    /// Whether an operator has foreign indexes replaced.
    takes_over: bool,
    /// The last rebuild beside the searched index.
    pub(super) state: RebuildState,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum RebuildRefusal {
    UnderWay,
    NotBeside,
    NoRoom,
    /// The engine's reason.
    Unavailable(String),
}

/// Passes a request to another task, or refuses it while one waits.
pub(super) fn pass_on(ask: Ask, asks: &mpsc::Sender<Ask>) {
    if let Err(TrySendError::Full(ask)) = asks.try_send(ask) {
        drop(ask.send(Err(RebuildRefusal::UnderWay)));
    }
}

impl From<RebuildRefusal> for Error {
    fn from(refusal: RebuildRefusal) -> Self {
        match refusal {
            RebuildRefusal::UnderWay => Self::conflict("the index is being rebuilt already"),
            RebuildRefusal::NotBeside => Self::conflict(
                "a second index does not fit: index.writer_memory_bytes must be at least 30 MB, and the \
                 index on the data directory's disk; `trawl serve --rebuild-index` rebuilds in place",
            ),
            RebuildRefusal::NoRoom => {
                Self::unavailable("the disk has no room for a second index; nothing was changed", FULL_FOR)
            }
            RebuildRefusal::Unavailable(reason) => {
                Self::unavailable(format!("no rebuild was asked for: {reason}"), AWAY_FOR)
            }
        }
    }
}

impl RebuildRequests {
    pub(super) fn new(asks: mpsc::Receiver<Ask>, is_due: bool) -> Self {
        Self { asks, asked: None, is_due, takes_over: is_due, state: RebuildState::None }
    }

    /// Whether a requested rebuild starts, from the last commit; otherwise answers the refusal.
    pub(super) fn take_up(&mut self, ask: Ask, refusal: Option<RebuildRefusal>) -> bool {
        if ask.is_closed() {
            return false;
        }
        self.asked = Some(ask);
        if let Some(refusal) = refusal {
            self.answer(Err(refusal));
            return false;
        }
        (self.is_due, self.state) = (true, RebuildState::None);
        true
    }

    /// Has foreign indexes replaced at the next opening.
    pub(super) fn take_over(&mut self, ask: Ask) {
        if !ask.is_closed() {
            (self.is_due, self.takes_over, self.asked) = (true, true, Some(ask));
        }
    }

    /// Whether foreign indexes are to be replaced, once.
    pub(super) fn takes_over(&mut self) -> bool {
        std::mem::take(&mut self.takes_over)
    }

    /// Ends a rebuild that succeeded.
    pub(super) fn end(&mut self) {
        (self.is_due, self.state) = (false, RebuildState::None);
    }

    /// Gives up a rebuild beside the searched index; returns whether one ran.
    pub(super) fn give_up(&mut self) -> bool {
        let was_under_way = self.state == RebuildState::UnderWay;
        if was_under_way {
            tracing::error!("the rebuild of the index failed; the current index stays in use");
            (self.is_due, self.state, self.asked) = (false, RebuildState::GivenUp, None);
        }
        was_under_way
    }

    pub(super) fn answer(&mut self, answer: Result<Progress, RebuildRefusal>) {
        if let Some(asked) = self.asked.take() {
            drop(asked.send(answer));
        }
    }
}
