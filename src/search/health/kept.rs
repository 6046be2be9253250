//! How often searches of a source were answered from what it had answered before.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

/// Pages that searches wanted of a source, by where they came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct CacheUse {
    /// Kept pages that were fresh.
    pub hits: u64,
    /// Neither of the others: a call was made, of this search or of another one that had just begun it, and it ended whichever way.
    /// Searches that did not ask, since the source is suspended, miss nothing.
    pub misses: u64,
    /// Kept pages that stood in for a call that failed, came late or was not made.
    pub stale: u64,
}

/// The counts as they grow.
#[derive(Debug, Default)]
pub(super) struct Counts {
    hits: AtomicU64,
    /// Pages that the source was asked for.
    asked: AtomicU64,
    stale: AtomicU64,
    /// Those of the stale ones that the source was asked for.
    stale_asked: AtomicU64,
}

impl Counts {
    pub(super) fn show(&self) -> CacheUse {
        // The stale ones first: each was asked for before.
        let stale_asked = self.stale_asked.load(Relaxed);
        let (hits, stale) = (self.hits.load(Relaxed), self.stale.load(Relaxed));
        CacheUse { hits, misses: self.asked.load(Relaxed).saturating_sub(stale_asked), stale }
    }
}

impl super::SourceState {
    /// A kept page was fresh.
    pub(in crate::search) fn count_hit(&self) {
        self.kept.hits.fetch_add(1, Relaxed);
    }

    /// No fresh page was kept, and the source is asked.
    pub(in crate::search) fn count_asked(&self) {
        self.kept.asked.fetch_add(1, Relaxed);
    }

    /// An earlier page stood in; `is_asked` where the source was asked in vain.
    pub(in crate::search) fn count_stale(&self, is_asked: bool) {
        self.kept.stale.fetch_add(1, Relaxed);
        self.kept.stale_asked.fetch_add(u64::from(is_asked), Relaxed);
    }
}
