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

    /// What becomes of a task by it, for people.
    pub fn participle(self) -> &'static str {
        match self {
            Self::Complete => "completed",
            Self::Withdraw => "withdrawn",
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Remove => "removed",
        }
    }

    /// The states that it can be made from.
    pub fn starts_from(self) -> Vec<TaskStatus> {
        let paused_from = Some(TaskStatus::ToDo);
        TaskStatus::ALL.into_iter().filter(|status| after(*status, self, paused_from).is_some()).collect()
    }
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

#[cfg(test)]
mod tests {
    use super::{
        Move::{Complete, Pause, Remove, Resume, Withdraw},
        *,
    };

    /// Decisions 8.1, in its own numbers: from, move, to.
    const MOVES: [(i64, Move, i64); 9] = [
        (0, Complete, 1),
        (2, Complete, 4),
        (0, Withdraw, 5),
        (2, Withdraw, 5),
        (0, Pause, 3),
        (2, Pause, 3),
        (1, Remove, 6),
        (4, Remove, 6),
        (5, Remove, 6),
    ];

    #[test]
    fn every_state_with_every_move_is_as_decided() {
        for number in 0..7 {
            let status = TaskStatus::from_number(number).unwrap();
            assert_eq!(status.number(), number);
            for task_move in Move::ALL {
                for paused_from in [0, 2].map(|from| TaskStatus::from_number(from).unwrap()) {
                    let listed = MOVES.iter().find(|(from, made, _)| (*from, *made) == (number, task_move));
                    let is_resumed = (number, task_move) == (3, Resume);
                    let expected =
                        listed.map(|(_, _, to)| *to).or(is_resumed.then_some(paused_from.number()));
                    let paused_from = (number == 3).then_some(paused_from);
                    let to = after(status, task_move, paused_from).map(TaskStatus::number);
                    assert_eq!(to, expected, "{number} {task_move:?} {paused_from:?}");
                    assert_eq!(task_move.starts_from().contains(&status), expected.is_some());
                }
            }
        }
        assert_eq!((TaskStatus::from_number(-1), TaskStatus::from_number(7)), (None, None));
    }
}
