//! Searches in a row that a source did not answer in time (decisions 12.6).

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{health::SourceState, page_cache::PageResult};
use crate::{single_flight::SharedCall, source::SourceFailure};

/// So many waits in vain make a source late.
const IN_A_ROW: u32 = 3;

/// Waits in vain since the last answer in time. Of concurrent ones, the first to end counts.
#[derive(Debug, Default)]
pub(super) struct Lateness {
    in_vain: u32,
    longest: Duration,
    last_end: Option<Instant>,
}

impl Lateness {
    /// Whether a search with this time left waits in vain, too.
    ///
    /// One with more time than all of them may get an answer.
    pub(super) fn is_late(&self, left: Duration) -> bool {
        // Waits of one deadline differ by what precedes them.
        self.in_vain >= IN_A_ROW && left <= self.longest + self.longest / 10
    }

    pub(super) fn waited_in_vain(&mut self, from: Instant, to: Instant) {
        self.longest = self.longest.max(to.saturating_duration_since(from));
        if self.last_end.is_none_or(|last_end| from >= last_end) {
            self.in_vain = self.in_vain.saturating_add(1);
            self.last_end = Some(to);
        }
    }

    pub(super) fn answered_in_time(&mut self) {
        *self = Self::default();
    }
}

impl SourceState {
    /// Whether a search with this time left does not wait for the source.
    pub(super) fn is_late(&self, left: Duration) -> bool {
        self.lock().lateness.is_late(left)
    }
}

/// The wait of one search for an answer, recorded at its end.
pub(super) struct Wait {
    state: Arc<SourceState>,
    began: Instant,
    until: Instant,
    is_recorded: bool,
}

impl Wait {
    pub(super) fn until(until: Instant, state: &Arc<SourceState>) -> Self {
        Self { state: Arc::clone(state), began: Instant::now(), until, is_recorded: false }
    }

    /// Failures are answers, too. A wait that is dropped before its end tells nothing.
    pub(super) async fn for_answer(mut self, call: SharedCall<PageResult>) -> PageResult {
        let result = call.await;
        if Instant::now() < self.until {
            self.is_recorded = true;
            self.state.lock().lateness.answered_in_time();
        }
        result
    }

    /// Has a call run on alone, so that its answer is kept.
    pub(super) fn leave(self, call: SharedCall<PageResult>) -> PageResult {
        tokio::spawn(self.for_answer(call));
        Err(SourceFailure::late())
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if !self.is_recorded && Instant::now() >= self.until {
            self.state.lock().lateness.waited_in_vain(self.began, self.until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(1);

    /// Waits one after another; returns the end of the last.
    fn wait(lateness: &mut Lateness, from: Instant, times: u32, wait: Duration) -> Instant {
        (0..times).fold(from, |from, _| {
            lateness.waited_in_vain(from, from + wait);
            from + wait
        })
    }

    #[test]
    fn third_wait_in_vain_makes_a_source_late() {
        let (mut lateness, mut now) = (Lateness::default(), Instant::now());
        for times in 1..=4 {
            now = wait(&mut lateness, now, 1, WAIT);
            assert_eq!(lateness.is_late(WAIT), times >= 3, "{times}");
        }
        lateness.answered_in_time();
        assert!(!lateness.is_late(WAIT));
        wait(&mut lateness, now, 1, WAIT);
        assert!(!lateness.is_late(WAIT));
    }

    #[test]
    fn concurrent_waits_count_once() {
        let (mut lateness, now) = (Lateness::default(), Instant::now());
        for _ in 0..50 {
            lateness.waited_in_vain(now, now + WAIT);
            lateness.waited_in_vain(now + WAIT / 2, now + WAIT * 3 / 2);
        }
        assert!(!lateness.is_late(WAIT));
        wait(&mut lateness, now + WAIT, 2, WAIT);
        assert!(lateness.is_late(WAIT));
    }

    #[test]
    fn search_with_more_time_waits() {
        let (mut lateness, now) = (Lateness::default(), Instant::now());
        let now = wait(&mut lateness, now, 5, Duration::from_millis(50));
        assert!(lateness.is_late(Duration::from_millis(55)) && !lateness.is_late(WAIT));
        wait(&mut lateness, now, 1, WAIT);
        assert!(lateness.is_late(WAIT));
    }
}
