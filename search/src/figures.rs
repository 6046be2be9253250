//! Figures of modules and sources by hour, in memory until they are taken.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::Serialize;

use crate::{
    answer::{SearchFailure, SearchPage, SourceReport},
    clock::Clock,
    error::Error,
    source::Status,
};

/// Milliseconds of an hour.
pub const HOUR: i64 = 60 * 60 * 1_000;

/// Modules or sources of a tenant in an hour.
const MAX_SUBJECTS: usize = 1_000;
/// Counts of all tenants; each takes up to two kilobytes.
const MAX_COUNTS: usize = 8_192;

/// Buckets of one millisecond each, then of each octave.
const STEPS: u64 = 8;
const MAX_MILLIS: u64 = 65_535;
/// Buckets of latencies; the statuses follow.
const BUCKETS: u8 = 14 * 8;

/// A module or a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FigureSubject {
    /// A module.
    Module,
    /// A source.
    Source,
}

/// Failures by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Errors {
    /// Not answered in time.
    pub timeout: u64,
    /// Not reached, or turned away.
    pub unavailable: u64,
    /// Credentials refused.
    pub unauthorized: u64,
    /// The contract broken.
    pub invalid: u64,
    /// Anything else.
    pub error: u64,
}

/// A module or source by its kind and id.
pub type Subject = (FigureSubject, String);

/// Counts of a tenant's modules and sources.
pub type SubjectCounts = BTreeMap<Subject, SearchCounts>;

/// The counts of a subject, unless there are too many others of its kind.
pub fn counts_of(counts: &mut SubjectCounts, subject: Subject) -> Option<&mut SearchCounts> {
    let is_of_kind = |other: &&Subject| other.0 == subject.0;
    if !counts.contains_key(&subject) && counts.keys().filter(is_of_kind).count() >= MAX_SUBJECTS {
        return None;
    }
    Some(counts.entry(subject).or_default())
}

/// Searches by status, and a histogram of their latencies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchCounts(BTreeMap<u8, u64>);

impl SearchCounts {
    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        for (slot, count) in &other.0 {
            let sum = self.0.entry(*slot).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// Counts a search. A refusal is no latency.
    fn record(&mut self, status: Status, took: Duration) {
        let is_measured = matches!(status, Status::Ok | Status::Timeout | Status::Late);
        for slot in is_measured.then(|| bucket_of(took)).into_iter().chain([slot_of(status)]) {
            *self.0.entry(slot).or_default() += 1;
        }
    }

    /// Five bytes for each used slot: its number and its count.
    pub fn pack(&self) -> Vec<u8> {
        let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes();
        self.0.iter().flat_map(|(slot, of_slot)| [*slot].into_iter().chain(count(*of_slot))).collect()
    }

    /// Reads packed counts.
    pub fn unpack(bytes: &[u8]) -> Self {
        let (slots, _rest) = bytes.as_chunks::<5>();
        Self(
            slots
                .iter()
                .map(|[slot, a, b, c, d]| (*slot, u32::from_le_bytes([*a, *b, *c, *d]).into()))
                .collect(),
        )
    }

    /// Searches of any status.
    pub fn searches(&self) -> u64 {
        self.0.range(BUCKETS..).map(|(_, count)| count).sum()
    }

    /// Failures by status.
    pub fn errors(&self) -> Errors {
        let count = |status| self.0.get(&slot_of(status)).copied().unwrap_or_default();
        Errors {
            timeout: count(Status::Timeout),
            unavailable: count(Status::Unavailable),
            unauthorized: count(Status::Unauthorized),
            invalid: count(Status::Invalid),
            error: count(Status::Error),
        }
    }

    /// A percentile in milliseconds, at most an eighth too high; `None` without latencies.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        let buckets = self.0.range(..BUCKETS);
        let total: u64 = buckets.clone().map(|(_, count)| count).sum();
        let mut left = (total * percent).div_ceil(100).max(1);
        for (bucket, count) in buckets {
            if left <= *count {
                return Some(highest_of(*bucket));
            }
            left -= count;
        }
        None
    }
}

fn slot_of(status: Status) -> u8 {
    BUCKETS
        + match status {
            // A skipped source is not recorded.
            Status::Ok | Status::Skipped => 0,
            Status::Timeout | Status::Late => 1,
            Status::Unavailable => 2,
            Status::Unauthorized => 3,
            Status::Invalid => 4,
            Status::Error => 5,
        }
}

fn bucket_of(took: Duration) -> u8 {
    let millis = u64::try_from(took.as_millis()).unwrap_or(MAX_MILLIS).min(MAX_MILLIS);
    let octave = millis.max(STEPS).ilog2() - STEPS.ilog2();
    u8::try_from(u64::from(octave) * STEPS + (millis >> octave)).unwrap_or(BUCKETS - 1)
}

/// The most milliseconds of a bucket.
fn highest_of(bucket: u8) -> u64 {
    let bucket = u64::from(bucket);
    let octave = (bucket / STEPS).saturating_sub(1);
    let place = bucket - octave * STEPS;
    ((place + 1) << octave) - 1
}

/// A tenant, and the start of the hour in epoch milliseconds.
type TenantHour = (i64, i64);

#[derive(Default)]
struct RecordedHours {
    hours: BTreeMap<TenantHour, SubjectCounts>,
    /// Subjects of all hours.
    subjects: usize,
}

impl RecordedHours {
    /// `None` where a bound is reached.
    fn counts_of(&mut self, hour: TenantHour, subject: Subject) -> Option<&mut SearchCounts> {
        let counts = self.hours.entry(hour).or_default();
        let is_new = !counts.contains_key(&subject);
        if is_new && self.subjects >= MAX_COUNTS {
            return None;
        }
        let counts = counts_of(counts, subject)?;
        self.subjects += usize::from(is_new);
        Some(counts)
    }
}

