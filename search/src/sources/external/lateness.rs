//! Consecutive searches that a source did not answer in time.

use std::time::Duration;

use tokio::time::Instant;

/// Consecutive timeouts after which a source is not waited for.
const MAX_TIMEOUTS: u32 = 3;

/// Timeouts of searches since the last answer in time. Concurrent ones count once.
#[derive(Debug, Default)]
pub(super) struct Lateness {
    timeouts: u32,
    longest: Duration,
    last_end: Option<Instant>,
}

impl Lateness {
    /// Whether a search with this time left would time out, too.
    ///
    /// One with more time than all of them may get an answer.
    pub(super) fn is_late(&self, left: Duration) -> bool {
        // Waits of one deadline differ by what precedes them.
        self.timeouts >= MAX_TIMEOUTS && left <= self.longest + self.longest / 10
    }

    pub(super) fn record_timeout(&mut self, from: Instant, to: Instant) {
        self.longest = self.longest.max(to.saturating_duration_since(from));
        if self.last_end.is_none_or(|last_end| from >= last_end) {
            self.timeouts = self.timeouts.saturating_add(1);
            self.last_end = Some(to);
        }
    }

    pub(super) fn record_answer(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(1);

    /// Waits one after another; returns the end of the last.
    fn wait(lateness: &mut Lateness, from: Instant, times: u32, wait: Duration) -> Instant {
        (0..times).fold(from, |from, _| {
            lateness.record_timeout(from, from + wait);
            from + wait
        })
    }

    #[test]
    fn third_timeout_makes_a_source_late() {
        let (mut lateness, mut now) = (Lateness::default(), Instant::now());
        for times in 1..=4 {
            now = wait(&mut lateness, now, 1, WAIT);
            assert_eq!(lateness.is_late(WAIT), times >= 3, "{times}");
        }
        lateness.record_answer();
        assert!(!lateness.is_late(WAIT));
        wait(&mut lateness, now, 1, WAIT);
        assert!(!lateness.is_late(WAIT));
    }

    #[test]
    fn concurrent_waits_count_once() {
        let (mut lateness, now) = (Lateness::default(), Instant::now());
        for _ in 0..50 {
            lateness.record_timeout(now, now + WAIT);
            lateness.record_timeout(now + WAIT / 2, now + WAIT * 3 / 2);
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
