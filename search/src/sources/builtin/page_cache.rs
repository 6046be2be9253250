//! Caches pages that took work to find until the index changes.
//!
//! Requests hold the viewer's principals: no page reaches a person who may not see it.

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use moka::{ops::compute::Op, sync::Cache};
use trawl_engine::{Failure, HitPage, Request, Start, TimePosition, View};

use super::id_of;
use crate::{
    settings::CacheSettings,
    single_flight::SingleFlight,
    source::SourceFailure,
    sources::{cache_shares, count_page},
};

/// After this time, most unused pages are of an older generation.
const MAX_IDLE: Duration = Duration::from_mins(5);
/// A page takes at most this part of the room.
const MAX_PART: u64 = 16;

fn request_bytes(request: &Request) -> usize {
    const OWN: usize = 1_024;
    let principals = request.principals.iter().map(|principal| size_of::<String>() + principal.len());
    let id = match &request.start {
        Start::Time { after: Some(TimePosition { id: Some(id), .. }), .. } => id.len(),
        _ => 0,
    };
    OWN + request.query.bytes()
        + principals.sum::<usize>()
        + request.author.as_ref().map_or(0, String::len)
        + id
}

/// Cached index pages and searches in flight. Clones share them.
#[derive(Clone)]
pub struct IndexPageCache {
    pages: Cache<Arc<Request>, CachedIndexPage>,
    in_flight: SingleFlight<(Arc<Request>, u64), Result<Arc<HitPage>, SourceFailure>>,
    max_page_bytes: usize,
}

#[derive(Clone)]
struct CachedIndexPage {
    page: Arc<HitPage>,
    generation: u64,
}

impl IndexPageCache {
    /// An empty cache.
    pub fn new(settings: CacheSettings) -> Self {
        let (_, bytes) = cache_shares(settings.bytes);
        let pages = Cache::builder()
            .max_capacity(bytes)
            .weigher(|request: &Arc<Request>, cached: &CachedIndexPage| {
                u32::try_from(request_bytes(request) + page_bytes(&cached.page)).unwrap_or(u32::MAX)
            })
            .time_to_idle(MAX_IDLE)
            .build();
        let max_page_bytes = usize::try_from(bytes / MAX_PART).unwrap_or(usize::MAX);
        Self { pages, in_flight: SingleFlight::default(), max_page_bytes }
    }

    /// Takes a page of the cache, a running search, or the engine.
    ///
    /// `on_failure` converts failures.
    pub(crate) async fn get(
        &self,
        request: Arc<Request>,
        view: Arc<dyn View>,
        on_failure: impl FnOnce(Failure) -> SourceFailure + Send + 'static,
    ) -> Result<Arc<HitPage>, SourceFailure> {
        let generation = view.generation();
        if let Some(cached) = self.pages.get(&request).filter(|cached| cached.generation == generation) {
            count_page("builtin", "hit");
            return Ok(cached.page);
        }
        let (cache, flight_key) = (self.clone(), (Arc::clone(&request), generation));
        let source = id_of(&request.scope.module);
        let panicked = move |panic: &_| Err(SourceFailure::from_panic(&source, panic));
        let (page, joined) = self.in_flight.join(flight_key, panicked, async move {
            let page = Arc::new(view.search(&request).await.map_err(on_failure)?);
            cache.put(request, generation, &page);
            Ok(page)
        });
        count_page("builtin", if joined { "coalesced" } else { "miss" });
        page.await
    }

    /// Caches a page, unless a later generation is cached.
    fn put(&self, request: Arc<Request>, generation: u64, page: &Arc<HitPage>) {
        if page_bytes(page) > self.max_page_bytes {
            return;
        }
        let cached = CachedIndexPage { page: Arc::clone(page), generation };
        self.pages.entry(request).and_compute_with(|known| match known {
            Some(known) if known.value().generation > generation => Op::Nop,
            _ => Op::Put(cached),
        });
    }
}

fn page_bytes(page: &HitPage) -> usize {
    const EACH: usize = 64;
    EACH + page.hits.iter().map(|hit| EACH + hit.id.len() + hit.item.len()).sum::<usize>()
}
