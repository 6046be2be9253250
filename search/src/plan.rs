//! Plan of a page: its sources, their positions, and its length.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use trawl_engine::relevance::{RankedBy, Recency};

use crate::{
    cursor::{LaneState, PageCursor},
    duplicates::SeenItems,
    error::{Error, Result},
    loop_guard::LoopGuard,
    merge::PageLength,
    module::{Module, ModuleSource, SearchableModule},
    pinned::Pinned,
    request::{LARGEST_TIE, PageRequest, PageStart, SearchOrder, SearchParameters},
    source::{Position, SourceFingerprint},
};

#[derive(Clone)]
pub(crate) struct PlannedLane {
    pub(crate) source: ModuleSource,
    /// Where it continues.
    pub(crate) state: LaneState,
    /// Ids of items that stand above the first page.
    pub(crate) left_out: HashSet<String>,
}

pub(crate) struct PagePlan {
    pub(crate) lanes: Vec<PlannedLane>,
    /// Sources that are not asked, with their places among all.
    pub(crate) unasked: Vec<(usize, ModuleSource)>,
    pub(crate) length: PageLength,
    pub(crate) before: Option<i64>,
    /// Absent sources and those that are not asked continue here when they return.
    pub(crate) absent: Vec<LaneState>,
    pub(crate) seen: SeenItems,
    pub(crate) recency: Recency,
    /// What earlier pages of the index were ranked by.
    pub(crate) ranked_by: Option<RankedBy>,
}

impl PagePlan {
    /// Keeps pinned items out of the lanes; duplicates among themselves are shown once.
    pub(crate) fn leave_out(&mut self, pinned: &mut Pinned) {
        for lane in &mut self.lanes {
            lane.left_out = pinned.marks.ids_of(lane.state.source);
        }
        for (item, (source, _)) in pinned.items.iter_mut().zip(&pinned.marks.ids) {
            item.lane = self.lanes.iter().position(|lane| lane.state.source == *source);
        }
        let mut sources = pinned.marks.ids.iter().map(|(source, _)| *source);
        pinned.items.retain(|item| self.seen.note_above(item, sources.next().unwrap_or_default()));
    }
}

/// [`Error::NoSuchSource`].
pub(crate) fn plan(
    parameters: &SearchParameters,
    page: &PageRequest,
    module: &SearchableModule,
    cursor: Option<PageCursor>,
) -> Result<PagePlan> {
    let chosen = page.source.as_deref();
    let taking_part: Vec<&ModuleSource> = module.sources(chosen).collect();
    if let (Some(chosen), []) = (chosen, taking_part.as_slice()) {
        return Err(Error::NoSuchSource(chosen.to_owned()));
    }
    let is_exact =
        page.is_exact || parameters.explain || parameters.order == SearchOrder::Relevance || cursor.is_some();
    let length = if is_exact {
        PageLength::Exact(parameters.limit)
    } else {
        PageLength::WholeTies { limit: parameters.limit, largest_tie: LARGEST_TIE }
    };
    let PageCursor { before, lanes: mut states, seen, ranked_by, .. } =
        cursor.unwrap_or_else(|| PageCursor {
            before: match page.start {
                PageStart::Before(time) => Some(time),
                PageStart::Beginning | PageStart::Cursor(_) => None,
            },
            ..PageCursor::default()
        });
    let is_unasked =
        |source: &ModuleSource| source.is_disabled() || parameters.typing && !source.is_asked_while_typing();
    let (unasked, in_use): (Vec<_>, Vec<_>) =
        taking_part.into_iter().enumerate().partition(|(_, source)| is_unasked(source));
    let unasked = unasked.into_iter().map(|(place, source)| (place, source.clone())).collect();
    let lanes = in_use.into_iter().map(|(_, source)| continue_lane(source, &mut states)).collect();
    let Module { duplicates, recency, .. } = *module.module;
    let seen = SeenItems::new(duplicates, seen);
    Ok(PagePlan { lanes, unasked, length, before, absent: states, seen, recency, ranked_by })
}

fn continue_lane(source: &ModuleSource, states: &mut Vec<LaneState>) -> PlannedLane {
    let key = SourceFingerprint::of(source.id());
    let known = states.iter().position(|state| state.source == key).map(|place| states.swap_remove(place));
    let state = known.unwrap_or_else(|| LaneState {
        source: key,
        position: Position::Beginning,
        consumed: 0,
        least_estimate: None,
        total: None,
        guard: LoopGuard::default(),
    });
    PlannedLane { source: source.clone(), state, left_out: HashSet::new() }
}
