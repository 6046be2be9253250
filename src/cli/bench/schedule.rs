//! Start times of an open loop.
//!
//! They depend on the request number alone: a slow server cannot shift them.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Schedule {
    per_second: f64,
    length: Duration,
}

impl Schedule {
    pub(super) fn new(per_second: f64, length: Duration) -> Self {
        Self { per_second, length }
    }

    pub(super) fn start(&self, number: u64) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "nobody sends 2^53 requests")]
        let seconds = number as f64 / self.per_second;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    pub(super) fn due(&self, elapsed: Duration) -> u64 {
        let Some(last) = self.length.checked_sub(Duration::from_nanos(1)) else { return 0 };
        let elapsed = elapsed.min(last);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative")]
        let mut due = (elapsed.as_secs_f64() * self.per_second) as u64 + 1;
        // Corrects rounding at the boundary.
        while due > 0 && self.start(due - 1) > elapsed {
            due -= 1;
        }
        while self.start(due) <= elapsed {
            due += 1;
        }
        due
    }

    pub(super) fn total(&self) -> u64 {
        self.due(self.length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rate_gives_the_expected_number_of_requests() {
        let total = |rate, millis| Schedule::new(rate, Duration::from_millis(millis)).total();
        assert_eq!([total(100.0, 2_000), total(0.5, 10_000), total(3.0, 1_000)], [200, 5, 3]);
        assert_eq!([total(1.0, 1), total(5.0, 0)], [1, 0]);
        let schedule = Schedule::new(4.0, Duration::from_secs(1));
        let starts: Vec<u128> = (0..4).map(|number| schedule.start(number).as_millis()).collect();
        assert_eq!(starts, [0, 250, 500, 750]);
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn due_requests_are_exactly_the_started_ones(
            rate in 0.01_f64..200_000.0, length in 1_u64..100_000_000_000, share in 0.0_f64..2.0,
        ) {
            let length = Duration::from_nanos(length);
            let schedule = Schedule::new(rate, length);
            let elapsed = length.mul_f64(share);
            let due = schedule.due(elapsed);
            prop_assert!(due >= 1 && due <= schedule.total());
            prop_assert!(schedule.start(due - 1) <= elapsed.min(length));
            prop_assert!(schedule.start(due - 1) < length);
            if due < schedule.total() {
                prop_assert!(schedule.start(due) > elapsed);
            } else {
                prop_assert!(schedule.start(due) >= length.min(elapsed));
            }
        }
    }
}
