//! Leaves out a node that failed, for a while.

use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The pause of a node; none at first.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// Since its last answer.
    failures: u32,
    until: Option<Instant>,
    is_probed: bool,
}

/// How a call may go to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Regular,
    /// The only call after a pause.
    Probe,
}

impl Rest {
    /// `None` during a pause and while another call probes the node.
    pub(super) fn admit(&mut self, now: Instant) -> Option<Admission> {
        match self.until {
            None => Some(Admission::Regular),
            Some(until) if now < until || self.is_probed => None,
            Some(_) => {
                self.is_probed = true;
                Some(Admission::Probe)
            }
        }
    }

    /// End of the pause.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }

    /// Begins a pause twice as long as the last one, and returns its length.
    pub(super) fn failed(&mut self, now: Instant) -> Option<Duration> {
        // Calls that were under way when the pause began count once.
        if self.until.is_some_and(|until| now < until) {
            return None;
        }
        let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(self.failures)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.until = Some(now + pause);
        self.is_probed = false;
        Some(pause)
    }

    /// A call ended before it could tell anything.
    pub(super) fn abandoned(&mut self, admission: Admission) {
        if admission == Admission::Probe {
            self.is_probed = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Admission, Rest};

    #[test]
    fn pause_doubles_up_to_half_a_minute() {
        let mut rest = Rest::default();
        let mut now = Instant::now();
        assert_eq!(rest.admit(now), Some(Admission::Regular));
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            let pause = Duration::from_secs(seconds);
            assert_eq!(rest.failed(now), Some(pause));
            let end = now + pause;
            assert_eq!(rest.until(), Some(end));
            assert_eq!(rest.admit(end.checked_sub(Duration::from_millis(1)).unwrap()), None);
            now = end;
            assert_eq!(rest.admit(now), Some(Admission::Probe));
        }
    }

    #[test]
    fn one_call_probes_after_a_pause() {
        let (mut rest, now) = (Rest::default(), Instant::now());
        rest.failed(now);
        let later = now + Duration::from_secs(1);
        assert_eq!(rest.admit(later), Some(Admission::Probe));
        assert_eq!(rest.admit(later), None);
        rest.abandoned(Admission::Regular);
        assert_eq!(rest.admit(later), None);
        rest.abandoned(Admission::Probe);
        assert_eq!(rest.admit(later), Some(Admission::Probe));
        rest.answered();
        assert_eq!([rest.admit(later), rest.admit(later)], [Some(Admission::Regular); 2]);
    }

    #[test]
    fn failures_of_one_moment_count_once() {
        let (mut rest, now) = (Rest::default(), Instant::now());
        let pauses: Vec<Duration> = (0..50).filter_map(|_| rest.failed(now)).collect();
        assert_eq!(pauses, [Duration::from_secs(1)]);
        assert_eq!(rest.until(), Some(now + Duration::from_secs(1)));
    }
}
