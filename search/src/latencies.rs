//! Latencies of recent calls.

use std::{collections::VecDeque, time::Duration};

use serde::Serialize;

/// Quantiles in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Latency {
    /// The median.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
}

pub(crate) const WINDOW: usize = 512;
/// Fewer calls give no percentile.
pub(crate) const MIN_CALLS: usize = 32;
const REFRESH_AFTER: usize = 16;

/// Last 512 latencies.
#[derive(Debug, Default)]
pub struct Latencies {
    last: VecDeque<Duration>,
    /// Cached since `added` calls ago.
    late: Option<Duration>,
    added: usize,
}

impl Latencies {
    /// Adds a latency.
    pub fn add(&mut self, took: Duration) {
        if self.last.len() == WINDOW {
            self.last.pop_front();
        }
        self.last.push_back(took);
        self.added += 1;
    }

    /// The 95th percentile; `None` before 32 calls.
    pub fn late(&mut self) -> Option<Duration> {
        if self.last.len() < MIN_CALLS {
            return None;
        }
        if self.late.is_none() || self.added >= REFRESH_AFTER {
            let mut latencies: Vec<Duration> = self.last.iter().copied().collect();
            let place = rank(latencies.len(), 95) - 1;
            self.late = Some(*latencies.select_nth_unstable(place).1);
            self.added = 0;
        }
        self.late
    }

    /// The quantiles; `None` before the first call.
    pub fn quantiles(&self) -> Option<Latency> {
        let mut latencies: Vec<Duration> = self.last.iter().copied().collect();
        latencies.sort_unstable();
        let quantile = |percent: usize| {
            let took = latencies.get(rank(latencies.len(), percent) - 1)?;
            u64::try_from(took.as_millis()).ok()
        };
        Some(Latency { p50: quantile(50)?, p90: quantile(90)?, p99: quantile(99)? })
    }
}

fn rank(count: usize, percent: usize) -> usize {
    (count * percent).div_ceil(100).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn late_is_the_95th_percentile(took in prop::collection::vec(0_u64..1_000, 1..1_500)) {
            let mut latencies = Latencies::default();
            for (count, took) in (1..).zip(&took) {
                latencies.add(Duration::from_millis(*took));
                prop_assert_eq!(latencies.late().is_some(), count >= MIN_CALLS);
            }
            latencies.added = REFRESH_AFTER;
            let mut last: Vec<u64> = took.iter().rev().take(WINDOW).copied().collect();
            last.sort_unstable();
            if let Some(late) = latencies.late() {
                let later = last.iter().filter(|took| Duration::from_millis(**took) > late).count();
                prop_assert!(later * 100 <= last.len() * 5);
                let at_least = last.iter().filter(|took| Duration::from_millis(**took) >= late).count();
                prop_assert!(at_least * 100 >= last.len() * 5);
            }
        }
    }
}
