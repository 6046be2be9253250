//! Requests for a rebuild at run time: accepted, or refused with a reason.

use std::time::Duration;

use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot,
};

use super::follower::Follower;
use crate::{error::Error, index_progress::Progress};

const FULL_FOR: Duration = Duration::from_mins(1);
const AWAY_FOR: Duration = Duration::from_secs(5);

pub(super) type Ask = oneshot::Sender<Result<Progress, Refusal>>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RebuildState {
    #[default]
    None,
    UnderWay,
    /// It failed. Only a request or a restart begins it again, or it could fail forever.
    GivenUp,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    UnderWay,
    NotBeside,
    NoRoom,
    /// The engine's reason.
    Unavailable(String),
}

/// Leaves a request to another task, or refuses it while an earlier one waits there.
pub(super) fn pass_on(ask: Ask, asks: &mpsc::Sender<Ask>) {
    if let Err(TrySendError::Full(ask)) = asks.try_send(ask) {
        drop(ask.send(Err(Refusal::UnderWay)));
    }
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
            Refusal::Unavailable(reason) => {
                Self::unavailable(format!("no rebuild was asked for: {reason}"), AWAY_FOR)
            }
        }
    }
}

impl Follower {
    /// Whether a requested rebuild starts, from the last commit; otherwise answers the refusal.
    pub(super) fn takes_up(&mut self, ask: Ask) -> bool {
        if ask.is_closed() {
            return false;
        }
        self.asked = Some(ask);
        let refusal = self.refusal();
        if refusal.is_none() {
            (self.rebuild, self.beside) = (true, RebuildState::None);
        }
        refusal.map(|refusal| self.answer(Err(refusal))).is_none()
    }

    fn refusal(&self) -> Option<Refusal> {
        if self.scan.is_some() {
            Some(Refusal::UnderWay)
        } else if !self.sinks.has_room_beside() {
            Some(Refusal::NotBeside)
        } else if !self.rows.store.has_room_for(self.sinks.local_bytes()) {
            Some(Refusal::NoRoom)
        } else {
            None
        }
    }

    pub(super) fn give_up_beside(&mut self) {
        if self.beside == RebuildState::UnderWay {
            tracing::error!("the rebuild of the index failed; the current index stays in use");
            (self.rebuild, self.beside) = (false, RebuildState::GivenUp);
            self.announcer.give_up();
            self.asked = None;
        }
    }

    pub(super) fn answer(&mut self, answer: Result<Progress, Refusal>) {
        if let Some(asked) = self.asked.take() {
            drop(asked.send(answer));
        }
    }
}
