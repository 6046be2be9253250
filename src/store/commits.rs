//! When changes were committed, so that it can be told how soon they are found.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

/// Commits that are remembered at the most, while nobody takes them.
const REMEMBERED: usize = 4_096;

/// The commits that nobody took yet.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    /// The change log's position after each, and when it was durable; the oldest first.
    waiting: Mutex<VecDeque<(i64, Instant)>>,
}

impl Commits {
    /// Everything up to this position is durable now. Where too many wait it is passed over: what waits longest is what is
    /// asked for.
    pub(crate) fn add(&self, position: i64) {
        let mut waiting = self.lock();
        if waiting.len() < REMEMBERED {
            waiting.push_back((position, Instant::now()));
        }
    }

    /// When the oldest of the commits up to this position was durable, if any was noted; these are forgotten.
    pub(crate) fn take_up_to(&self, position: i64) -> Option<Instant> {
        let mut waiting = self.lock();
        let taken = waiting.partition_point(|(committed, _)| *committed <= position);
        let oldest = waiting.drain(..taken).next();
        oldest.map(|(_, at)| at)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(i64, Instant)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_what_is_taken_counts_once() {
        let commits = Commits::default();
        assert_eq!(commits.take_up_to(5), None);
        for position in [3, 5, 9] {
            commits.add(position);
        }
        let first = commits.lock()[0].1;
        assert_eq!(commits.take_up_to(2), None);
        assert_eq!(commits.take_up_to(8), Some(first));
        assert_eq!(commits.lock().len(), 1);
        assert!(commits.take_up_to(9).is_some());
        assert_eq!(commits.take_up_to(9), None);
    }

    #[test]
    fn what_nobody_takes_is_bounded() {
        let commits = Commits::default();
        (1..=10_000).for_each(|position| commits.add(position));
        assert_eq!(commits.lock().len(), REMEMBERED);
        assert_eq!(commits.lock()[0].0, 1, "the one that waits longest stays");
    }
}
