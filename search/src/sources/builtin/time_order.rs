//! Pages in time order.

use trawl_engine::{HitPage, Start, TimePosition};

use crate::{
    source::{Position, PositionedItem, ResultItem, SourcePage, SourceRequest, TimeBound},
    weight::Relevance,
};

/// Start of a page; `None` at the end.
pub(crate) fn start(request: &SourceRequest, position: &Position) -> Option<Start> {
    let after = match position {
        Position::End => return None,
        Position::AfterItem(display_time, id) => {
            Some(TimePosition { display_time: *display_time, id: Some(id.clone()) })
        }
        // The total includes the filter `to`.
        _ => request.before.map(|display_time| TimePosition { display_time, id: None }),
    };
    Some(Start::Time { after, whole_ties: request.whole_ties })
}

/// Page of a source from the hits of the engine.
pub(crate) fn into_page(page: HitPage, request: &SourceRequest) -> SourcePage {
    let items: Vec<PositionedItem> = page
        .hits
        .into_iter()
        .map(|hit| PositionedItem {
            after: Position::AfterItem(hit.display_time, hit.id.clone()),
            item: ResultItem::from(hit),
            relevance: Relevance::default(),
        })
        .collect();
    let last = items.last();
    let bound = match last.map(|last| last.item.display_time) {
        // Whole groups leave nothing behind unless cut.
        Some(time) if request.whole_ties.is_some() && !page.cut => TimeBound::AtMost(time.saturating_sub(1)),
        Some(time) => TimeBound::AtMost(time),
        None => TimeBound::AnyTime,
    };
    SourcePage {
        next: page.more.then(|| last.map(|last| last.after.clone())).flatten(),
        bound,
        total: Some(page.total),
        tie_cut: page.cut,
        items,
        ..SourcePage::default()
    }
}
