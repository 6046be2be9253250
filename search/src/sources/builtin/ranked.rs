//! Pages in relevance order: sources of the index are ranked as if they were one.

use trawl_engine::relevance::MatchScore;
use trawl_engine::{Hit, HitPage};

use crate::{
    source::{Position, PositionedItem, ResultItem, SourcePage},
    weight::Relevance,
};

pub(crate) fn skip(position: &Position) -> usize {
    if let Position::AfterRank(skip) = position { *skip } else { 0 }
}

/// Parts a page by its sources, of which these many items were skipped.
pub(crate) fn into_pages(page: HitPage, skips: &[usize]) -> Vec<SourcePage> {
    let HitPage { hits, total, totals_beside, statistics, .. } = page;
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
            item: ResultItem::from(hit),
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
