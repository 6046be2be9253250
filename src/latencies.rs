//! How long the last of many things took: calls of a source, batches of the index.

use std::{collections::VecDeque, time::Duration};

use serde::Serialize;

/// How long calls took, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Latency {
    /// Half of them took at most this.
    pub p50: u64,
    /// Nine of ten.
    pub p90: u64,
    /// Ninety-nine of a hundred.
    pub p99: u64,
}

/// Calls that are remembered.
pub(crate) const REMEMBERED: usize = 512;
/// Fewer calls say nothing of what is late.
pub(crate) const LEAST_KNOWN: usize = 32;
/// After so many more calls, what is late is worked out anew.
const ANEW_AFTER: usize = 16;

/// The latencies of the last calls that took their time.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    last: VecDeque<Duration>,
    /// The 95th percentile, as it was `added` calls ago.
    late: Option<Duration>,
    added: usize,
}

impl Latencies {
    pub(crate) fn add(&mut self, took: Duration) {
        if self.last.len() == REMEMBERED {
            self.last.pop_front();
        }
        self.last.push_back(took);
        self.added += 1;
    }

    /// The time that 95 of 100 calls take at most; `None` before enough of them are known.
    pub(crate) fn late(&mut self) -> Option<Duration> {
        if self.last.len() < LEAST_KNOWN {
            return None;
        }
        if self.late.is_none() || self.added >= ANEW_AFTER {
            let mut latencies: Vec<Duration> = self.last.iter().copied().collect();
            let place = rank(latencies.len(), 95) - 1;
            self.late = Some(*latencies.select_nth_unstable(place).1);
            self.added = 0;
        }
        self.late
    }

    /// The quantiles, in milliseconds; `None` before the first call.
    pub(crate) fn quantiles(&self) -> Option<Latency> {
        let mut latencies: Vec<Duration> = self.last.iter().copied().collect();
        latencies.sort_unstable();
        let quantile = |percent: usize| {
            let took = latencies.get(rank(latencies.len(), percent) - 1)?;
            u64::try_from(took.as_millis()).ok()
        };
        Some(Latency { p50: quantile(50)?, p90: quantile(90)?, p99: quantile(99)? })
    }
}

/// The nearest rank of a quantile, counted from 1.
fn rank(count: usize, percent: usize) -> usize {
    (count * percent).div_ceil(100).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_late_is_later_than_95_of_100(took in prop::collection::vec(0_u64..1_000, 1..1_500)) {
            let mut latencies = Latencies::default();
            for (count, took) in (1..).zip(&took) {
                latencies.add(Duration::from_millis(*took));
                prop_assert_eq!(latencies.late().is_some(), count >= LEAST_KNOWN);
            }
            latencies.added = ANEW_AFTER;
            let mut last: Vec<u64> = took.iter().rev().take(REMEMBERED).copied().collect();
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
