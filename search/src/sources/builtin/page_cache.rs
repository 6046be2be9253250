//! Caches pages that took work to find until the index changes (decisions 6.5).
//!
//! Keys hold the viewer's principals: no page reaches a person who may not see it.

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use moka::{ops::compute::Op, sync::Cache};
use tokio_util::task::AbortOnDropHandle;
use trawl_index as index;

use crate::{
    settings::CacheSettings,
    source::{FailureKind, SourceFailure, SourceRequest},
    sources::{cache_shares, count_page, external::SingleFlight},
};

/// By then, most unused pages are of an older generation.
const MAX_IDLE: Duration = Duration::from_mins(5);
/// A page takes at most this part of the room.
const MAX_PART: u64 = 16;

/// All that a page depends on besides the index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct IndexPageKey {
    scope: Arc<index::Scope>,
    query: Arc<index::Query>,
    principals: Arc<[String]>,
    from: Option<i64>,
    to: Option<i64>,
    author: Option<String>,
    start: index::Start,
    limit: usize,
}

impl IndexPageKey {
    pub(crate) fn new(scope: &Arc<index::Scope>, request: &SourceRequest, start: index::Start) -> Self {
        let search = &request.search;
        let filters = &search.parameters.filters;
        Self {
            scope: Arc::clone(scope),
            query: Arc::clone(&search.query),
            principals: Arc::clone(&search.viewer.principals),
            from: filters.from,
            to: filters.to,
            author: filters.author.clone(),
            start,
            limit: search.parameters.limit,
        }
    }

    pub(crate) fn request(&self) -> index::Request<'_> {
        index::Request {
            scope: &self.scope,
            query: &self.query,
            principals: &self.principals,
            from: self.from,
            to: self.to,
            author: self.author.as_deref(),
            start: self.start.clone(),
            limit: self.limit,
        }
    }

    fn bytes(&self) -> usize {
        const OWN: usize = 1_024;
        let principals = self.principals.iter().map(|principal| size_of::<String>() + principal.len());
        let id = match &self.start {
            index::Start::Time { after: Some(index::TimePosition { id: Some(id), .. }), .. } => id.len(),
            _ => 0,
        };
        OWN + self.query.bytes()
            + principals.sum::<usize>()
            + self.author.as_ref().map_or(0, String::len)
            + id
    }
}

/// Cached index pages and searches in flight. Clones share them.
#[derive(Clone)]
pub struct IndexPageCache {
    pages: Cache<Arc<IndexPageKey>, CachedIndexPage>,
    in_flight: SingleFlight<(Arc<IndexPageKey>, u64), Result<Arc<index::Page>, SourceFailure>>,
    max_page_bytes: usize,
}

#[derive(Clone)]
struct CachedIndexPage {
    page: Arc<index::Page>,
    generation: u64,
}

impl IndexPageCache {
    /// An empty cache.
    pub fn new(settings: CacheSettings) -> Self {
        let (_, bytes) = cache_shares(settings.bytes);
        let pages = Cache::builder()
            .max_capacity(bytes)
            .weigher(|key: &Arc<IndexPageKey>, cached: &CachedIndexPage| {
                u32::try_from(key.bytes() + page_bytes(&cached.page)).unwrap_or(u32::MAX)
            })
            .time_to_idle(MAX_IDLE)
            .build();
        let max_page_bytes = usize::try_from(bytes / MAX_PART).unwrap_or(usize::MAX);
        Self { pages, in_flight: SingleFlight::default(), max_page_bytes }
    }

    /// Takes a cached page, one from a search in flight, or one from a blocking thread. `on_failure` converts errors of the index.
    pub(crate) async fn get(
        &self,
        key: Arc<IndexPageKey>,
        snapshot: index::Snapshot,
        on_failure: impl FnOnce(&index::Error) -> SourceFailure + Send + 'static,
    ) -> Result<Arc<index::Page>, SourceFailure> {
        let generation = snapshot.generation();
        if let Some(cached) = self.pages.get(&key).filter(|cached| cached.generation == generation) {
            count_page("builtin", "hit");
            return Ok(cached.page);
        }
        let (cache, flight_key) = (self.clone(), (Arc::clone(&key), generation));
        let (page, joined) = self.in_flight.join(flight_key, || Err(SourceFailure::panicked()), async move {
            let search = move || {
                let page = snapshot.search(&key.request()).map_err(|error| on_failure(&error))?;
                let page = Arc::new(page);
                cache.put(key, generation, &page);
                Ok(page)
            };
            let panicked =
                |_panic| SourceFailure::new(FailureKind::Error, "the index failed inside the server");
            AbortOnDropHandle::new(tokio::task::spawn_blocking(search)).await.map_err(panicked).flatten()
        });
        count_page("builtin", if joined { "coalesced" } else { "miss" });
        page.await
    }

    /// Caches a page, unless a later generation is cached.
    fn put(&self, key: Arc<IndexPageKey>, generation: u64, page: &Arc<index::Page>) {
        if page_bytes(page) > self.max_page_bytes {
            return;
        }
        let cached = CachedIndexPage { page: Arc::clone(page), generation };
        self.pages.entry(key).and_compute_with(|known| match known {
            Some(known) if known.value().generation > generation => Op::Nop,
            _ => Op::Put(cached),
        });
    }
}

fn page_bytes(page: &index::Page) -> usize {
    const EACH: usize = 64;
    EACH + page.hits.iter().map(|hit| EACH + hit.id.len() + hit.item.len()).sum::<usize>()
}
