use std::cmp::Reverse;

use crate::weight::Score;

/// The smaller key is released first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SortKey {
    /// Time descending, then place.
    Time(Reverse<i64>, usize),
    /// Score descending, then place.
    Score(Reverse<Score>, usize),
}

impl SortKey {
    pub(super) fn place(self) -> usize {
        match self {
            Self::Time(_, place) | Self::Score(_, place) => place,
        }
    }

    /// False in relevance order.
    pub(super) fn is_newer_than(self, time: i64) -> bool {
        matches!(self, Self::Time(Reverse(own), _) if own > time)
    }

    pub(super) fn is_of(self, time: i64) -> bool {
        matches!(self, Self::Time(Reverse(own), _) if own == time)
    }
}
