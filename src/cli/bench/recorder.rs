//! Keeps what was measured, in constant memory: latencies as histograms, errors by kind, and each second's account.
//!
//! Latency counts from the *intended* start, so that what a slow server keeps from being sent in time is seen. The time
//! from the real start on is kept beside it as service time. Errors are in neither.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use hdrhistogram::{CreationError, Histogram};

use super::{answer::Failure, results::Second};

/// Nanoseconds of what histograms tell apart: three digits, from a tenth of a microsecond to an hour.
const LOWEST: u64 = 100;
const HIGHEST: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// What is measured on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// The first page of a search.
    Search,
    /// A further page.
    Page,
    /// A write of one item.
    Write,
}

impl Operation {
    /// All, in the order in which they are shown.
    pub(super) const ALL: [Self; 3] = [Self::Search, Self::Page, Self::Write];

    /// Its name in results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Page => "page",
            Self::Write => "write",
        }
    }
}

/// One request that came to its end. Times count from the beginning of the measured part of the run.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) operation: Operation,
    /// When it was meant to begin.
    pub(super) intended: Duration,
    /// When it began.
    pub(super) begun: Duration,
    /// When its answer had been read.
    pub(super) done: Duration,
    /// Whether a successful answer was partial.
    pub(super) outcome: Result<bool, Failure>,
}

/// How often an error of a kind occurred, and the words of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failures {
    pub(super) count: u64,
    pub(super) message: String,
}

/// What was measured of one operation.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    /// From the intended start on, nanoseconds.
    pub(super) latency: Histogram<u64>,
    /// From the real start on, nanoseconds.
    pub(super) service: Histogram<u64>,
    /// Successful answers that were partial.
    pub(super) partial: u64,
    /// Errors by kind.
    pub(super) failures: BTreeMap<Cow<'static, str>, Failures>,
}

impl Tally {
    fn new() -> Result<Self, CreationError> {
        Ok(Self { latency: histogram()?, service: histogram()?, partial: 0, failures: BTreeMap::new() })
    }

    /// How many errors there were.
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
                let first = || Failures { count: 0, message: failure.message.clone() };
                self.failures.entry(failure.kind.clone()).or_insert_with(first).count += 1;
            }
        }
    }
}

/// An empty histogram of nanoseconds.
fn histogram() -> Result<Histogram<u64>, CreationError> {
    Histogram::new_with_bounds(LOWEST, HIGHEST, DIGITS)
}

fn nanos(from: Duration, to: Duration) -> u64 {
    u64::try_from(to.saturating_sub(from).as_nanos()).unwrap_or(u64::MAX)
}

/// How requests of an open loop came to begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Starts {
    /// Requests that began.
    pub(super) begun: u64,
    /// Those that began before the end.
    pub(super) in_time: u64,
    /// Those for which no place was free when they were due.
    pub(super) waited: u64,
}

/// Everything that was measured in a run.
#[derive(Debug)]
pub(super) struct Recorder {
    tallies: [Tally; 3],
    /// How much later than intended requests began although a place was free for them: the load generator's own delay.
    own_delay: Histogram<u64>,
    starts: [Starts; 3],
    /// How long the measured part is.
    length: Duration,
    seconds: Vec<Second>,
    /// Latencies of the searches that ended in the second under way.
    this_second: Histogram<u64>,
    /// When the last answer had been read.
    last: Duration,
}

impl Recorder {
    /// Nothing measured yet of a measured part of this length.
    ///
    /// # Errors
    /// The bounds of the histograms are wrong, which a test forbids.
    pub(super) fn new(length: Duration) -> Result<Self, CreationError> {
        Ok(Self {
            tallies: [Tally::new()?, Tally::new()?, Tally::new()?],
            own_delay: histogram()?,
            starts: [Starts::default(); 3],
            length,
            seconds: vec![Second::default()],
            this_second: histogram()?,
            last: Duration::ZERO,
        })
    }

    /// Keeps a request that came to its end.
    pub(super) fn record(&mut self, sample: &Sample) {
        self.last = self.last.max(sample.done);
        self.turn_to(sample.done);
        if let Some(second) = self.seconds.last_mut() {
            match (&sample.outcome, sample.operation) {
                (Err(_), _) => second.errors += 1,
                (Ok(_), Operation::Write) => second.writes += 1,
                (Ok(_), Operation::Page) => second.pages += 1,
                (Ok(_), Operation::Search) => {
                    second.searches += 1;
                    self.this_second.saturating_record(nanos(sample.intended, sample.done));
                }
            }
        }
        self.tallies[sample.operation as usize].record(sample);
    }

    /// Keeps how a request of an open loop came to begin: whether a place was free when it was due.
    pub(super) fn record_start(
        &mut self,
        operation: Operation,
        intended: Duration,
        begun: Duration,
        place_was_free: bool,
    ) {
        let starts = &mut self.starts[operation as usize];
        starts.begun += 1;
        starts.in_time += u64::from(begun <= self.length);
        starts.waited += u64::from(!place_was_free);
        if place_was_free {
            self.own_delay.saturating_record(nanos(intended, begun));
        }
    }

    /// Closes the seconds before this time. What is told late counts in the second that is under way.
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

