//! Relevance order: sources of the index are ranked as if they were one.

use std::sync::Arc;

use trawl_engine::relevance::{MatchScore, QueryStatistics};
use trawl_engine::{Hit, Page, RankedScope, Start};

use super::{snapshot::ServedView, source::BuiltinSource};
use crate::{
    clock::this_hour,
    source::{Item, Position, PositionedItem, SourceFailure, SourcePage, SourceRequest},
    weight::Relevance,
};

/// One page of each source, from its position.
pub(crate) async fn ranked_together(
    request: &SourceRequest,
    sources: &[(&BuiltinSource, &Position)],
) -> Result<Vec<SourcePage>, SourceFailure> {
    let [(first, position), beside @ ..] = sources else { return Ok(Vec::new()) };
    let ServedView { view, incomplete, degradation } = first.view_of(&request.search)?;
    let skips: Vec<usize> = sources.iter().map(|(_, position)| skip(position)).collect();
    let beside = beside
        .iter()
        .map(|(source, position)| RankedScope { scope: Arc::clone(&source.scope), skip: skip(position) });
    let start = Start::Relevance {
        skip: skip(position),
        beside: beside.collect(),
        now: this_hour(),
        recency: request.recency,
    };
    let search = Arc::new(first.request(request, start));
    let page = first.cache.get(search, view, first.on_failure()).await?;
    let mut pages = into_pages(Arc::unwrap_or_clone(page), &skips);
    for page in &mut pages {
        page.incomplete.clone_from(&incomplete);
        page.note = degradation.as_deref().cloned();
    }
    Ok(pages)
}

/// Statistics of sources that have no more items; `None` if the index fails.
pub(crate) async fn statistics(
    request: &SourceRequest,
    sources: &[&BuiltinSource],
) -> Option<Arc<QueryStatistics>> {
    let mut search = (*request.search).clone();
    search.parameters.limit = 0;
    let request = SourceRequest { search: Arc::new(search), ..request.clone() };
    let sources: Vec<_> = sources.iter().map(|source| (*source, &Position::Beginning)).collect();
    ranked_together(&request, &sources).await.ok()?.into_iter().next()?.statistics
}

pub(crate) fn skip(position: &Position) -> usize {
    if let Position::AfterRank(skip) = position { *skip } else { 0 }
}

/// Parts a page by its sources, of which these many items were skipped.
pub(crate) fn into_pages(page: Page, skips: &[usize]) -> Vec<SourcePage> {
    let Page { hits, total, totals_beside, statistics, .. } = page;
    let skipped: usize = skips.iter().sum();
    let relevance = |score: Option<MatchScore>, place: usize| match score {
        Some(score) => Relevance::Scored { score: score.total(), rank: skipped + place },
        // All matches are equal.
        None => Relevance::default(),
    };
    let least_relevance = hits.last().map(|last| relevance(last.score, hits.len()));
    let has_hits = !hits.is_empty();
    let mut pages: Vec<SourcePage> = std::iter::once(total)
        .chain(totals_beside)
        .map(|total| SourcePage {
            total: Some(total),
            least_relevance,
            statistics: statistics.clone(),
            ..SourcePage::default()
        })
        .collect();
    // A query that cannot match has no totals.
    pages.resize_with(skips.len(), || SourcePage { total: Some(0), ..SourcePage::default() });
    let mut ends = skips.to_vec();
    for (place, hit) in hits.into_iter().enumerate() {
        let Hit { scope, score, .. } = hit;
        ends[scope] += 1;
        pages[scope].items.push(PositionedItem {
            item: Item::from(hit),
            after: Position::AfterRank(ends[scope]),
            relevance: relevance(score, place),
        });
    }
    for (page, end) in pages.iter_mut().zip(ends) {
        let goes_on = has_hits && page.total.is_some_and(|total| (end as u64) < total);
        page.next = goes_on.then_some(Position::AfterRank(end));
    }
    pages
}
