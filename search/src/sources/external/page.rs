//! External pages, and how one search reads them.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use trawl_connectors::{Answer, ContentItem, DeclaredOrder};

use super::resume::{Resume, resume_by_rank, resume_by_time};
use crate::{
    request::Order,
    source::{
        ConsumedPart, FailureKind, Item, Position, PositionedItem, SourceFailure, SourcePage, SourceRequest,
        TimeBound,
    },
};

#[derive(Debug, Default)]
pub(crate) struct RawPage {
    items: Vec<RawItem>,
    in_time_order: bool,
    pub(super) cursor: Option<String>,
    total: Option<u64>,
    pub(super) note: Option<String>,
    pub(super) broken: Option<String>,
}

#[derive(Debug)]
pub(super) struct RawItem {
    pub(super) item: Item,
    author: Option<String>,
}

impl RawPage {
    /// Fails if an item cannot be written as JSON.
    pub(crate) fn read(
        answer: Answer,
        declared: DeclaredOrder,
        cursor: Option<&str>,
    ) -> Result<Self, SourceFailure> {
        let Answer { items, total, cursor: next, notes, mut broken } = answer;
        let stands_still = next.is_some() && next.as_deref() == cursor;
        if stands_still {
            broken
                .get_or_insert_with(|| "its cursor stands still: the next page would be this one".to_owned());
        }
        let in_time_order = items.is_sorted_by_key(|item| Reverse(item.display_time));
        if declared == DeclaredOrder::Time && !in_time_order {
            broken.get_or_insert_with(|| "it declares time order and breaks it".to_owned());
        }
        let items = items
            .into_iter()
            .map(RawItem::write)
            .collect::<Result<_, serde_json::Error>>()
            .map_err(|_| SourceFailure::new(FailureKind::Error, "an item could not be written down"))?;
        let note = notes.into_iter().next();
        Ok(Self { items, in_time_order, cursor: next.filter(|_| !stands_still), total, note, broken })
    }

    /// Upper bound of times here and behind, if the order holds.
    pub(super) fn newest(&self) -> Option<i64> {
        let first = self.items.first().filter(|_| self.in_time_order && self.broken.is_none())?;
        Some(first.item.display_time)
    }

    pub(super) fn bytes(&self) -> usize {
        const EACH: usize = 128;
        let texts = |raw: &RawItem| {
            EACH + raw.item.id.len() + raw.item.json.len() + raw.author.as_ref().map_or(0, String::len)
        };
        let own =
            [&self.cursor, &self.note, &self.broken].into_iter().flatten().map(String::len).sum::<usize>();
        EACH + own + self.items.iter().map(texts).sum::<usize>()
    }
}

impl RawItem {
    fn write(item: ContentItem) -> Result<Self, serde_json::Error> {
        let json = serde_json::to_string(&item)?;
        let (id, display_time) = (item.id, item.display_time);
        Ok(Self { item: Item { json, display_time, id, title_is_name: false }, author: item.author })
    }
}

pub(crate) fn resume_point(position: &Position) -> Option<(Option<&str>, &[ConsumedPart])> {
    match position {
        Position::InPage(cursor, consumed) => Some((cursor.as_deref(), consumed)),
        Position::Beginning | Position::AfterItem(..) | Position::AfterRank(_) => Some((None, &[])),
        Position::End => None,
    }
}

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
    if parameters.order == Order::Time && declared == DeclaredOrder::Time {
        bound = TimeBound::AtMost(items.iter().map(|raw| raw.item.display_time).min().unwrap_or(i64::MAX));
    }
    let is_past_range = raw.in_time_order
        && raw.broken.is_none()
        && matches!((bound, parameters.filters.from), (TimeBound::AtMost(time), Some(from)) if time < from);
    let Resume { items: left, behind } = match parameters.order {
        Order::Time => {
            let is_ordered = declared == DeclaredOrder::Time && raw.newest().is_some();
            resume_by_time(items, consumed, raw.cursor.is_none(), is_ordered)
        }
        Order::Relevance => resume_by_rank(items, consumed),
    };
    let next = raw.cursor.clone().filter(|_| !is_past_range);
    let next = next.map(|next| Position::InPage(Some(next), behind));

    let mut items: Vec<PositionedItem> = left
        .into_iter()
        .filter(|(raw, _)| matches_filters(raw, request))
        .map(|(raw, consumed)| PositionedItem {
            item: raw.item.clone(),
            after: Position::InPage(cursor.map(str::to_owned), consumed),
        })
        .collect();
    // The page has nothing left after its last match.
    if let (Some(last), Some(next)) = (items.last_mut(), &next) {
        last.after = next.clone();
    }
    SourcePage {
        items,
        next,
        bound,
        total: raw.total,
        broken: raw.broken.clone(),
        note: raw.note.clone(),
        ..SourcePage::default()
    }
}

/// The contract of sources has no filters (decisions 5.8).
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