    /// What was measured so far.
    pub(super) fn finish(&mut self) -> Measured {
        self.close_second();
        Measured {
            tallies: self.tallies.clone(),
            own_delay: self.own_delay.clone(),
            starts: self.starts,
            seconds: self.seconds.clone(),
            last: self.last,
        }
    }

    /// Requests that came to their end so far, and errors among them.
    pub(super) fn counts(&self) -> (u64, u64) {
        let errors: u64 = self.tallies.iter().map(Tally::errors).sum();
        (self.tallies.iter().map(|tally| tally.latency.len()).sum::<u64>() + errors, errors)
    }
}

/// A finished recorder.
#[derive(Debug)]
pub(super) struct Measured {
    tallies: [Tally; 3],
    /// Of requests for which a place was free.
    pub(super) own_delay: Histogram<u64>,
    starts: [Starts; 3],
    /// Each second's account.
    pub(super) seconds: Vec<Second>,
    /// When the last answer had been read.
    pub(super) last: Duration,
}

impl Measured {
    /// How requests of an operation came to begin.
    pub(super) fn starts(&self, operation: Operation) -> Starts {
        self.starts[operation as usize]
    }

    /// What was measured of an operation.
    pub(super) fn of(&self, operation: Operation) -> &Tally {
        &self.tallies[operation as usize]
    }
}

/// Nanoseconds as milliseconds, to the microsecond.
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
        Sample { operation: Operation::Search, intended, begun, done, outcome: Ok(false) }
    }

    #[test]
    fn latency_counts_from_the_intended_start_and_errors_do_not_count() {
        let mut recorder = Recorder::new(Duration::from_secs(1)).unwrap();
        recorder.record(&sample(0, 8_000_000, 10_000_000));
        for message in ["first", "second"] {
            let failure = Failure::unanswered("timeout", message);
            recorder.record(&Sample { outcome: Err(failure), ..sample(0, 0, 900_000_000) });
        }
        recorder.record(&Sample { outcome: Ok(true), operation: Operation::Write, ..sample(0, 0, 1) });
        assert_eq!(recorder.counts(), (4, 2));
        let measured = recorder.finish();
        let search = measured.of(Operation::Search);
        assert_eq!((search.latency.len(), search.errors(), search.partial), (1, 2, 0));
        assert!(search.latency.equivalent(search.latency.max(), 10_000_000));
        assert!(search.service.equivalent(search.service.max(), 2_000_000));
        assert_eq!(search.failures["timeout"], Failures { count: 2, message: "first".to_owned() });
        let write = measured.of(Operation::Write);
        assert_eq!((write.latency.len(), write.partial), (1, 1));
        assert_eq!(measured.last, Duration::from_millis(900));
    }

    #[test]
    fn each_second_has_its_account() {
        let mut recorder = Recorder::new(Duration::from_secs(1)).unwrap();
        let second = 1_000_000_000;
        recorder.record(&sample(0, 0, 2_000_000));
        recorder.record(&sample(2 * second, 2 * second, 2 * second + 4_000_000));
        // Told late.
        recorder.record(&sample(second - 2, second - 2, second - 1));
        let seconds = recorder.finish().seconds;
        let account: Vec<(u64, Option<f64>)> =
            seconds.iter().map(|second| (second.searches, second.p99_ms.map(f64::round))).collect();
        assert_eq!(account, [(1, Some(2.0)), (0, None), (2, Some(4.0))]);
    }

    #[test]
    fn a_start_that_found_no_place_is_no_delay_of_the_generators_own() {
        let mut recorder = Recorder::new(Duration::from_secs(1)).unwrap();
        let [at_once, late] = [50, 5_000_000].map(Duration::from_micros);
        recorder.record_start(Operation::Search, Duration::ZERO, at_once, true);
        recorder.record_start(Operation::Search, Duration::ZERO, late, false);
        let measured = recorder.finish();
        assert_eq!(measured.own_delay.len(), 1);
        assert_eq!(measured.starts(Operation::Search), Starts { begun: 2, in_time: 1, waited: 1 });
        assert_eq!(measured.starts(Operation::Write), Starts::default());
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(64))]

        /// Quantiles are those of the sorted list, within the histogram's three digits.
        #[test]
        fn quantiles_are_those_of_the_list(
            mut list in prop::collection::vec(1_000_u64..10_000_000_000, 1..300), share in 0.0_f64..=1.0,
        ) {
            let mut recorder = Recorder::new(Duration::from_secs(1)).unwrap();
            for done in &list {
                recorder.record(&sample(0, 0, *done));
            }
            list.sort_unstable();
            let measured = recorder.finish();
            let latency = &measured.of(Operation::Search).latency;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let place = ((share * list.len() as f64).ceil() as usize).clamp(1, list.len()) - 1;
            let near = |place: usize| latency.equivalent(latency.value_at_quantile(share), list[place]);
            // Where the share falls between two places, rounding may take either.
            prop_assert!(near(place) || near(place.saturating_sub(1)) || near((place + 1).min(list.len() - 1)));
            prop_assert!(latency.equivalent(latency.max(), *list.last().unwrap()));
        }
    }
}
