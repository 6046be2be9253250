//! Figures of modules and sources by hour, in memory until they are taken.

use std::{
    array,
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use serde::Serialize;

use crate::{
    answer::{SearchFailure, SearchPage},
    clock::Clock,
    error::Error,
    source::Status,
};

/// Milliseconds of an hour.
pub const HOUR: i64 = 60 * 60 * 1_000;

/// Modules or sources of a tenant in an hour.
pub const MAX_SUBJECTS: usize = 1_000;
/// Tallies of all tenants; each takes about half a kilobyte.
const MAX_TALLIES: usize = 32_768;

/// Buckets of one millisecond each, then of each octave.
const STEPS: usize = 8;
const STATUSES: [Status; 6] =
    [Status::Ok, Status::Timeout, Status::Unavailable, Status::Unauthorized, Status::Invalid, Status::Error];
const MAX_MILLIS: usize = u16::MAX as usize;
const BUCKETS: usize = 14 * STEPS;
/// The buckets of latencies, then the statuses.
const SLOTS: usize = BUCKETS + STATUSES.len();

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
        STATUSES.into_iter().map(|status| self.count_in(slot_of(status))).sum()
    }

    /// Failures by status.
    pub fn errors(&self) -> Errors {
        let count = |status| self.count_in(slot_of(status));
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
        let buckets = || (0..BUCKETS).map(|bucket| (bucket, self.count_in(bucket)));
        let total: u64 = buckets().map(|(_, count)| count).sum();
        let mut left = (total * percent).div_ceil(100).max(1);
        for (bucket, count) in buckets() {
            if left <= count {
                return Some(highest_of(bucket));
            }
            left -= count;
        }
        None
    }

    fn count_in(&self, slot: usize) -> u64 {
        u8::try_from(slot).ok().and_then(|slot| self.0.get(&slot)).copied().unwrap_or_default()
    }
}

fn slot_of(status: Status) -> usize {
    BUCKETS + STATUSES.into_iter().take_while(|other| *other != status).count()
}

fn bucket_of(took: Duration) -> usize {
    let millis = usize::try_from(took.as_millis()).unwrap_or(MAX_MILLIS).min(MAX_MILLIS);
    if millis < STEPS {
        return millis;
    }
    let octave = millis.ilog2() - STEPS.ilog2();
    octave as usize * STEPS + (millis >> octave)
}

/// The most milliseconds of a bucket.
fn highest_of(bucket: usize) -> u64 {
    let octave = (bucket / STEPS).saturating_sub(1);
    let place = bucket - octave * STEPS;
    (((place + 1) << octave) - 1) as u64
}

/// Counts of a module or source in an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HourlyCounts {
    /// The tenant.
    pub tenant_id: i64,
    /// The start of the hour, epoch milliseconds.
    pub at: i64,
    /// Whether it is a module or a source.
    pub kind: FigureSubject,
    /// The id of the module or source.
    pub id: String,
    /// Its counts.
    pub counts: SearchCounts,
}

struct Tally([AtomicU32; SLOTS]);

impl Default for Tally {
    fn default() -> Self {
        Self(array::from_fn(|_| AtomicU32::new(0)))
    }
}

impl Tally {
    /// A refusal is no latency.
    fn add(&self, status: Status, took: Duration) {
        let bucket = matches!(status, Status::Ok | Status::Timeout).then(|| bucket_of(took));
        for slot in bucket.into_iter().chain([slot_of(status)]) {
            if let Some(count) = self.0.get(slot) {
                count.fetch_add(1, Relaxed);
            }
        }
    }

    fn counts(&self) -> SearchCounts {
        let slots = (0..).zip(&self.0).map(|(slot, count)| (slot, count.load(Relaxed).into()));
        SearchCounts(slots.filter(|(_, count)| *count > 0).collect())
    }
}

/// The tallies of a tenant's hour by id.
#[derive(Default)]
struct Tallies {
    modules: HashMap<String, Tally>,
    sources: HashMap<String, Tally>,
}

impl Tallies {
    fn of(&self, kind: FigureSubject) -> &HashMap<String, Tally> {
        match kind {
            FigureSubject::Module => &self.modules,
            FigureSubject::Source => &self.sources,
        }
    }
}

#[derive(Default)]
struct RecordedHours {
    /// Tallies by tenant and start of the hour.
    hours: HashMap<(i64, i64), Tallies>,
    tallies: usize,
}

impl RecordedHours {
    /// `None` where all bounds are reached.
    fn tally(&mut self, tenant_id: i64, at: i64, kind: FigureSubject, id: &str) -> Option<&Tally> {
        let hour = self.hours.entry((tenant_id, at)).or_default();
        let tallies = match kind {
            FigureSubject::Module => &mut hour.modules,
            FigureSubject::Source => &mut hour.sources,
        };
        if !tallies.contains_key(id) {
            if tallies.len() >= MAX_SUBJECTS || self.tallies >= MAX_TALLIES {
                return None;
            }
            self.tallies += 1;
        }
        Some(tallies.entry(id.to_owned()).or_default())
    }
}

/// Figures that are not stored yet. Searches of known modules and sources share a lock and allocate nothing.
pub struct Figures {
    clock: Arc<dyn Clock>,
    recorded: RwLock<RecordedHours>,
}

