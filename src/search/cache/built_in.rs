//! Pages of the built-in index that took some work to find, for as long as the index is what it was (decisions 6.5).
//!
//! A page is found from its question alone, and the question says who may see it: what is kept or shared cannot be
//! another's. It is kept with the generation of the index that it was found in, and answers searches of that one only.

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use moka::{ops::compute::Op, sync::Cache};
use tokio_util::task::AbortOnDropHandle;
use trawl_index as index;

use super::{count_of, flights::Flights, shares};
use crate::{
    config,
    search::source::{Ask, FailureKind, SourceFailure},
};

/// A page that nobody asked for for so long is forgotten; most are of an older generation by then.
const UNUSED: Duration = Duration::from_mins(5);
/// A page takes at most this part of the room, so that one large one does not drive all others out.
const LARGEST: u64 = 16;

/// Everything that a page of the index depends on, but for the index itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::search) struct Question {
    /// The tenant and the module.
    scope: Arc<index::Scope>,
    query: Arc<index::Query>,
    /// What the viewer may see; a person's own is among them.
    principals: Arc<[String]>,
    from: Option<i64>,
    to: Option<i64>,
    author: Option<String>,
    start: index::Start,
    limit: usize,
}

impl Question {
    /// What a search asks of the documents of a scope, from `start` on.
    pub(in crate::search) fn new(scope: &Arc<index::Scope>, ask: &Ask, start: index::Start) -> Self {
        Self {
            scope: Arc::clone(scope),
            query: Arc::clone(&ask.query),
            principals: Arc::clone(&ask.viewer.principals),
            from: ask.filters.from,
            to: ask.filters.to,
            author: ask.filters.author.clone(),
            start,
            limit: ask.limit,
        }
    }

    /// The same, as the index takes it.
    pub(in crate::search) fn request(&self) -> index::Request<'_> {
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

    /// About how many bytes it holds; what it shares with the search that asked it counts in full.
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

/// The pages at hand and those that are being looked for. Clones share them.
#[derive(Clone)]
pub(in crate::search) struct BuiltInPages {
    kept: Cache<Arc<Question>, Kept>,
    flights: Flights<(Arc<Question>, u64), Arc<index::Page>>,
    /// The bytes of the largest page that is kept.
    largest: usize,
}

#[derive(Clone)]
struct Kept {
    page: Arc<index::Page>,
    /// Of the index that it was found in.
    generation: u64,
}

impl BuiltInPages {
    /// Pages that are kept in the room that the settings leave them.
    pub(in crate::search) fn new(settings: config::Cache) -> Self {
        let (_, bytes) = shares(settings.bytes);
        let kept = Cache::builder()
            .max_capacity(bytes)
            .weigher(|question: &Arc<Question>, kept: &Kept| {
                u32::try_from(question.bytes() + bytes_of(&kept.page)).unwrap_or(u32::MAX)
            })
            .time_to_idle(UNUSED)
            .build();
        let largest = usize::try_from(bytes / LARGEST).unwrap_or(usize::MAX);
        Self { kept, flights: Flights::default(), largest }
    }

    /// The page that answers a question in this state of the index: the one at hand, else the one that is being looked for,
    /// else it is looked for on a thread that may block. When nobody waits for it any more before that began, it is not.
    ///
    /// # Errors
    /// The index cannot answer; `failed` makes a failure of why, and logs it.
    pub(in crate::search) async fn get(
        &self,
        question: Arc<Question>,
        snapshot: index::Snapshot,
        failed: impl FnOnce(&index::Error) -> SourceFailure + Send + 'static,
    ) -> Result<Arc<index::Page>, SourceFailure> {
        let generation = snapshot.generation();
        if let Some(kept) = self.kept.get(&question).filter(|kept| kept.generation == generation) {
            count_of("builtin", "hit");
            return Ok(kept.page);
        }
        let (pages, key) = (self.clone(), (Arc::clone(&question), generation));
        let (waiting, joined) = self.flights.join(key, async move {
            let search = move || {
                let page = Arc::new(snapshot.search(&question.request()).map_err(|error| failed(&error))?);
                pages.keep(question, generation, &page);
                Ok(page)
            };
            let broke = |_panic| SourceFailure::new(FailureKind::Error, "the index failed inside the server");
            AbortOnDropHandle::new(tokio::task::spawn_blocking(search)).await.map_err(broke).flatten()
        });
        count_of("builtin", if joined { "coalesced" } else { "miss" });
        waiting.await
    }

    /// Keeps a page, unless one of a later state of the index is there.
    fn keep(&self, question: Arc<Question>, generation: u64, page: &Arc<index::Page>) {
        if bytes_of(page) > self.largest {
            return;
        }
        let kept = Kept { page: Arc::clone(page), generation };
        self.kept.entry(question).and_compute_with(|known| match known {
            Some(known) if known.value().generation > generation => Op::Nop,
            _ => Op::Put(kept),
        });
    }
}

/// About how many bytes a page holds.
fn bytes_of(page: &index::Page) -> usize {
    const EACH: usize = 64;
    EACH + page.hits.iter().map(|hit| EACH + hit.id.len() + hit.item.len()).sum::<usize>()
}
