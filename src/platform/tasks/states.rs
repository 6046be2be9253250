//! The states of a task, and the moves between them (decisions 8.1): one table, without I/O.

use super::documents::{DONE, TODO};

/// The state that a task is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskStatus {
    /// To be done.
    ToDo = 0,
    /// It was done.
    Done = 1,
    /// To be read.
    ToRead = 2,
    /// Its assignee can neither see nor handle it for now.
    Paused = 3,
    /// It was read.
    Read = 4,
    /// It was taken back.
    Withdrawn = 5,
    /// It is gone for everyone; its row stays, so that its `appTaskId` is not created anew by a call that is sent again.
    Removed = 6,
}

/// What is done to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// `/api/todo/complete` with endType 1, and quick handling.
    Complete,
    /// `/api/todo/complete` with endType 2.
    Withdraw,
    /// `/api/todo/parse`.
    Pause,
    /// `/api/todo/resume`.
    Resume,
    /// `/api/done/remove`.
    Remove,
}

impl Move {
    /// Every move.
    pub const ALL: [Self; 5] = [Self::Complete, Self::Withdraw, Self::Pause, Self::Resume, Self::Remove];
}

/// The state that a move leads to; `None` where it cannot be made (409). `paused_from` is the state that a paused task came from.
#[rustfmt::skip]
pub fn after(status: TaskStatus, task_move: Move, paused_from: Option<TaskStatus>) -> Option<TaskStatus> {
    use TaskStatus::{Done, Paused, Read, Removed, ToDo, ToRead, Withdrawn};
    match (status, task_move) {
        (ToDo,                    Move::Complete) => Some(Done),
        (ToRead,                  Move::Complete) => Some(Read),
        (ToDo | ToRead,           Move::Withdraw) => Some(Withdrawn),
        (ToDo | ToRead,           Move::Pause)    => Some(Paused),
        (Paused,                  Move::Resume)   => paused_from,
        (Done | Read | Withdrawn, Move::Remove)   => Some(Removed),
        _ => None,
    }
}

impl TaskStatus {
    /// Every state.
    pub const ALL: [Self; 7] =
        [Self::ToDo, Self::Done, Self::ToRead, Self::Paused, Self::Read, Self::Withdrawn, Self::Removed];

    /// The number that stands for it.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// The state that a number stands for.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.number() == number)
    }

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::ToDo => "to-do",
            Self::Done => "done",
            Self::ToRead => "to-read",
            Self::Paused => "paused",
            Self::Read => "read",
            Self::Withdrawn => "withdrawn",
            Self::Removed => "removed",
        }
    }

    /// The module that a task of this state is found in; paused and removed ones are found nowhere (decisions 4.5).
    pub fn module(self) -> Option<&'static str> {
        match self {
            Self::ToDo | Self::ToRead => Some(TODO),
            Self::Done | Self::Read | Self::Withdrawn => Some(DONE),
            Self::Paused | Self::Removed => None,
        }
    }
}