impl Figures {
    /// Hours are those of `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, recorded: RwLock::default() }
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
        let at = self.clock.now().div_euclid(HOUR) * HOUR;
        self.add(tenant_id, at, FigureSubject::Module, module, status, took);
        for source in sources {
            let took = Duration::from_millis(source.took_ms);
            let status = if source.status == Status::Late { Status::Timeout } else { source.status };
            self.add(tenant_id, at, FigureSubject::Source, &source.id, status, took);
        }
    }

    fn add(&self, tenant_id: i64, at: i64, kind: FigureSubject, id: &str, status: Status, took: Duration) {
        {
            let recorded = self.recorded.read().unwrap_or_else(PoisonError::into_inner);
            let hour = recorded.hours.get(&(tenant_id, at));
            if let Some(tally) = hour.and_then(|hour| hour.of(kind).get(id)) {
                tally.add(status, took);
                return;
            }
        }
        let mut recorded = self.recorded.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(tally) = recorded.tally(tenant_id, at, kind, id) {
            tally.add(status, took);
        }
    }

    /// Takes all figures.
    pub fn take(&self) -> Vec<HourlyCounts> {
        let recorded = std::mem::take(&mut *self.recorded.write().unwrap_or_else(PoisonError::into_inner));
        let hours = recorded.hours.into_iter().flat_map(|((tenant_id, at), Tallies { modules, sources })| {
            let modules = modules.into_iter().map(|(id, tally)| (FigureSubject::Module, id, tally));
            let sources = sources.into_iter().map(|(id, tally)| (FigureSubject::Source, id, tally));
            modules.chain(sources).map(move |(kind, id, tally)| HourlyCounts {
                tenant_id,
                at,
                kind,
                id,
                counts: tally.counts(),
            })
        });
        hours.collect()
    }

    /// Takes figures back that could not be stored.
    pub fn put_back(&self, taken: &[HourlyCounts]) {
        let mut recorded = self.recorded.write().unwrap_or_else(PoisonError::into_inner);
        for HourlyCounts { tenant_id, at, kind, id, counts } in taken {
            let Some(tally) = recorded.tally(*tenant_id, *at, *kind, id) else { continue };
            for (slot, count) in &counts.0 {
                if let Some(sum) = tally.0.get(usize::from(*slot)) {
                    sum.fetch_add(u32::try_from(*count).unwrap_or(u32::MAX), Relaxed);
                }
            }
        }
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

    fn counts(taken: &[HourlyCounts], id: &str) -> SearchCounts {
        taken.iter().find(|one| one.id == id).unwrap().counts.clone()
    }

    #[test]
    fn figures_that_were_put_back_add_up_with_new_ones() {
        let figures = figures();
        let add = |status, millis| {
            figures.add(1, 0, FigureSubject::Source, "x", status, Duration::from_millis(millis));
        };
        add(Status::Ok, 10);
        add(Status::Unavailable, 5_000);
        let taken = figures.take();
        assert_eq!(figures.take(), []);
        figures.put_back(&taken);
        add(Status::Timeout, 3_000);
        let counts = counts(&figures.take(), "x");
        assert_eq!(counts.searches(), 3);
        assert_eq!(counts.errors(), Errors { timeout: 1, unavailable: 1, ..Errors::default() });
        assert_eq!((counts.percentile(50), counts.percentile(99)), (Some(10), Some(3_071)));
    }

    #[test]
    fn sources_of_an_hour_are_bounded() {
        let figures = figures();
        for number in 0..2 * MAX_SUBJECTS {
            figures.add(1, 0, FigureSubject::Source, &number.to_string(), Status::Ok, Duration::ZERO);
        }
        figures.add(1, 0, FigureSubject::Source, "7", Status::Ok, Duration::ZERO);
        figures.add(2, 0, FigureSubject::Source, "7", Status::Ok, Duration::ZERO);
        let taken = figures.take();
        assert_eq!(taken.len(), MAX_SUBJECTS + 1);
        let of_first: Vec<_> = taken.into_iter().filter(|one| one.tenant_id == 1).collect();
        assert_eq!(counts(&of_first, "7").searches(), 2);
    }

    #[test]
    fn all_figures_are_bounded() {
        let figures = figures();
        for tenant_id in 0..50_000 {
            figures.add(tenant_id, 0, FigureSubject::Module, "m", Status::Ok, Duration::ZERO);
        }
        assert_eq!(figures.take().len(), MAX_TALLIES);
        figures.add(1, 0, FigureSubject::Module, "m", Status::Ok, Duration::ZERO);
        assert_eq!(figures.take().len(), 1);
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn packed_counts_keep_every_search_with_close_percentiles(
            took in prop::collection::vec(0_u64..80_000, 1..200), percent in 1_u64..100,
        ) {
            let figures = figures();
            for millis in &took {
                figures.add(1, 0, FigureSubject::Module, "m", Status::Ok, Duration::from_millis(*millis));
            }
            let counts = counts(&figures.take(), "m");
            prop_assert_eq!(&SearchCounts::unpack(&counts.pack()), &counts);
            prop_assert_eq!(counts.searches(), took.len() as u64);
            let mut sorted: Vec<u64> = took.iter().map(|millis| (*millis).min(MAX_MILLIS as u64)).collect();
            sorted.sort_unstable();
            let rank = (took.len() * usize::try_from(percent).unwrap()).div_ceil(100).max(1);
            let exact = sorted[rank - 1];
            let stated = counts.percentile(percent).unwrap();
            prop_assert!(exact <= stated && stated <= exact + exact / 8, "{stated} for {exact}");
        }
    }
}
