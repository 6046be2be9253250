//! The plan of one search: which sources take part, where each continues, how long the page is.

#[cfg(test)]
mod tests;

use std::{collections::HashSet, sync::Arc};

use super::{
    cursor::{Cursor, LaneState, SourceKey},
    duplicates::{Duplicates, Shown},
    loops::LoopGuard,
    merge::PageLength,
    request::{LARGEST_TIE, Order, SearchRequest, Start},
    source::{Position, Source},
};
use crate::error::{Error, Result};

/// One source's part in a search.
#[derive(Clone)]
pub(super) struct PlannedLane {
    /// The source.
    pub(super) source: Arc<dyn Source>,
    /// Where it continues.
    pub(super) position: Position,
    /// How many of its items earlier pages held.
    pub(super) taken: usize,
    /// Its total as an earlier page knew it.
    pub(super) total: Option<u64>,
    /// What is remembered of its cursors so far.
    pub(super) guard: LoopGuard,
}

/// What is to be done for one page.
pub(super) struct Plan {
    /// The sources, by their places in the module.
    pub(super) lanes: Vec<PlannedLane>,
    /// Sources that are out of use, with their places among all that take part.
    pub(super) disabled: Vec<(usize, Arc<dyn Source>)>,
    /// How long the page is.
    pub(super) length: PageLength,
    /// Only items below this time.
    pub(super) before: Option<i64>,
    /// Where sources stand that the module does not have at the moment, or that are disabled: one that comes back goes
    /// on from there.
    pub(super) absent: Vec<LaneState>,
    /// What earlier pages showed and this one is not to show again.
    pub(super) shown: Shown,
}

/// Plans a page. `cursor` is the opened opaque cursor where the request holds one; `duplicates` is what the module says
/// of items that several sources have.
///
/// # Errors
/// 400 when the source filter names no source of the module.
pub(super) fn plan(
    request: &SearchRequest,
    sources: &[Arc<dyn Source>],
    cursor: Option<Cursor>,
    duplicates: Duplicates,
) -> Result<Plan> {
    let wanted = request.filters.source.as_deref();
    // A module that names a source twice shows its items once.
    let mut seen = HashSet::with_capacity(sources.len());
    let taking_part: Vec<&Arc<dyn Source>> = sources
        .iter()
        .filter(|source| seen.insert(source.id()))
        .filter(|source| wanted.is_none_or(|wanted| source.id() == wanted || source.name() == wanted))
        .collect();
    if let (Some(wanted), []) = (wanted, taking_part.as_slice()) {
        return Err(Error::bad_request(format!("source: the module has no source {wanted:?}")));
    }
    let exact = request.exact_pages || request.order == Order::Relevance || cursor.is_some();
    let length = if exact {
        PageLength::Exact(request.limit)
    } else {
        PageLength::WholeTies { limit: request.limit, largest_tie: LARGEST_TIE }
    };
    let Cursor { before, lanes: mut states, shown, .. } = cursor.unwrap_or_else(|| Cursor {
        before: match request.start {
            Start::Before(time) => Some(time),
            Start::Beginning | Start::Cursor(_) => None,
        },
        ..Cursor::default()
    });
    let (disabled, in_use): (Vec<_>, Vec<_>) =
        taking_part.into_iter().enumerate().partition(|(_, source)| source.is_disabled());
    let disabled = disabled.into_iter().map(|(place, source)| (place, Arc::clone(source))).collect();
    let lanes = in_use.into_iter().map(|(_, source)| continue_lane(source, &mut states)).collect();
    Ok(Plan { lanes, disabled, length, before, absent: states, shown: Shown::new(duplicates, shown) })
}

/// Takes a source's state out of the cursor's. One that the cursor does not know was added since and begins at its
/// beginning: what it has is caught up.
fn continue_lane(source: &Arc<dyn Source>, states: &mut Vec<LaneState>) -> PlannedLane {
    let key = SourceKey::of(source.id());
    let known = states.iter().position(|state| state.source == key).map(|place| states.swap_remove(place));
    let source = Arc::clone(source);
    match known {
        Some(LaneState { position, taken, total, guard, .. }) => {
            PlannedLane { source, position, taken, total, guard }
        }
        None => PlannedLane {
            source,
            position: Position::Beginning,
            taken: 0,
            total: None,
            guard: LoopGuard::default(),
        },
    }
}
