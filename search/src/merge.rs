//! Merges the pages of many sources into one list.
//!
//! The frontier is the best key that a waiting source may still send. Items above it are released; others
//! wait until the sources at the frontier send their next page or fail.
//!
//! A page is filled up to `limit` items. Where groups of equal times stay whole, its last group is then
//! closed: all items of that time are released. Items seen before, and those that stand above the first page, are skipped. A failed source keeps its
//! position, so later pages catch up.
//!
//! A heap holds the lanes' first pending items, a sorted set the bounds of waiting lanes: `n` items of `k`
//! lanes take O(n log k).

mod key;
mod lane;
mod read_ahead;
#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashSet},
};

use crate::{
    duplicates::{ItemPrint, SeenAt, SeenItems},
    loop_guard::Fingerprint,
    request::SearchOrder,
    source::{Position, ResultItem, SourcePage, TimeBound},
};

use self::key::SortKey;
pub(crate) use self::lane::Lane;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageLength {
    Exact(usize),
    /// `limit` items and all others of the last time.
    WholeTies {
        limit: usize,
        largest_tie: usize,
    },
}

impl PageLength {
    fn limit(self) -> usize {
        match self {
            Self::Exact(limit) | Self::WholeTies { limit, .. } => limit,
        }
    }

    pub(crate) fn largest_tie(self) -> Option<usize> {
        match self {
            Self::Exact(_) => None,
            Self::WholeTies { largest_tie, .. } => Some(largest_tie),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct FinishedLane {
    pub(crate) position: Position,
    pub(crate) consumed: usize,
    pub(crate) least_estimate: Option<f32>,
    /// A failed lane may have more.
    pub(crate) misses_items: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct ReleasedItem {
    pub(crate) place: usize,
    pub(crate) item: ResultItem,
    /// Further lanes with the item, ascending.
    pub(crate) also_in: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct MergedPage {
    pub(crate) items: Vec<ReleasedItem>,
    pub(crate) lanes: Vec<FinishedLane>,
    pub(crate) tie_cut: bool,
    pub(crate) seen: Vec<Fingerprint>,
}

#[derive(Debug)]
pub(crate) struct Merge {
    order: SearchOrder,
    length: PageLength,
    lanes: Vec<Lane>,
    heads: BinaryHeap<Reverse<SortKey>>,
    /// Bounds of waiting lanes; the least is the frontier.
    waiting: BTreeSet<SortKey>,
    released: Vec<ReleasedItem>,
    seen: SeenItems,
    skipped: Vec<(usize, String)>,
    last: Option<SortKey>,
    tie: Option<(i64, usize)>,
    tie_cut: bool,
}

impl Merge {
    pub(crate) fn new(order: SearchOrder, length: PageLength, lanes: Vec<Lane>, seen: SeenItems) -> Self {
        let mut merge = Self {
            order,
            length,
            lanes,
            heads: BinaryHeap::new(),
            waiting: BTreeSet::new(),
            released: Vec::new(),
            seen,
            skipped: Vec::new(),
            last: None,
            tie: None,
            tie_cut: false,
        };
        merge.waiting = merge.places().filter(|p| merge.lanes[*p].waits()).map(|p| merge.bound(p)).collect();
        merge
    }

    pub(crate) fn supply(&mut self, place: usize, page: SourcePage) {
        self.waiting.remove(&self.bound(place));
        let had_none = self.lanes[place].pending.is_empty();
        self.lanes[place].supply(page, &self.seen);
        if had_none {
            self.line_up(place);
        }
    }

    pub(crate) fn ids_of(&self, place: usize) -> HashSet<&str> {
        let released = self.released.iter().filter(|released| released.place == place);
        let skipped = self.skipped.iter().filter(|(from, _)| *from == place);
        let pending = self.lanes[place].pending.iter();
        released
            .map(|released| &released.item.id)
            .chain(skipped.map(|(_, id)| id))
            .chain(pending.map(|pending| &pending.item.item.id))
            .map(String::as_str)
            .collect()
    }

    /// Estimates the pending items of other systems anew, before any is released.
    pub(crate) fn estimate(&mut self, score: impl Fn(&ResultItem) -> f32) {
        for lane in &mut self.lanes {
            lane.estimate(&score);
        }
        self.heads = self.places().filter_map(|place| self.key(place, 0)).map(Reverse).collect();
        let waiting = self.places().filter(|place| self.lanes[*place].waits());
        self.waiting = waiting.map(|place| self.bound(place)).collect();
    }

    /// Pending items still count.
    pub(crate) fn fail(&mut self, place: usize) {
        self.waiting.remove(&self.bound(place));
        self.lanes[place].failed = true;
    }

    pub(crate) fn has_pending(&self, place: usize) -> bool {
        !self.lanes[place].pending.is_empty()
    }

    /// `None` at the end, or after a failure.
    pub(crate) fn next_position(&self, place: usize) -> Option<Position> {
        let lane = &self.lanes[place];
        lane.next.clone().filter(|_| !lane.failed)
    }

    /// Counts consumed and pending items, those of earlier pages too.
    pub(crate) fn known_items(&self, place: usize) -> usize {
        self.lanes[place].consumed.saturating_add(self.lanes[place].pending.len())
    }

    /// Whether the lane's source has no further page, without a failure.
    pub(crate) fn has_ended(&self, place: usize) -> bool {
        let lane = &self.lanes[place];
        lane.next.is_none() && !lane.failed
    }

    /// Returns the lanes whose next page is needed.
    pub(crate) fn advance(&mut self) -> Vec<usize> {
        while self.released.len() < self.length.limit() {
            match (self.heads.peek(), self.waiting.first()) {
                (Some(Reverse(head)), frontier) if frontier.is_none_or(|frontier| head < frontier) => {
                    self.take_first();
                }
                _ => return self.lanes_to_fill(),
            }
        }
        self.close()
    }

    pub(crate) fn finish(mut self) -> MergedPage {
        for place in self.places() {
            self.skip_seen(place);
            self.note_pending_duplicates(place);
        }
        let misses: Vec<bool> = self.places().map(|place| self.misses_items(place)).collect();
        if self.order == SearchOrder::Time && self.length.largest_tie().is_some() {
            // Whole groups are sorted by id, however sources cut them. Split groups keep the source's order, which any page length
            // preserves.
            let order = |released: &ReleasedItem| (Reverse(released.item.display_time), released.place);
            self.released.sort_by(|left, right| {
                order(left).cmp(&order(right)).then_with(|| left.item.id.cmp(&right.item.id))
            });
        }
        let lanes = self.lanes.into_iter().zip(misses).map(|(lane, misses_items)| FinishedLane {
            position: match (lane.pending.is_empty(), &lane.next) {
                (true, None) => Position::End,
                _ => lane.position,
            },
            consumed: lane.consumed,
            least_estimate: lane.least_estimate,
            misses_items,
        });
        MergedPage {
            lanes: lanes.collect(),
            items: self.released,
            tie_cut: self.tie_cut,
            seen: self.seen.into_latest(),
        }
    }

    fn places(&self) -> std::ops::Range<usize> {
        0..self.lanes.len()
    }

    fn line_up(&mut self, place: usize) {
        if let Some(head) = self.key(place, 0) {
            self.heads.push(Reverse(head));
        } else if self.lanes[place].waits() {
            self.waiting.insert(self.bound(place));
        }
    }

    fn key(&self, place: usize, ahead: usize) -> Option<SortKey> {
        let lane = &self.lanes[place];
        let pending = lane.pending.get(ahead)?;
        Some(match self.order {
            SearchOrder::Time => SortKey::Time(Reverse(pending.item.item.display_time), place),
            SearchOrder::Relevance => SortKey::Score(Reverse(lane.score(ahead)), place),
        })
    }

    /// Best key of later pages.
    fn bound(&self, place: usize) -> SortKey {
        let lane = &self.lanes[place];
        match (self.order, lane.bound) {
            (SearchOrder::Time, TimeBound::AtMost(time)) => SortKey::Time(Reverse(time), place),
            (SearchOrder::Time, TimeBound::AnyTime) => SortKey::Time(Reverse(i64::MAX), place),
            (SearchOrder::Relevance, _) => SortKey::Score(Reverse(lane.score(lane.pending.len())), place),
        }
    }

    /// Returns the lanes that may hold more of the last group.
    fn close(&mut self) -> Vec<usize> {
        let (Some(largest_tie), SearchOrder::Time) = (self.length.largest_tie(), self.order) else {
            return Vec::new();
        };
        let Some((time, _)) = self.tie else { return Vec::new() };
        let is_open = |lane: &Lane| lane.waits() && lane.may_still_send(time);
        let mut open: BTreeSet<usize> = self.places().filter(|place| is_open(&self.lanes[*place])).collect();
        while !self.tie_cut {
            // Newer items came too late for this page.
            while self.heads.peek().is_some_and(|head| head.0.is_newer_than(time)) {
                self.heads.pop();
            }
            let at_hand = self.heads.peek().filter(|head| head.0.is_of(time)).map(|head| head.0.place());
            let is_full = self.tie.is_some_and(|(_, count)| count >= largest_tie);
            if is_full && (at_hand.is_some() || open.iter().any(|place| self.lanes[*place].tie_goes_on)) {
                self.tie_cut = true;
                break;
            }
            match at_hand {
                Some(place) if open.first().is_none_or(|first| place < *first) => {
                    self.take_first();
                    if is_open(&self.lanes[place]) {
                        open.insert(place);
                    }
                }
                _ => return open.into_iter().collect(),
            }
        }
        Vec::new()
    }

    fn take_first(&mut self) {
        let Some(Reverse(key)) = self.heads.pop() else { return };
        let place = key.place();
        if let Some(seen_at) = self.seen_at(place, 0) {
            self.skip(place, seen_at);
        } else if let Some((item, print)) = self.lanes[place].take() {
            self.release(key, item, print.as_ref());
        }
        self.line_up(place);
    }

    fn release(&mut self, key: SortKey, item: ResultItem, print: Option<&ItemPrint>) {
        self.last = self.last.max(Some(key));
        self.tie = match self.tie {
            Some((time, count)) if time == item.display_time => Some((time, count + 1)),
            Some((time, count)) if time < item.display_time => Some((time, count)),
            _ => Some((item.display_time, 1)),
        };
        self.seen.add(print, self.lanes[key.place()].source, SeenAt::ThisPage(self.released.len()));
        self.released.push(ReleasedItem { place: key.place(), item, also_in: Vec::new() });
    }

    fn seen_at(&self, place: usize, ahead: usize) -> Option<SeenAt> {
        let lane = &self.lanes[place];
        let pending = lane.pending.get(ahead)?;
        if pending.is_left_out {
            Some(SeenAt::Earlier)
        } else {
            self.seen.find(pending.print.as_ref(), lane.source)
        }
    }

    fn skip(&mut self, place: usize, seen_at: SeenAt) {
        if let Some((item, _)) = self.lanes[place].take() {
            self.note_duplicate(place, seen_at);
            self.skipped.push((place, item.id));
        }
    }

    /// Skips seen items, so that later pages need not remember them.
    fn skip_seen(&mut self, place: usize) {
        while let Some(seen_at) = self.seen_at(place, 0) {
            self.skip(place, seen_at);
        }
    }

    fn note_pending_duplicates(&mut self, place: usize) {
        for ahead in 0..self.lanes[place].pending.len() {
            if let Some(seen_at) = self.seen_at(place, ahead) {
                self.note_duplicate(place, seen_at);
            }
        }
    }

    fn note_duplicate(&mut self, place: usize, seen_at: SeenAt) {
        let SeenAt::ThisPage(number) = seen_at else { return };
        let ReleasedItem { place: own, also_in, .. } = &mut self.released[number];
        if *own != place
            && let Err(gap) = also_in.binary_search(&place)
        {
            also_in.insert(gap, place);
        }
    }

    fn misses_items(&self, place: usize) -> bool {
        let lane = &self.lanes[place];
        if !lane.failed {
            return false;
        }
        let of_the_last_time = self.length.largest_tie().is_some()
            && self.tie.is_some_and(|(time, _)| lane.may_still_send(time));
        self.released.len() < self.length.limit() || Some(self.bound(place)) < self.last || of_the_last_time
    }
}
