//! Measurements in constant memory.
//!
//! Latency counts from the *intended* start, so that delays by a slow server count in full. Service time counts from the real
//! start. Errors are in neither.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use hdrhistogram::{CreationError, Histogram};

use serde::{Deserialize, Serialize};

use super::response::RequestFailure;

/// Histogram range in nanoseconds: 0.1 µs to an hour, three digits.
const LOWEST: u64 = 100;
const HIGHEST: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BenchOperation {
    Search,
    Page,
    Write,
}

impl BenchOperation {
    pub(super) const ALL: [Self; 3] = [Self::Search, Self::Page, Self::Write];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Page => "page",
            Self::Write => "write",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) operation: BenchOperation,
    pub(super) intended: Duration,
    pub(super) begun: Duration,
    pub(super) done: Duration,
    /// `partial` of a success.
    pub(super) outcome: Result<bool, RequestFailure>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FailureTally {
    pub(super) count: u64,
    pub(super) message: String,
}

#[derive(Clone, Debug)]
pub(super) struct OperationTally {
    /// Nanoseconds since the intended start.
    pub(super) latency: Histogram<u64>,
    /// Nanoseconds since the real start.
    pub(super) service: Histogram<u64>,
    pub(super) partial: u64,
    pub(super) failures: BTreeMap<Cow<'static, str>, FailureTally>,
}

impl OperationTally {
    fn new() -> Result<Self, CreationError> {
        Ok(Self { latency: histogram()?, service: histogram()?, partial: 0, failures: BTreeMap::new() })
    }

    pub(super) fn errors(&self) -> u64 {
        self.failures.values().map(|failures| failures.count).sum()
    }

    fn record(&mut self, sample: &Sample) {
        match &sample.outcome {
            Ok(partial) => {
                self.latency.saturating_record(nanos(sample.intended, sample.done));
                self.service.saturating_record(nanos(sample.begun, sample.done));
                self.partial += u64::from(*partial);
            }
            Err(failure) => {
                let first = || FailureTally { count: 0, message: failure.message.clone() };
                self.failures.entry(failure.kind.clone()).or_insert_with(first).count += 1;
            }
        }
    }
}

fn histogram() -> Result<Histogram<u64>, CreationError> {
    Histogram::new_with_bounds(LOWEST, HIGHEST, DIGITS)
}

