//! Pages of external systems, and how one search reads them.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use trawl_connectors::DeclaredOrder;

use super::{
    raw_page::{RawItem, RawPage},
    resume::{Resume, resume_by_rank, resume_by_time},
};
use crate::{
    request::SearchOrder,
    source::{ConsumedPart, Position, PositionedItem, SourcePage, SourceRequest, TimeBound},
    weight::Relevance,
};

/// The cursor and the consumed parts of a position.
pub(crate) fn resume_point(position: &Position) -> Option<(Option<&str>, &[ConsumedPart])> {
    match position {
        Position::InPage(cursor, consumed) => Some((cursor.as_deref(), consumed)),
        Position::Beginning | Position::AfterItem(..) | Position::AfterRank(_) | Position::AfterMatch(..) => {
            Some((None, &[]))
        }
        Position::End => None,
    }
}

/// Filters and sorts a page for one search.
///
/// Ties are sorted by id within a page and keep the source's order between pages.
pub(crate) fn into_page(
    raw: &RawPage,
    request: &SourceRequest,
    declared: DeclaredOrder,
    cursor: Option<&str>,
    consumed: &[ConsumedPart],
) -> SourcePage {
    let parameters = &request.search.parameters;
    let items = raw.items.as_slice();
    let mut bound = TimeBound::AnyTime;
    if parameters.order == SearchOrder::Time && declared == DeclaredOrder::Time {
        bound = TimeBound::AtMost(raw.oldest().unwrap_or(i64::MAX));
    }
    let is_past_range = raw.in_time_order
        && raw.broken.is_none()
        && matches!((bound, parameters.filters.from), (TimeBound::AtMost(time), Some(from)) if time < from);
    let Resume { items: left, behind } = match parameters.order {
        SearchOrder::Time => {
            let is_ordered = declared == DeclaredOrder::Time && raw.newest().is_some();
            resume_by_time(items, consumed, raw.cursor.is_none(), is_ordered)
        }
        SearchOrder::Relevance => resume_by_rank(items, consumed),
    };
    let next = raw.cursor.clone().filter(|_| !is_past_range);
    let next = next.map(|next| Position::InPage(Some(next), behind));

    let mut items: Vec<PositionedItem> = left
        .into_iter()
        .filter(|(raw, _)| matches_filters(raw, request))
        .map(|(raw, consumed)| PositionedItem {
            item: raw.item.clone(),
            after: Position::InPage(cursor.map(str::to_owned), consumed),
            relevance: Relevance::default(),
        })
        .collect();
    // After its last match, the page has nothing left.
    if let (Some(last), Some(next)) = (items.last_mut(), &next) {
        last.after = next.clone();
    }
    SourcePage {
        items,
        sent: Arc::clone(&raw.sent),
        next,
        bound,
        total: raw.total,
        broken: raw.broken.clone(),
        note: raw.note.clone(),
        incomplete: raw.incomplete.clone(),
        ..SourcePage::default()
    }
}

/// Whether an item passes the filters, which the contract lacks.
fn matches_filters(raw: &RawItem, request: &SourceRequest) -> bool {
    let RawItem { item, author } = raw;
    let filters = &request.search.parameters.filters;
    let by_author = |name: &str| {
        author.as_deref().is_some_and(|author| author.to_lowercase().contains(&name.to_lowercase()))
    };
    filters.from.is_none_or(|from| item.display_time >= from)
        && request.upper_bound().is_none_or(|bound| item.display_time < bound)
        && filters.author.as_deref().is_none_or(by_author)
}
