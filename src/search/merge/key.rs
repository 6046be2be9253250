//! In which order items are released, as one value that can be held against another.

use std::cmp::Reverse;

use super::super::weight::Score;

/// What is compared: a smaller key is released earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// Time descending, then the source's place in the module.
    Time(Reverse<i64>, usize),
    /// The better score, then the place.
    Score(Reverse<Score>, usize),
}

impl Key {
    /// The lane that it is of.
    pub(super) fn place(self) -> usize {
        match self {
            Self::Time(_, place) | Self::Score(_, place) => place,
        }
    }

    /// Whether it is of an item in time order that is newer than this.
    pub(super) fn is_newer_than(self, time: i64) -> bool {
        matches!(self, Self::Time(Reverse(own), _) if own > time)
    }

    /// Whether it is of an item in time order of just this time.
    pub(super) fn is_of(self, time: i64) -> bool {
        matches!(self, Self::Time(Reverse(own), _) if own == time)
    }
}
