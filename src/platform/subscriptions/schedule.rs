//! Times of runs, without I/O.

const MINUTE: i64 = 60_000;
pub(super) const DAY: i64 = 24 * 60 * MINUTE;
/// Time until a failed run is repeated, unless its interval is shorter.
const FIRST_RETRY: i64 = 10 * MINUTE;

/// The run after one that succeeded.
pub(super) fn after_success(now: i64, interval_minutes: i64) -> i64 {
    now + interval_minutes * MINUTE
}

/// The run after `failures` in a row, at least one.
///
/// The pause doubles with each, up to a day. `random`, of 0 to 1, adds up to half of it.
pub(super) fn after_failure(now: i64, interval_minutes: i64, failures: i64, random: f64) -> i64 {
    let first = (interval_minutes * MINUTE).min(FIRST_RETRY);
    let doublings = u32::try_from(failures.saturating_sub(1).clamp(0, 16)).unwrap_or(16);
    let pause = (first << doublings).min(DAY);
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "at most a day")]
    let jitter = (pause as f64 / 2.0 * random.clamp(0.0, 1.0)) as i64;
    now + (pause + jitter).min(DAY)
}

/// The time before which items are removed.
pub(super) fn oldest_kept(now: i64, keep_days: Option<i64>) -> i64 {
    keep_days.map_or(i64::MIN, |days| now - days * DAY)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn pause_grows_from_the_first_retry_to_a_day(
            interval in 1_i64..40_320, failures in 1_i64..1_000, random in 0.0_f64..1.0,
        ) {
            let pause = after_failure(0, interval, failures, random);
            prop_assert!(pause >= (interval * MINUTE).min(FIRST_RETRY) && pause <= DAY);
            prop_assert!(after_failure(0, interval, failures + 1, 0.0) >= after_failure(0, interval, failures, 0.0));
            prop_assert_eq!(after_failure(0, interval, 1_000, random), DAY);
        }
    }

    #[test]
    fn items_without_a_limit_are_kept_for_ever() {
        assert_eq!(oldest_kept(0, None), i64::MIN);
        assert_eq!(oldest_kept(3 * DAY, Some(2)), DAY);
    }
}
