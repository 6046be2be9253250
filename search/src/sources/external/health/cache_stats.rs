use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

use super::{super::page_cache::PageOrigin, SourceState};

/// Pages by origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct CacheUse {
    /// Fresh pages.
    pub hits: u64,
    /// Calls begun or joined, without stale pages.
    pub misses: u64,
    /// Stale pages in place of failures.
    pub stale: u64,
}

#[derive(Debug, Default)]
pub(super) struct CacheCounters {
    hits: AtomicU64,
    called: AtomicU64,
    stale: AtomicU64,
    stale_called: AtomicU64,
}

impl CacheCounters {
    pub(super) fn show(&self) -> CacheUse {
        // Read first: each stale page was called for before.
        let stale_called = self.stale_called.load(Relaxed);
        let (hits, stale) = (self.hits.load(Relaxed), self.stale.load(Relaxed));
        CacheUse { hits, misses: self.called.load(Relaxed).saturating_sub(stale_called), stale }
    }
}

impl SourceState {
    pub(in super::super) fn count_call(&self) {
        self.pages.called.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_page(&self, origin: &PageOrigin) {
        match origin {
            PageOrigin::Cache => {
                self.pages.hits.fetch_add(1, Relaxed);
            }
            PageOrigin::Stale { was_called, .. } => {
                self.pages.stale.fetch_add(1, Relaxed);
                self.pages.stale_called.fetch_add(u64::from(*was_called), Relaxed);
            }
            PageOrigin::Call => {}
        }
    }
}
