//! What external sources answered a moment ago, and the calls that are under way: identical questions share one call
//! (decisions 6.5).
//!
//! An external source is asked as the application, never as the person who searches, so an answer is the same for all of
//! its tenant; a registration belongs to one tenant, and its number is part of every key. What is built in is not kept
//! here: it depends on the viewer, and asking the index costs less than keeping its pages.

mod positions;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use moka::{ops::compute::Op, sync::Cache};
use tokio::time::{Instant, timeout_at};

use self::positions::Positions;
use super::{
    external::SourcePage,
    source::{FailureKind, SourceFailure},
};
use crate::config;

/// Where an earlier page is at hand, the wait for a new one ends this long before the search's deadline, or a tenth of what
/// is left before it where that is less: the earlier page has to get into the answer.
const LEAD: Duration = Duration::from_millis(100);
/// Of the bytes for pages, positions may take one in so many beside them.
const POSITIONS_SHARE: u64 = 16;
/// No page is kept for longer, whatever the settings say.
const LONGEST_KEPT: Duration = Duration::from_hours(24 * 365);

/// One question to one source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// The registration that is asked, by its number in this process; another one of the same source has another.
    pub(super) registration: u64,
    /// What is searched for.
    pub(super) keyword: String,
    /// The page, by the source's own cursor.
    pub(super) cursor: Option<String>,
}

/// A page, and where it came from.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The page.
    pub(super) page: Arc<SourcePage>,
    /// It came with an earlier question.
    pub(super) kept: bool,
    /// It is an earlier one that stands in for this failure.
    pub(super) instead_of: Option<SourceFailure>,
}

/// The answers of all sources. Clones share them.
#[derive(Clone)]
pub(super) struct Answers {
    held: Arc<Held>,
}

struct Held {
    fresh: Duration,
    stale: Duration,
    kept: Cache<Arc<Key>, Kept>,
    positions: Positions,
    flights: Mutex<HashMap<Arc<Key>, Flight>>,
}

#[derive(Clone)]
struct Kept {
    page: Arc<SourcePage>,
    since: Instant,
    /// The page before it was asked for anew since then.
    is_overtaken: bool,
}

type Outcome = Result<Arc<SourcePage>, SourceFailure>;

/// Someone who waits for a call. All who do drive it together; when the last of them leaves, it is dropped.
type Waiting = Shared<BoxFuture<'static, Outcome>>;

/// A call under way.
struct Flight {
    call: WeakShared<BoxFuture<'static, Outcome>>,
    /// Tells this flight from a later one of the same key.
    number: u64,
}

impl Answers {
    /// Answers that are kept as the settings say.
    pub(super) fn new(settings: config::Cache) -> Self {
        let config::Cache { fresh_ms, stale_ms, bytes } = settings;
        let (fresh, stale) = (Duration::from_millis(fresh_ms), Duration::from_millis(stale_ms));
        let kept = Cache::builder()
            .max_capacity(bytes)
            .weigher(|key: &Arc<Key>, kept: &Kept| {
                let asked = key.keyword.len() + key.cursor.as_ref().map_or(0, String::len);
                u32::try_from(asked + kept.page.bytes()).unwrap_or(u32::MAX)
            })
            .time_to_live(stale.max(fresh).min(LONGEST_KEPT))
            .build();
        let positions = Positions::new(bytes / POSITIONS_SHARE);
        Self { held: Arc::new(Held { fresh, stale, kept, positions, flights: Mutex::default() }) }
    }

    /// Keeps a page that came just now. The call that brings it does this itself, also when nobody waits for it any more:
    /// a late answer is welcome to the next search.
    pub(super) fn keep(&self, key: Arc<Key>, page: &Arc<SourcePage>) {
        if self.held.stale.max(self.held.fresh).is_zero() {
            return;
        }
        if let Some(cursor) = &page.cursor {
            // Where cursors count, what new items push down from this page is on none of before that stands behind it.
            let behind = Arc::new(Key { cursor: Some(cursor.clone()), ..Key::clone(&key) });
            self.held.kept.entry(behind).and_compute_with(|behind| match behind {
                Some(behind) => Op::Put(Kept { is_overtaken: true, ..behind.into_value() }),
                None => Op::Nop,
            });
        }
        if let Some(newest) = page.newest() {
            self.held.positions.learn(&key, newest);
        }
        let page = Arc::clone(page);
        self.held.kept.insert(key, Kept { page, since: Instant::now(), is_overtaken: false });
    }

