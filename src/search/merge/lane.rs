//! One source's part in a merge: where it stands, what it has at hand, and what it may still send.

use std::collections::VecDeque;

use super::super::{
    duplicates::Shown,
    loops::Fingerprint,
    source::{Entry, Item, Later, Page, Position},
    weight::{Score, Weight},
};

/// One source's part in a merge.
#[derive(Clone, Debug)]
pub(in super::super) struct Lane {
    weight: Weight,
    /// Where the source stands after what was taken.
    pub(super) position: Position,
    /// How many of its items were taken in this chain of pages, which is the rank of its last one.
    pub(super) taken: usize,
    pub(super) pending: VecDeque<Pending>,
    pub(super) next: Option<Position>,
    pub(super) later: Later,
    /// Its last page left items of its last time behind.
    pub(super) tie_goes_on: bool,
    pub(super) failed: bool,
}

/// An item at hand.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) entry: Entry,
    /// What it has in common with those that are the same.
    pub(super) print: Option<Fingerprint>,
}

impl Lane {
    /// A source of this weight that continues at `position` after `taken` items.
    pub(in super::super) fn at(position: Position, taken: usize, weight: Weight) -> Self {
        let next = (position != Position::End).then(|| position.clone());
        Self {
            weight,
            position,
            taken,
            pending: VecDeque::new(),
            next,
            later: Later::AtMost(i64::MAX),
            tie_goes_on: false,
            failed: false,
        }
    }

    /// Takes a page in.
    pub(super) fn supply(&mut self, page: Page, shown: &Shown) {
        self.pending.extend(page.entries.into_iter().map(|entry| {
            let print = shown.print_of(&entry.item);
            Pending { entry, print }
        }));
        self.later = match (self.later, page.later) {
            // An empty page says nothing of what comes; what an earlier page said stays true.
            (Later::AtMost(earlier), Later::AtMost(now)) => Later::AtMost(earlier.min(now)),
            (_, now) => now,
        };
        self.next = page.next;
        self.tie_goes_on = page.tie_cut;
        if self.pending.is_empty() {
            // Nothing of the page is wanted: the lane is past it.
            self.position = self.next.clone().unwrap_or(Position::End);
        }
    }

    /// Whether it has nothing at hand but may have more.
    pub(super) fn waits(&self) -> bool {
        self.pending.is_empty() && self.next.is_some() && !self.failed
    }

    /// Whether what it has not sent yet may be of this time. A source without time order cannot say, and does not
    /// keep a page open.
    pub(super) fn may_still_send(&self, time: i64) -> bool {
        self.next.is_some() && matches!(self.later, Later::AtMost(bound) if bound >= time)
    }

    /// The score of its item that has so many at hand before it.
    pub(super) fn score(&self, ahead: usize) -> Score {
        self.weight.score_at(self.taken.saturating_add(ahead).saturating_add(1))
    }

    /// Takes the first item at hand.
    pub(super) fn take(&mut self) -> Option<(Item, Option<Fingerprint>)> {
        let Pending { entry: Entry { item, after }, print } = self.pending.pop_front()?;
        self.position = after;
        self.taken = self.taken.saturating_add(1);
        Some((item, print))
    }
}
