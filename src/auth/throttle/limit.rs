//! Token bucket of failures.
//!
//! It counts attempts in flight, which the limiter crate does not.

use std::{
    num::NonZeroU32,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::Throttled;

const MINUTE: i64 = 60 * 1_000;

/// The end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptEnding {
    Uncounted,
    Failed,
}

/// Failures and attempts in flight of an account. Times are milliseconds of one clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attempts {
    /// Time at which all failures are forgiven.
    pub(super) forgiven_at: i64,
    pub(super) in_flight: i64,
}

/// Failures per minute.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailureLimit {
    most: i64,
    /// Time after which one more failure is forgiven.
    interval: i64,
}

impl FailureLimit {
    pub(super) fn new(per_minute: NonZeroU32) -> Self {
        let most = i64::from(per_minute.get());
        Self { most, interval: (MINUTE / most).max(1) }
    }

    /// Whether another attempt may begin.
    ///
    /// The limit holds even if all in flight fail.
    pub(super) fn check(self, attempts: Attempts, now: i64) -> Result<(), Throttled> {
        let unforgiven = (attempts.forgiven_at - now).max(0);
        let missing = unforgiven + (attempts.in_flight + 1 - self.most) * self.interval;
        match u64::try_from(missing) {
            Ok(missing @ 1..) => Err(Throttled(Duration::from_millis(missing))),
            _ => Ok(()),
        }
    }

    /// Time at which all failures are forgiven after one more.
    pub(super) fn after_failure(self, forgiven_at: i64, now: i64) -> i64 {
        let bound = now + 2 * self.most * self.interval;
        (forgiven_at.max(now) + self.interval).min(bound)
    }
}

/// Counts an account's attempts in memory.
pub(super) struct Failures {
    limit: FailureLimit,
    start: Instant,
    attempts: Mutex<Attempts>,
}

impl Failures {
    pub(super) fn new(limit: FailureLimit) -> Self {
        Self { limit, start: Instant::now(), attempts: Mutex::default() }
    }

    fn attempts(&self) -> MutexGuard<'_, Attempts> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> i64 {
        i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    pub(super) fn check(&self) -> Result<(), Throttled> {
        self.limit.check(*self.attempts(), self.now())
    }

    pub(super) fn begin(&self) -> Result<(), Throttled> {
        let mut attempts = self.attempts();
        self.limit.check(*attempts, self.now())?;
        attempts.in_flight += 1;
        Ok(())
    }

    pub(super) fn end(&self, ending: AttemptEnding) {
        self.attempts().in_flight -= 1;
        if ending == AttemptEnding::Failed {
            self.fail();
        }
    }

    pub(super) fn fail(&self) {
        let mut attempts = self.attempts();
        attempts.forgiven_at = self.limit.after_failure(attempts.forgiven_at, self.now());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn failure_is_forgiven_after_its_share_of_a_minute() {
        let limit = FailureLimit::new(NonZeroU32::new(2).unwrap());
        let failed = |times: i64| (0..times).fold(0, |forgiven_at, _| limit.after_failure(forgiven_at, 0));
        let wait = |failures, in_flight, now| {
            let attempts = Attempts { forgiven_at: failed(failures), in_flight };
            limit.check(attempts, now).err().map(|Throttled(wait)| wait.as_secs())
        };
        assert_eq!([wait(0, 1, 0), wait(1, 0, 0), wait(0, 0, 0)], [None; 3]);
        assert_eq!([wait(2, 0, 0), wait(1, 1, 0), wait(0, 2, 0)], [Some(30); 3]);
        assert_eq!([wait(2, 0, 20_000), wait(2, 0, 30_000), wait(2, 1, 30_000)], [Some(10), None, Some(30)]);
        assert_eq!(wait(1_000, 0, 0), Some(90), "the wait is not bounded");
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(200))]

        #[test]
        fn no_period_has_more_failures(
            most in 1_u32..8,
            steps in prop::collection::vec((0_i64..20_000, any::<bool>()), 0..80),
        ) {
            let limit = FailureLimit::new(NonZeroU32::new(most).unwrap());
            let (mut attempts, mut now, mut failed) = (Attempts::default(), 0, Vec::new());
            for (gap, begins) in steps {
                now += gap;
                if begins && limit.check(attempts, now).is_ok() {
                    attempts.in_flight += 1;
                } else if attempts.in_flight > 0 {
                    attempts.in_flight -= 1;
                    attempts.forgiven_at = limit.after_failure(attempts.forgiven_at, now);
                    failed.push(now);
                }
            }
            for (first, start) in failed.iter().enumerate() {
                for (last, end) in failed.iter().enumerate().skip(first) {
                    let allowed = i64::from(most) + (end - start) / limit.interval;
                    prop_assert!(i64::try_from(last - first + 1).unwrap() <= allowed);
                }
            }
        }
    }
}
