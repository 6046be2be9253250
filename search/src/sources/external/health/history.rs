//! A source's calls by minute, each in less than a kilobyte.

use std::{collections::VecDeque, time::Duration};

use hdrhistogram::Histogram;
use serde::Serialize;

const MINUTES: i64 = 60;
/// A clock may go back this far without loss.
const MAX_BACKWARD: i64 = 1;
const MINUTE: i64 = 60_000;
/// No call takes longer.
const MAX_MILLIS: u64 = 60_000;
/// From 32 ms on, times are at most a sixteenth too high.
const DIGITS: u8 = 1;

/// The calls of one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct MinuteOfCalls {
    /// Its start, epoch milliseconds.
    pub time: i64,
    /// Answered by the contract.
    pub ok: u32,
    /// Others.
    pub failed: u32,
    /// The median of answers and timeouts in milliseconds, at most a sixteenth too high.
    pub p50: Option<u64>,
    /// The 90th percentile.
    pub p90: Option<u64>,
    /// The 99th percentile.
    pub p99: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct CallHistory {
    /// Oldest first.
    minutes: VecDeque<Minute>,
}

#[derive(Debug)]
struct Minute {
    number: i64,
    ok: u32,
    failed: u32,
    took: Option<Histogram<u32>>,
}

impl CallHistory {
    /// `took` is for answers and timeouts.
    pub(super) fn add(&mut self, now: i64, is_ok: bool, took: Option<Duration>) {
        if self.is_ahead_of(now) {
            // A wrong clock counted these.
            self.minutes.clear();
        }
        // After a small step back, calls count into the last minute.
        let last = self.minutes.back().map(|minute| minute.number);
        let number = last.map_or(minute_of(now), |last| last.max(minute_of(now)));
        while self.minutes.front().is_some_and(|minute| minute.number <= number - MINUTES) {
            self.minutes.pop_front();
        }
        if last != Some(number) {
            self.minutes.push_back(Minute { number, ok: 0, failed: 0, took: None });
        }
        let Some(minute) = self.minutes.back_mut() else { return };
        let count = if is_ok { &mut minute.ok } else { &mut minute.failed };
        *count = count.saturating_add(1);
        if let Some(took) = took {
            let millis = u64::try_from(took.as_millis()).unwrap_or(MAX_MILLIS).min(MAX_MILLIS);
            if minute.took.is_none() {
                minute.took = Histogram::new(DIGITS).ok();
            }
            if let Some(histogram) = &mut minute.took {
                // The histogram grows, so it refuses no time.
                let _recorded = histogram.record(millis);
            }
        }
    }

    /// Last hour, or since `began`, oldest first.
    pub(super) fn show(&self, began: i64, now: i64) -> Vec<MinuteOfCalls> {
        let none = VecDeque::new();
        let known = if self.is_ahead_of(now) { &none } else { &self.minutes };
        let newest = known.back().map_or(i64::MIN, |minute| minute.number);
        let last = minute_of(now).max(newest);
        let oldest = known.front().map_or(i64::MAX, |minute| minute.number);
        let first = minute_of(began).min(oldest).clamp(last - MINUTES + 1, last);
        let mut known = known.iter().peekable();
        let minutes = (first..=last).map(|number| {
            while known.next_if(|minute| minute.number < number).is_some() {}
            let minute = known.next_if(|minute| minute.number == number);
            let quantile = |quantile: f64| {
                minute.and_then(|minute| Some(minute.took.as_ref()?.value_at_quantile(quantile)))
            };
            MinuteOfCalls {
                time: number * MINUTE,
                ok: minute.map_or(0, |minute| minute.ok),
                failed: minute.map_or(0, |minute| minute.failed),
                p50: quantile(0.5),
                p90: quantile(0.9),
                p99: quantile(0.99),
            }
        });
        minutes.collect()
    }

    /// A clock that was ahead left future minutes.
    fn is_ahead_of(&self, now: i64) -> bool {
        self.minutes.back().is_some_and(|minute| minute.number > minute_of(now) + MAX_BACKWARD)
    }
}

fn minute_of(time: i64) -> i64 {
    time.div_euclid(MINUTE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: i64 = 28_000_000 * MINUTE;

    const fn took(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn clock_that_jumps_leaves_one_hour_of_history() {
        let mut history = CallHistory::default();
        history.add(START, true, Some(took(1)));
        history.add(START - MINUTE, false, Some(took(1)));
        let minutes = history.show(START, START - MINUTE);
        assert_eq!(minutes.len(), 1);
        assert_eq!((minutes[0].time, minutes[0].ok, minutes[0].failed), (START, 1, 1));
        let far = START + 1_000 * MINUTE;
        assert_eq!(history.show(START, far).len(), 60);
        assert!(history.show(START, far).iter().all(|minute| minute.ok + minute.failed == 0));
        history.add(far, true, Some(took(1)));
        assert_eq!(history.minutes.len(), 1);
    }

    #[test]
    fn clock_that_was_far_ahead_leaves_no_future_minutes() {
        let mut history = CallHistory::default();
        history.add(START + 1_000 * MINUTE, true, Some(took(1)));
        let minutes = history.show(START + 1_000 * MINUTE, START);
        assert_eq!(
            minutes.iter().map(|minute| (minute.time, minute.ok)).collect::<Vec<_>>(),
            [(START, 0)],
            "the future is not minutes"
        );
        history.add(START, false, None);
        history.add(START + MINUTE, true, Some(took(1)));
        let minutes = history.show(START, START + MINUTE);
        let counts: Vec<_> =
            minutes.iter().map(|minute| (minute.time - START, minute.ok, minute.failed)).collect();
        assert_eq!(counts, [(0, 0, 1), (MINUTE, 1, 0)]);
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(128))]

        #[test]
        fn every_call_of_the_hour_is_counted_with_close_times(
            calls in prop::collection::vec((0_i64..30 * 60_000, any::<bool>(), 0_u64..12_000), 1..300),
        ) {
            let (mut history, mut now) = (CallHistory::default(), START);
            let mut ends: Vec<(i64, u64)> = Vec::new();
            for (pause, is_ok, millis) in calls {
                now += pause / 40;
                history.add(now, is_ok, Some(took(millis)));
                ends.push((now.div_euclid(MINUTE) * MINUTE, millis));
            }
            let minutes = history.show(START, now);
            prop_assert!(minutes.len() <= 60);
            prop_assert!(minutes.windows(2).all(|pair| pair[1].time == pair[0].time + MINUTE));
            for minute in minutes {
                let mut of_it: Vec<u64> =
                    ends.iter().filter(|(time, _)| *time == minute.time).map(|(_, millis)| *millis).collect();
                of_it.sort_unstable();
                prop_assert_eq!((minute.ok + minute.failed) as usize, of_it.len());
                let exact = |percent: usize| of_it.get((of_it.len() * percent).div_ceil(100).max(1) - 1);
                for (stated, percent) in [(minute.p50, 50), (minute.p90, 90), (minute.p99, 99)] {
                    let exact = exact(percent).copied();
                    prop_assert_eq!(stated.is_some(), exact.is_some());
                    if let (Some(stated), Some(exact)) = (stated, exact) {
                        prop_assert!(exact <= stated && stated <= exact + exact / 16, "{stated} for {exact}");
                    }
                }
            }
        }
    }
}