fn nanos(from: Duration, to: Duration) -> u64 {
    u64::try_from(to.saturating_sub(from).as_nanos()).unwrap_or(u64::MAX)
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Second {
    pub(super) searches: u64,
    pub(super) pages: u64,
    pub(super) writes: u64,
    pub(super) errors: u64,
    /// Searches; null without one.
    pub(super) p50_ms: Option<f64>,
    pub(super) p99_ms: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StartCounts {
    pub(super) begun: u64,
    pub(super) in_time: u64,
    /// Requests that had no free task when due.
    pub(super) waited: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Recorder {
    tallies: [OperationTally; 3],
    /// Lateness of starts with a free task.
    pub(super) own_delay: Histogram<u64>,
    starts: [StartCounts; 3],
    length: Duration,
    pub(super) seconds: Vec<Second>,
    this_second: Histogram<u64>,
    pub(super) last: Duration,
}

impl Recorder {
    /// # Errors
    /// Never; a test checks the bounds.
    pub(super) fn new(length: Duration) -> Result<Self, CreationError> {
        Ok(Self {
            tallies: [OperationTally::new()?, OperationTally::new()?, OperationTally::new()?],
            own_delay: histogram()?,
            starts: [StartCounts::default(); 3],
            length,
            seconds: vec![Second::default()],
            this_second: histogram()?,
            last: Duration::ZERO,
        })
    }

    pub(super) fn record(&mut self, sample: &Sample) {
        self.last = self.last.max(sample.done);
        self.turn_to(sample.done);
        if let Some(second) = self.seconds.last_mut() {
            match (&sample.outcome, sample.operation) {
                (Err(_), _) => second.errors += 1,
                (Ok(_), BenchOperation::Write) => second.writes += 1,
                (Ok(_), BenchOperation::Page) => second.pages += 1,
                (Ok(_), BenchOperation::Search) => {
                    second.searches += 1;
                    self.this_second.saturating_record(nanos(sample.intended, sample.done));
                }
            }
        }
        self.tallies[sample.operation as usize].record(sample);
    }

    pub(super) fn record_start(
        &mut self,
        operation: BenchOperation,
        intended: Duration,
        begun: Duration,
        was_slot_free: bool,
    ) {
        let starts = &mut self.starts[operation as usize];
        starts.begun += 1;
        starts.in_time += u64::from(begun <= self.length);
        starts.waited += u64::from(!was_slot_free);
        if was_slot_free {
            self.own_delay.saturating_record(nanos(intended, begun));
        }
    }

    /// Late samples count in the current second.
    fn turn_to(&mut self, time: Duration) {
        while self.seconds.len() as u64 <= time.as_secs() {
            self.close_second();
            self.seconds.push(Second::default());
        }
    }

    fn close_second(&mut self) {
        if let Some(second) = self.seconds.last_mut().filter(|_| !self.this_second.is_empty()) {
            second.p50_ms = Some(millis(self.this_second.value_at_quantile(0.5)));
            second.p99_ms = Some(millis(self.this_second.value_at_quantile(0.99)));
            self.this_second.reset();
        }
    }

    /// Returns a copy that includes the current second.
    pub(super) fn finish(&mut self) -> Self {
        self.close_second();
        self.clone()
    }

    pub(super) fn starts(&self, operation: BenchOperation) -> StartCounts {
        self.starts[operation as usize]
    }

    pub(super) fn of(&self, operation: BenchOperation) -> &OperationTally {
        &self.tallies[operation as usize]
    }

    pub(super) fn counts(&self) -> (u64, u64) {
        let errors: u64 = self.tallies.iter().map(OperationTally::errors).sum();
        (self.tallies.iter().map(|tally| tally.latency.len()).sum::<u64>() + errors, errors)
    }
}

#[expect(clippy::cast_precision_loss, reason = "an hour has fewer nanoseconds than 2^53")]
pub(super) fn millis(nanos: u64) -> f64 {
    (nanos as f64 / 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(intended: u64, begun: u64, done: u64) -> Sample {
        let [intended, begun, done] = [intended, begun, done].map(Duration::from_nanos);
        Sample { operation: BenchOperation::Search, intended, begun, done, outcome: Ok(false) }
    }

    #[test]
    fn latency_counts_from_the_intended_start_without_errors() {
        let mut recorder = Recorder::new(Duration::from_secs(1)).unwrap();
        recorder.record(&sample(0, 8_000_000, 10_000_000));
        for message in ["first", "second"] {
            let failure = RequestFailure::unanswered("timeout", message);
            recorder.record(&Sample { outcome: Err(failure), ..sample(0, 0, 900_000_000) });
        }
        recorder.record(&Sample { outcome: Ok(true), operation: BenchOperation::Write, ..sample(0, 0, 1) });
        assert_eq!(recorder.counts(), (4, 2));
        let measured = recorder.finish();
        let search = measured.of(BenchOperation::Search);
        assert_eq!((search.latency.len(), search.errors(), search.partial), (1, 2, 0));
        assert!(search.latency.equivalent(search.latency.max(), 10_000_000));
        assert!(search.service.equivalent(search.service.max(), 2_000_000));
        assert_eq!(search.failures["timeout"], FailureTally { count: 2, message: "first".to_owned() });
        let write = measured.of(BenchOperation::Write);
        assert_eq!((write.latency.len(), write.partial), (1, 1));
        assert_eq!(measured.last, Duration::from_millis(900));
    }

    #[test]
    fn seconds_are_counted_separately() {
        let mut recorder = Recorder::new(Duration::from_secs(1)).unwrap();
        let second = 1_000_000_000;
        recorder.record(&sample(0, 0, 2_000_000));
        recorder.record(&sample(2 * second, 2 * second, 2 * second + 4_000_000));
        recorder.record(&sample(second - 2, second - 2, second - 1));
        let seconds = recorder.finish().seconds;
        let account: Vec<(u64, Option<f64>)> =
            seconds.iter().map(|second| (second.searches, second.p99_ms.map(f64::round))).collect();
        assert_eq!(account, [(1, Some(2.0)), (0, None), (2, Some(4.0))]);
    }

    #[test]
    fn waiting_start_is_no_delay_of_the_generator() {
        let mut recorder = Recorder::new(Duration::from_secs(1)).unwrap();
        let [at_once, late] = [50, 5_000_000].map(Duration::from_micros);
        recorder.record_start(BenchOperation::Search, Duration::ZERO, at_once, true);
        recorder.record_start(BenchOperation::Search, Duration::ZERO, late, false);
        let measured = recorder.finish();
        assert_eq!(measured.own_delay.len(), 1);
        assert_eq!(measured.starts(BenchOperation::Search), StartCounts { begun: 2, in_time: 1, waited: 1 });
        assert_eq!(measured.starts(BenchOperation::Write), StartCounts::default());
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(64))]

        #[test]
        fn quantiles_match_the_sorted_list(
            mut list in prop::collection::vec(1_000_u64..10_000_000_000, 1..300), share in 0.0_f64..=1.0,
        ) {
            let mut recorder = Recorder::new(Duration::from_secs(1)).unwrap();
            for done in &list {
                recorder.record(&sample(0, 0, *done));
            }
            list.sort_unstable();
            let measured = recorder.finish();
            let latency = &measured.of(BenchOperation::Search).latency;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let place = ((share * list.len() as f64).ceil() as usize).clamp(1, list.len()) - 1;
            let near = |place: usize| latency.equivalent(latency.value_at_quantile(share), list[place]);
            // Between two ranks rounding may take either.
            prop_assert!(near(place) || near(place.saturating_sub(1)) || near((place + 1).min(list.len() - 1)));
            prop_assert!(latency.equivalent(latency.max(), *list.last().unwrap()));
        }
    }
}
