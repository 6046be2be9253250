//! Items that an operator pins to a keyword.
//!
//! The first page shows them above its own items. The viewer must be allowed to see them, and the filters hold. The
//! cursor keeps their marks, so that no later place shows them again, whatever becomes of the vocabulary.

use std::collections::HashSet;

use futures::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout_at};
use trawl_engine::Hit;

use crate::{
    request::SearchContext,
    source::{PagedSource, ResultItem, SourceFingerprint},
    sources::builtin::BuiltinSource,
    vocabulary::PinnedItem,
};

/// A slow index leaves this part of the time to the search itself.
const SEARCH_PART: u32 = 2;

/// The pinned items of a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pinned {
    /// Pinned items in the operator's order; empty on later pages.
    pub(crate) items: Vec<ResultItem>,
    pub(crate) marks: PinnedMarks,
}

/// Which items the first page showed above its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PinnedMarks {
    pub(crate) ids: Vec<(SourceFingerprint, String)>,
    /// Those that the words do not match: totals of sources lack them.
    pub(crate) unmatched: u64,
}

impl PinnedMarks {
    pub(crate) fn ids_of(&self, key: SourceFingerprint) -> HashSet<String> {
        let own = self.ids.iter().filter(|(source, _)| *source == key);
        own.map(|(_, id)| id.clone()).collect()
    }
}

impl Pinned {
    /// Finds the pinned items of these sources; none if the index fails.
    pub(crate) async fn find(
        sources: &[&BuiltinSource],
        search: &SearchContext,
        pins: &[PinnedItem],
    ) -> Self {
        let source_of =
            |pin: &PinnedItem| sources.iter().copied().find(|source| source.scope().module == pin.module);
        let pins: Vec<(&BuiltinSource, &str)> =
            pins.iter().filter_map(|pin| Some((source_of(pin)?, pin.id.as_str()))).collect();
        let Some((first, _)) = pins.first() else { return Self::default() };
        let requests = pins.iter().map(|(source, id)| source.request_of_item(search, id)).collect();
        let finding = async {
            let found = first.newest(&search.viewer, &requests).await.ok()?;
            let found = pins
                .iter()
                .zip(found)
                .filter_map(|((source, _), hits)| Some((*source, hits.into_iter().next()?)));
            let found: Vec<(&BuiltinSource, Hit)> = found.collect();
            let matching = found.iter().map(|(source, hit)| source.matches_item(search, sources, &hit.id));
            let unmatched = join_all(matching).await.iter().filter(|matches| !**matches).count() as u64;
            Some(Self::of(found, unmatched))
        };
        let now = Instant::now();
        let until = now + search.deadline.saturating_duration_since(now) / SEARCH_PART;
        timeout_at(until, finding).await.ok().flatten().unwrap_or_default()
    }

    fn of(found: Vec<(&BuiltinSource, Hit)>, unmatched: u64) -> Self {
        let mut pinned =
            Self { marks: PinnedMarks { unmatched, ..PinnedMarks::default() }, items: Vec::new() };
        for (source, hit) in found {
            pinned.marks.ids.push((SourceFingerprint::of(source.id()), hit.id.clone()));
            let mut item = ResultItem::from(hit);
            item.add_field("pinned", "true");
            item.is_pinned = true;
            item.source = Some(source.id_as_json());
            pinned.items.push(item);
        }
        pinned
    }
}
