//! Cached pages by registration, keyword and cursor.

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use moka::{ops::compute::Op, sync::Cache};
use tokio::time::{Instant, timeout_at};

use super::{
    positions::TimePositions,
    raw_page::{RawPage, SourcePageKey},
};
use crate::{
    settings::CacheSettings,
    single_flight::{SharedCall, SingleFlight},
    source::{ResultItem, SourceFailure},
    sources::{cache_shares, count_page},
};

/// Time before the deadline at which a stale page ends the wait.
///
/// It is at most a tenth of the wait.
const STALE_LEAD: Duration = Duration::from_millis(100);
/// The part of the bytes for positions.
const POSITIONS_PART: u64 = 16;
/// Pages are kept this long for the items that a person opens from a list.
const ITEM_LIFETIME: Duration = Duration::from_hours(1);
/// Keeps large settings within the cache's range.
const MAX_LIFETIME: Duration = Duration::from_hours(24 * 365);

#[derive(Clone, Debug)]
pub(crate) struct CachedPage {
    pub(crate) page: Arc<RawPage>,
    pub(crate) origin: PageOrigin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PageOrigin {
    /// Begun or joined by this search.
    Call,
    /// Fresh.
    Cache,
    /// A stale page in place of a failure.
    Stale { failure: SourceFailure, was_called: bool },
}

pub(crate) type PageResult = Result<Arc<RawPage>, SourceFailure>;

/// The cached pages and the calls in flight. Clones share them.
#[derive(Clone)]
pub struct SourcePageCache {
    fresh: Duration,
    stale: Duration,
    pages: Cache<Arc<SourcePageKey>, StoredPage>,
    pub(super) positions: TimePositions,
    in_flight: SingleFlight<Arc<SourcePageKey>, PageResult>,
}

#[derive(Clone)]
struct StoredPage {
    page: Arc<RawPage>,
    since: Instant,
    /// The page before it was fetched anew since.
    is_overtaken: bool,
}

impl SourcePageCache {
    /// An empty cache.
    pub fn new(settings: CacheSettings) -> Self {
        let CacheSettings { fresh_ms, stale_ms, bytes } = settings;
        let (bytes, _) = cache_shares(bytes);
        let (fresh, stale) = (Duration::from_millis(fresh_ms), Duration::from_millis(stale_ms));
        let pages = Cache::builder()
            .max_capacity(bytes)
            .weigher(|key: &Arc<SourcePageKey>, stored: &StoredPage| {
                let given = [&key.cursor, &key.person].into_iter().flatten();
                let texts = key.keyword.len() + given.map(String::len).sum::<usize>();
                u32::try_from(texts + stored.page.bytes()).unwrap_or(u32::MAX)
            })
            .time_to_live(stale.max(fresh).clamp(ITEM_LIFETIME, MAX_LIFETIME))
            .build();
        let positions = TimePositions::new(bytes / POSITIONS_PART);
        let in_flight = SingleFlight::default();
        Self { fresh, stale, pages, positions, in_flight }
    }

    /// Calls keep their outcome themselves, also after their search.
    ///
    /// The pages of a person whom the source refuses go: they see nothing of before.
    pub(crate) fn keep(&self, key: Arc<SourcePageKey>, result: &PageResult) {
        match result {
            Ok(page) => self.put(key, page),
            Err(failure) if failure.is_person_refused => self.forget_person(&key),
            Err(_) => {}
        }
    }

    fn forget_person(&self, of: &SourcePageKey) {
        let pages = &self.pages;
        let is_theirs = |key: &SourcePageKey| key.registration == of.registration && key.person == of.person;
        let theirs = pages.iter().map(|(key, _)| key).filter(|key| is_theirs(key));
        for key in theirs.collect::<Vec<_>>() {
            pages.invalidate(&*key);
        }
    }

