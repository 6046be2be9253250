//! Times of commits, to measure how soon changes are found.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

const CAPACITY: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct Commits {
    /// The change log's position and the time of each commit, oldest first.
    waiting: Mutex<VecDeque<(i64, Instant)>>,
}

impl Commits {
    /// Adds a commit up to `position`, unless too many wait.
    ///
    /// The oldest one gives the delay.
    pub(crate) fn add(&self, position: i64) {
        let mut waiting = self.lock();
        if waiting.len() < CAPACITY {
            let place = waiting.partition_point(|(earlier, _)| *earlier < position);
            waiting.insert(place, (position, Instant::now()));
        }
    }

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
    fn oldest_taken_commit_counts_once() {
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
    fn full_queue_keeps_the_oldest_commit() {
        let commits = Commits::default();
        (1..=10_000).for_each(|position| commits.add(position));
        assert_eq!(commits.lock().len(), CAPACITY);
        assert_eq!(commits.lock()[0].0, 1);
    }
}
