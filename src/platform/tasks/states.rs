//! Task states and their moves (book: reference/tasks.md).

/// Module of open tasks.
pub const TODO: &str = "todo";
/// Module of done, read and withdrawn tasks.
pub const DONE: &str = "done";

/// Task status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskStatus {
    /// To do.
    ToDo = 0,
    /// Done.
    Done = 1,
    /// To read.
    ToRead = 2,
    /// Hidden from the assignee, who cannot handle it.
    Paused = 3,
    /// Read.
    Read = 4,
    /// Withdrawn.
    Withdrawn = 5,
    /// Gone for everyone. Its row stays, so that a repeated request cannot create the `appTaskId` again.
    Removed = 6,
}

/// Task move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskMove {
    /// `/api/todo/complete` with `endType` 1, and quick handling.
    Complete,
    /// `/api/todo/complete` with `endType` 2.
    Withdraw,
    /// `/api/todo/parse`.
    Pause,
    /// `/api/todo/resume`.
    Resume,
    /// `/api/done/remove`.
    Remove,
}

impl TaskMove {
    /// All moves.
    pub const ALL: [Self; 5] = [Self::Complete, Self::Withdraw, Self::Pause, Self::Resume, Self::Remove];

    /// Participle for messages.
    pub fn participle(self) -> &'static str {
        match self {
            Self::Complete => "completed",
            Self::Withdraw => "withdrawn",
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Remove => "removed",
        }
    }

    /// States that allow the move.
    pub fn starts_from(self) -> Vec<TaskStatus> {
        let paused_from = Some(TaskStatus::ToDo);
        TaskStatus::ALL.into_iter().filter(|status| after(*status, self, paused_from).is_some()).collect()
    }
}

/// `None` if invalid (409). `paused_from` is the status before a pause.
#[rustfmt::skip]
pub fn after(status: TaskStatus, task_move: TaskMove, paused_from: Option<TaskStatus>) -> Option<TaskStatus> {
    use TaskStatus::{Done, Paused, Read, Removed, ToDo, ToRead, Withdrawn};
    match (status, task_move) {
        (ToDo,                    TaskMove::Complete) => Some(Done),
        (ToRead,                  TaskMove::Complete) => Some(Read),
        (ToDo | ToRead,           TaskMove::Withdraw) => Some(Withdrawn),
        (ToDo | ToRead,           TaskMove::Pause)    => Some(Paused),
        (Paused,                  TaskMove::Resume)   => paused_from,
        (Done | Read | Withdrawn, TaskMove::Remove)   => Some(Removed),
        _ => None,
    }
}

impl TaskStatus {
    /// All states.
    pub const ALL: [Self; 7] =
        [Self::ToDo, Self::Done, Self::ToRead, Self::Paused, Self::Read, Self::Withdrawn, Self::Removed];

    /// Number of the status.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// Status by number.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.number() == number)
    }

    /// Name for messages.
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

    /// The module that shows the task; `None` if paused or removed.
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
        TaskMove::{Complete, Pause, Remove, Resume, Withdraw},
        *,
    };

    /// Permitted moves: state before, move, state after.
    const MOVES: [(i64, TaskMove, i64); 9] = [
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
    fn every_move_of_every_state_is_permitted_or_refused_as_listed() {
        for number in 0..7 {
            let status = TaskStatus::from_number(number).unwrap();
            assert_eq!(status.number(), number);
            for task_move in TaskMove::ALL {
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