    fn put(&self, key: Arc<SourcePageKey>, page: &Arc<RawPage>) {
        if self.stale.max(self.fresh).is_zero() {
            return;
        }
        if let Some(cursor) = &page.cursor {
            // Items move between pages: the cached page behind is no longer fresh.
            let behind =
                Arc::new(SourcePageKey { cursor: Some(cursor.clone()), ..SourcePageKey::clone(&key) });
            self.pages.entry(behind).and_compute_with(|behind| match behind {
                Some(behind) => Op::Put(StoredPage { is_overtaken: true, ..behind.into_value() }),
                None => Op::Nop,
            });
        }
        self.positions.put(&key, page);
        let page = Arc::clone(page);
        self.pages.insert(key, StoredPage { page, since: Instant::now(), is_overtaken: false });
    }

    /// Finds an item in the newest cached page that holds it.
    ///
    /// The page is of this registration and person.
    pub(crate) fn find_item(&self, registration: u64, person: Option<&str>, id: &str) -> Option<ResultItem> {
        let of_registration = self
            .pages
            .iter()
            .filter(|(key, _)| key.registration == registration && key.person.as_deref() == person);
        let holding = of_registration.filter_map(|(_, stored)| Some((stored.since, stored.page.find(id)?)));
        holding.max_by_key(|(since, _)| *since).map(|(_, item)| item)
    }

    /// Finds a fresh page.
    ///
    /// # Errors
    /// What is missing, with the stale page that may stand in.
    pub(crate) fn look_up(&self, key: &SourcePageKey, deadline: Instant) -> Result<CachedPage, MissingPage> {
        let stored = self.pages.get(key);
        let is_fresh = |stored: &&StoredPage| stored.since.elapsed() < self.fresh && !stored.is_overtaken;
        if let Some(stored) = stored.as_ref().filter(is_fresh) {
            count_page("external", "hit");
            return Ok(CachedPage { page: Arc::clone(&stored.page), origin: PageOrigin::Cache });
        }
        let stale = stored.filter(|stored| stored.since.elapsed() < self.stale);
        let stale = stale.map(|stored| stored.page);
        let since = Instant::now();
        let left = deadline.saturating_duration_since(since);
        let lead = STALE_LEAD.min(left / 10);
        let until = if stale.is_some() { since + left.saturating_sub(lead) } else { deadline };
        Err(MissingPage { stale, since, until })
    }

    /// Joins the call in flight for a page, or begins this one.
    pub(crate) fn join(
        &self,
        key: Arc<SourcePageKey>,
        call: impl Future<Output = PageResult> + Send + 'static,
    ) -> SharedCall<PageResult> {
        // The layer below catches and logs panics of the source.
        let panicked = |panic: &_| Err(SourceFailure::from_panic("external", panic));
        let (call, joined) = self.in_flight.join(key, panicked, call);
        count_page("external", if joined { "coalesced" } else { "miss" });
        call
    }
}

/// A page that a call must fetch.
pub(crate) struct MissingPage {
    stale: Option<Arc<RawPage>>,
    since: Instant,
    /// End of the wait.
    pub(crate) until: Instant,
}

impl MissingPage {
    /// Waits for a call; a stale page stands in where it fails.
    ///
    /// Refused and late calls count as failed, but not one whose person is refused.
    pub(crate) async fn fill(
        self,
        call: Result<impl Future<Output = PageResult>, SourceFailure>,
    ) -> Result<CachedPage, SourceFailure> {
        let was_called = call.is_ok();
        let result = match call {
            Ok(call) if self.stale.is_some() => {
                let late = |_elapsed| Err(SourceFailure::timed_out(self.since.elapsed()));
                timeout_at(self.until, call).await.unwrap_or_else(late)
            }
            Ok(call) => call.await,
            Err(refusal) => Err(refusal),
        };
        match (result, self.stale) {
            (Ok(page), _) => Ok(CachedPage { page, origin: PageOrigin::Call }),
            (Err(failure), Some(page)) if !failure.is_person_refused => {
                count_page("external", "stale");
                Ok(CachedPage { page, origin: PageOrigin::Stale { failure, was_called } })
            }
            (Err(failure), _) => Err(failure),
        }
    }
}
