use std::collections::VecDeque;

use crate::{
    duplicates::SeenItems,
    loop_guard::Fingerprint,
    source::{Item, Position, PositionedItem, SourcePage, TimeBound},
    weight::{Score, Weight},
};

#[derive(Clone, Debug)]
pub(crate) struct Lane {
    weight: Weight,
    pub(super) position: Position,
    pub(super) consumed: usize,
    pub(super) pending: VecDeque<PendingItem>,
    pub(super) next: Option<Position>,
    pub(super) bound: TimeBound,
    /// Items of the last time remain.
    pub(super) tie_goes_on: bool,
    pub(super) failed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct PendingItem {
    pub(super) item: PositionedItem,
    pub(super) print: Option<Fingerprint>,
}

impl Lane {
    pub(crate) fn at(position: Position, consumed: usize, weight: Weight) -> Self {
        let next = (position != Position::End).then(|| position.clone());
        Self {
            weight,
            position,
            consumed,
            pending: VecDeque::new(),
            next,
            bound: TimeBound::AtMost(i64::MAX),
            tie_goes_on: false,
            failed: false,
        }
    }

    pub(super) fn supply(&mut self, page: SourcePage, seen: &SeenItems) {
        self.pending.extend(page.items.into_iter().map(|item| {
            let print = seen.print_of(&item.item);
            PendingItem { item, print }
        }));
        self.bound = match (self.bound, page.bound) {
            // An empty page has no bound.
            (TimeBound::AtMost(earlier), TimeBound::AtMost(now)) => TimeBound::AtMost(earlier.min(now)),
            (_, now) => now,
        };
        self.next = page.next;
        self.tie_goes_on = page.tie_cut;
        if self.pending.is_empty() {
            // No item of the page matches: the lane is past it.
            self.position = self.next.clone().unwrap_or(Position::End);
        }
    }

    pub(super) fn waits(&self) -> bool {
        self.pending.is_empty() && self.next.is_some() && !self.failed
    }

    /// A source without time order never keeps a page open.
    pub(super) fn may_still_send(&self, time: i64) -> bool {
        self.next.is_some() && matches!(self.bound, TimeBound::AtMost(bound) if bound >= time)
    }

    /// Score of the item behind `ahead` pending ones.
    pub(super) fn score(&self, ahead: usize) -> Score {
        self.weight.score_at(self.consumed.saturating_add(ahead).saturating_add(1))
    }

    pub(super) fn take(&mut self) -> Option<(Item, Option<Fingerprint>)> {
        let PendingItem { item: PositionedItem { item, after }, print } = self.pending.pop_front()?;
        self.position = after;
        self.consumed = self.consumed.saturating_add(1);
        Some((item, print))
    }
}
