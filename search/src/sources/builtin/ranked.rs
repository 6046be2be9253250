//! Pages in relevance order: sources of the index are ranked as if they were one.

use trawl_engine::relevance::MatchScore;
use trawl_engine::{Hit, HitPage, ScopeStart};

use crate::{
    source::{Position, PositionedItem, ResultItem, SourcePage},
    weight::Relevance,
};

/// Start of a page in its source.
pub(crate) fn start_of(position: &Position) -> ScopeStart {
    match position {
        Position::AfterRank(skip) => ScopeStart { skip: *skip, after: None },
        Position::AfterMatch(skip, last) => ScopeStart { skip: *skip, after: Some(last.clone()) },
        _ => ScopeStart::default(),
    }
}

fn position_of(ScopeStart { skip, after }: ScopeStart) -> Position {
    match after {
        Some(last) => Position::AfterMatch(skip, last),
        None => Position::AfterRank(skip),
    }
}

/// Parts a page by its sources, in which it started there.
pub(crate) fn into_pages(page: HitPage, starts: Vec<ScopeStart>) -> Vec<SourcePage> {
    let HitPage { hits, total, totals_beside, more_by_scope, statistics, ranked_by, .. } = page;
    let skipped: usize = starts.iter().map(|start| start.skip).sum();
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
            ranked_by: ranked_by.clone(),
            ..SourcePage::default()
        })
        .collect();
    // A query that cannot match has no totals.
    pages.resize_with(starts.len(), || SourcePage { total: Some(0), ..SourcePage::default() });
    let mut ends = starts;
    for (place, hit) in hits.into_iter().enumerate() {
        let Hit { scope, score, .. } = hit;
        ends[scope] = ends[scope].behind(&hit);
        pages[scope].items.push(PositionedItem {
            item: ResultItem::from(hit),
            after: position_of(ends[scope].clone()),
            relevance: relevance(score, place),
        });
    }
    for ((page, end), more) in pages.iter_mut().zip(ends).zip(more_by_scope) {
        page.next = (has_hits && more).then(|| position_of(end));
    }
    pages
}