/// Figures that are not stored yet.
pub struct Figures {
    clock: Arc<dyn Clock>,
    recorded: Mutex<RecordedHours>,
}

impl Figures {
    /// Hours are those of `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, recorded: Mutex::default() }
    }

    /// Counts an answer of a module, unless the search was refused.
    pub(crate) fn record(
        &self,
        tenant_id: i64,
        module: &str,
        took: Duration,
        result: &Result<SearchPage, SearchFailure>,
    ) {
        let (status, sources) = match result {
            Ok(page) => (Status::Ok, &*page.sources),
            Err(SearchFailure::NoSource { all_timed_out: true, sources, .. }) => {
                (Status::Timeout, &**sources)
            }
            Err(SearchFailure::NoSource { sources, .. }) => (Status::Unavailable, &**sources),
            Err(SearchFailure::Refused(Error::Internal(_))) => (Status::Error, &[] as &[_]),
            Err(SearchFailure::Refused(_)) => return,
        };
        let hour = (tenant_id, self.clock.now().div_euclid(HOUR) * HOUR);
        let of_source = |source: &SourceReport| {
            let took = Duration::from_millis(source.took_ms);
            ((FigureSubject::Source, source.id.clone()), source.status, took)
        };
        let subjects: Vec<_> = [((FigureSubject::Module, module.to_owned()), status, took)]
            .into_iter()
            .chain(sources.iter().filter(|source| source.status != Status::Skipped).map(of_source))
            .collect();
        let mut recorded = self.lock();
        for (subject, status, took) in subjects {
            if let Some(counts) = recorded.counts_of(hour, subject) {
                counts.record(status, took);
            }
        }
    }

    /// Takes all figures, by tenant and start of the hour.
    pub fn take(&self) -> BTreeMap<TenantHour, SubjectCounts> {
        std::mem::take(&mut *self.lock()).hours
    }

    /// Takes figures back that could not be stored.
    pub fn put_back(&self, taken: BTreeMap<TenantHour, SubjectCounts>) {
        let mut recorded = self.lock();
        for (hour, counts) in taken {
            for (subject, counts) in counts {
                if let Some(sum) = recorded.counts_of(hour, subject) {
                    sum.add(&counts);
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, RecordedHours> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::SystemClock;

    fn figures() -> Figures {
        Figures::new(Arc::new(SystemClock))
    }

    fn add(figures: &Figures, tenant_id: i64, id: &str, status: Status, millis: u64) {
        let mut recorded = figures.lock();
        if let Some(counts) = recorded.counts_of((tenant_id, 0), (FigureSubject::Source, id.to_owned())) {
            counts.record(status, Duration::from_millis(millis));
        }
    }

    #[test]
    fn figures_that_were_put_back_add_up_with_new_ones() {
        let figures = figures();
        add(&figures, 1, "x", Status::Ok, 10);
        add(&figures, 1, "x", Status::Unavailable, 5_000);
        let first = figures.take();
        assert!(figures.take().is_empty());
        figures.put_back(first);
        add(&figures, 1, "x", Status::Timeout, 3_000);
        let counts = &figures.take()[&(1, 0)][&(FigureSubject::Source, "x".to_owned())];
        assert_eq!(counts.searches(), 3);
        assert_eq!(counts.errors(), Errors { timeout: 1, unavailable: 1, ..Errors::default() });
        assert_eq!((counts.percentile(50), counts.percentile(99)), (Some(10), Some(3_071)));
    }

    #[test]
    fn sources_of_an_hour_are_bounded() {
        let figures = figures();
        for number in 0..2 * MAX_SUBJECTS {
            add(&figures, 1, &number.to_string(), Status::Ok, 0);
        }
        add(&figures, 1, "7", Status::Ok, 0);
        add(&figures, 2, "7", Status::Ok, 0);
        let taken = figures.take();
        assert_eq!((taken[&(1, 0)].len(), taken[&(2, 0)].len()), (MAX_SUBJECTS, 1));
        assert_eq!(taken[&(1, 0)][&(FigureSubject::Source, "7".to_owned())].searches(), 2);
    }

    #[test]
    fn all_figures_are_bounded() {
        let figures = figures();
        for tenant_id in 0..50_000 {
            add(&figures, tenant_id, "x", Status::Ok, 0);
        }
        assert_eq!(figures.take().values().map(BTreeMap::len).sum::<usize>(), MAX_COUNTS);
        add(&figures, 1, "x", Status::Ok, 0);
        assert_eq!(figures.take().len(), 1);
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn packed_counts_keep_every_search_with_close_percentiles(
            took in prop::collection::vec(0_u64..80_000, 1..200), percent in 1_u64..100,
        ) {
            let mut counts = SearchCounts::default();
            for millis in &took {
                counts.record(Status::Ok, Duration::from_millis(*millis));
            }
            prop_assert_eq!(&SearchCounts::unpack(&counts.pack()), &counts);
            prop_assert_eq!(counts.searches(), took.len() as u64);
            let mut sorted: Vec<u64> = took.iter().map(|millis| (*millis).min(MAX_MILLIS)).collect();
            sorted.sort_unstable();
            let rank = (took.len() * usize::try_from(percent).unwrap()).div_ceil(100).max(1);
            let exact = sorted[rank - 1];
            let stated = counts.percentile(percent).unwrap();
            prop_assert!(exact <= stated && stated <= exact + exact / 8, "{stated} for {exact}");
        }
    }
}