    /// The cursor of a page where what is below this time may begin, as earlier pages of the registration say. Whether it
    /// does, [`SourcePage::newest`] of that page tells; where not, it is to be forgotten.
    pub(super) fn find_position(&self, registration: u64, keyword: &str, time: i64) -> Option<String> {
        self.held.positions.find(registration, keyword, time)
    }

    /// The page of this key is not where it was.
    pub(super) fn forget_position(&self, key: &Key) {
        self.held.positions.forget(key);
    }

    /// The page that answers this question: a fresh one at hand, else that of the call under way, else that of the call
    /// which `begin` permits. Where the call fails, has not ended shortly before `deadline`, or is not permitted, an earlier
    /// page stands in for it. `begin` is told how long the call is waited for.
    ///
    /// A call that nobody waits for any more is dropped.
    ///
    /// # Errors
    /// The failure, where no earlier page is at hand.
    pub(super) async fn get<C>(
        &self,
        key: Arc<Key>,
        deadline: Instant,
        begin: impl FnOnce(Instant) -> Result<C, SourceFailure>,
    ) -> Result<Known, SourceFailure>
    where
        C: Future<Output = Outcome> + Send + 'static,
    {
        let earlier = self.held.kept.get(&key);
        let is_fresh = |kept: &&Kept| kept.since.elapsed() < self.held.fresh && !kept.is_overtaken;
        if let Some(kept) = earlier.as_ref().filter(is_fresh) {
            count("hit");
            return Ok(Known { page: Arc::clone(&kept.page), kept: true, instead_of: None });
        }
        let earlier = earlier.filter(|kept| kept.since.elapsed() < self.held.stale);
        let now = Instant::now();
        let left = deadline.saturating_duration_since(now);
        // Without an earlier page, nothing is gained by giving up before the search does.
        let until = if earlier.is_some() { now + left.saturating_sub(LEAD.min(left / 10)) } else { deadline };
        let outcome = match begin(until) {
            Ok(call) => {
                let waiting = self.join(key, call);
                if earlier.is_some() {
                    let late = |_elapsed| Err(SourceFailure::timed_out(now.elapsed()));
                    timeout_at(until, waiting).await.unwrap_or_else(late)
                } else {
                    waiting.await
                }
            }
            Err(failure) => Err(failure),
        };
        match (outcome, earlier) {
            (Ok(page), _) => Ok(Known { page, kept: false, instead_of: None }),
            (Err(failure), Some(kept)) => {
                count("stale");
                Ok(Known { page: kept.page, kept: true, instead_of: Some(failure) })
            }
            (Err(failure), None) => Err(failure),
        }
    }

    /// Joins the call under way, or begins it.
    fn join(&self, key: Arc<Key>, call: impl Future<Output = Outcome> + Send + 'static) -> Waiting {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let mut flights = self.held.lock();
        if let Some(waiting) = flights.get(&key).and_then(|flight| flight.call.upgrade()) {
            count("coalesced");
            return waiting;
        }
        count("miss");
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let landing = Landing { held: Arc::clone(&self.held), key: Arc::clone(&key), number };
        let waiting = async move {
            let _landing = landing;
            // A panic is the failure of all who wait.
            let broke =
                |_panic| SourceFailure::new(FailureKind::Error, "the source failed inside the server");
            AssertUnwindSafe(call).catch_unwind().await.map_err(broke).flatten()
        }
        .boxed()
        .shared();
        // It has not been polled yet, so that it is there.
        if let Some(call) = waiting.downgrade() {
            flights.insert(key, Flight { call, number });
        }
        waiting
    }
}

impl Held {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<Key>, Flight>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Dropped when a call ends, or is dropped itself: who asks from now on begins another one.
struct Landing {
    held: Arc<Held>,
    key: Arc<Key>,
    number: u64,
}

impl Drop for Landing {
    fn drop(&mut self) {
        let mut flights = self.held.lock();
        if flights.get(&self.key).is_some_and(|flight| flight.number == self.number) {
            flights.remove(&self.key);
        }
    }
}

fn count(how: &'static str) {
    metrics::counter!("trawl_source_answers_total", "how" => how).increment(1);
}
