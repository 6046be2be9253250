//! What external sources answered a moment ago, and the calls that are under way: identical questions share one call
//! (decisions 6.5).
//!
//! An external source is asked as the application, never as the person who searches, so an answer is the same for all of
//! its tenant; a registration belongs to one tenant, and its number is part of every key. What is built in is not kept
//! here: it depends on the viewer, and asking the index costs less than keeping its pages.

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
use moka::sync::Cache;
use tokio::time::Instant;

use super::{
    external::SourcePage,
    source::{FailureKind, SourceFailure},
};
use crate::config;

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
    flights: Mutex<HashMap<Arc<Key>, Flight>>,
}

#[derive(Clone)]
struct Kept {
    page: Arc<SourcePage>,
    since: Instant,
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
            .time_to_live(stale.max(fresh))
            .build();
        Self { held: Arc::new(Held { fresh, stale, kept, flights: Mutex::default() }) }
    }

    /// Keeps a page that came just now. The call that brings it does this itself, also when nobody waits for it any more:
    /// a late answer is welcome to the next search.
    pub(super) fn keep(&self, key: Arc<Key>, page: &Arc<SourcePage>) {
        if !self.held.stale.max(self.held.fresh).is_zero() {
            self.held.kept.insert(key, Kept { page: Arc::clone(page), since: Instant::now() });
        }
    }

    /// The page that answers this question: a fresh one at hand, else that of the call under way, else that of the call
    /// which `begin` permits. Where the call fails, or none is permitted, an earlier page stands in for it.
    ///
    /// A call that nobody waits for any more is dropped.
    ///
    /// # Errors
    /// The failure, where no earlier page is at hand.
    pub(super) async fn get<C>(
        &self,
        key: Arc<Key>,
        begin: impl FnOnce() -> Result<C, SourceFailure>,
    ) -> Result<Known, SourceFailure>
    where
        C: Future<Output = Outcome> + Send + 'static,
    {
        let earlier = self.held.kept.get(&key);
        if let Some(kept) = earlier.as_ref().filter(|kept| kept.since.elapsed() < self.held.fresh) {
            count("hit");
            return Ok(Known { page: Arc::clone(&kept.page), instead_of: None });
        }
        let earlier = earlier.filter(|kept| kept.since.elapsed() < self.held.stale);
        let outcome = match begin() {
            Ok(call) => self.join(key, call).await,
            Err(failure) => Err(failure),
        };
        match (outcome, earlier) {
            (Ok(page), _) => Ok(Known { page, instead_of: None }),
            (Err(failure), Some(kept)) => {
                count("stale");
                Ok(Known { page: kept.page, instead_of: Some(failure) })
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
