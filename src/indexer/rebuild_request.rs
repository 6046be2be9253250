//! Rebuilds that somebody asks for while the index is followed: taken up, or refused with the reason.

use std::time::Duration;

use tokio::sync::oneshot;

use super::follower::Follower;
use crate::{error::Error, index_progress::Progress};

/// When to come back where the disk has no room.
const FULL_FOR: Duration = Duration::from_mins(1);

/// Somebody asks for a rebuild, and waits to be told that it has begun, and how far the index is then.
pub(super) type Ask = oneshot::Sender<Result<Progress, Refusal>>;

/// A rebuild beside the index that is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Beside {
    #[default]
    None,
    UnderWay,
    /// It failed: unless somebody asks again, it is not begun again before the next start, or it would fail without end.
    GivenUp,
}

/// Why the index is not rebuilt now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is being filled already.
    UnderWay,
    /// There cannot be two indexes at once.
    NotBeside,
    /// The disk has no room for a second one.
    NoRoom,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::UnderWay => Self::conflict("the index is being rebuilt already"),
            Refusal::NotBeside => Self::conflict(
                "there cannot be a second index beside this one: index.writer_memory_bytes must be at least 30 MB, and the \
                 index lie on the data directory's disk; `trawl serve --rebuild-index` fills it anew in its place",
            ),
            Refusal::NoRoom => {
                Self::unavailable("the disk has no room for a second index; nothing was changed", FULL_FOR)
            }
        }
    }
}

impl Follower {
    /// Whether a rebuild that somebody asks for is to begin; where not, he is told why. It begins from the last commit.
    pub(super) fn takes_up(&mut self, ask: Ask) -> bool {
        // Who does not wait any more was told that it did not begin.
        if ask.is_closed() {
            return false;
        }
        self.asked = Some(ask);
        let refusal = self.refusal();
        if refusal.is_none() {
            (self.rebuild, self.beside) = (true, Beside::None);
        }
        refusal.map(|refusal| self.answer(Err(refusal))).is_none()
    }

    fn refusal(&self) -> Option<Refusal> {
        if self.filling.is_some() {
            Some(Refusal::UnderWay)
        } else if !self.engines.has_room_beside() {
            Some(Refusal::NotBeside)
        } else if !self.rows.store.has_room_for(self.engines.bytes()) {
            Some(Refusal::NoRoom)
        } else {
            None
        }
    }

    /// A rebuild beside the index is not begun again after a failure.
    pub(super) fn give_up_beside(&mut self) {
        if self.beside == Beside::UnderWay {
            tracing::error!("the rebuild of the index is given up; the index stays as it is");
            (self.rebuild, self.beside) = (false, Beside::GivenUp);
            self.announcer.give_up();
            // Who waits to be told that it has begun is told nothing.
            self.asked = None;
        }
    }

    /// Tells who asked for a rebuild what becomes of it.
    pub(super) fn answer(&mut self, answer: Result<Progress, Refusal>) {
        if let Some(asked) = self.asked.take() {
            // He may have gone away.
            drop(asked.send(answer));
        }
    }
}
