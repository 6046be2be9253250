//! The merge: pages of many sources become one list, released above the frontier only (decisions 5.2, 6.4).
//!
//! The frontier is the best that any source with further pages could still send. An item above it is released; an
//! item below it waits until the sources that hold the frontier have sent their next page, or have failed.
//!
//! The lanes' first items at hand are a heap and the bounds of those that have none at hand a sorted set, so that `n`
//! items of `k` lanes take O(n log k). Each wait for further pages adds O(k + m log k), where `m` is what the page lacks.
//!
//! A page is made in two steps. It is *filled* until it holds `limit` items. Where it holds groups of equal times
//! whole, its last group is then *closed*: every item of that time is released, and nothing else.
//!
//! An item that is the same as one shown before is passed over where the module says so: its source moves on, and the
//! one that was shown says who else has it.

mod key;
mod lane;
#[cfg(test)]
mod tests;
mod wanted;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashSet},
};

use super::{
    duplicates::{Shown, ShownAt},
    loops::Fingerprint,
    request::Order,
    source::{Item, Later, Page, Position},
};

use self::key::Key;
pub(super) use self::lane::Lane;

/// How long a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageLength {
    /// Exactly so many items, as long as there are any.
    Exact(usize),
    /// `limit` items and all further ones of the last one's `displayTime` (decisions 5.3).
    WholeTies {
        /// Items of the page.
        limit: usize,
        /// The largest group that is kept whole.
        largest_tie: usize,
    },
}

impl PageLength {
    fn limit(self) -> usize {
        match self {
            Self::Exact(limit) | Self::WholeTies { limit, .. } => limit,
        }
    }

    /// The largest group of equal times that the page keeps whole; `None` when it keeps none.
    pub(super) fn largest_tie(self) -> Option<usize> {
        match self {
            Self::Exact(_) => None,
            Self::WholeTies { largest_tie, .. } => Some(largest_tie),
        }
    }
}

/// Where a lane stands once the page is made.
#[derive(Clone, Debug)]
pub(super) struct FinishedLane {
    /// The source's position after what was taken.
    pub(super) position: Position,
    /// How many of its items were taken in this chain of pages: released, or passed over as shown already.
    pub(super) taken: usize,
    /// It failed, and what it did not send might have been on this page.
    pub(super) lacking: bool,
}

/// An item of the page.
#[derive(Clone, Debug)]
pub(super) struct Released {
    /// The lane that it came from.
    pub(super) place: usize,
    /// The item.
    pub(super) item: Item,
    /// The places of further lanes that have it, as far as their pages have come in; ascending.
    pub(super) also_in: Vec<usize>,
}

/// A page that was made.
#[derive(Debug)]
pub(super) struct Finished {
    /// The items, in order.
    pub(super) items: Vec<Released>,
    /// The lanes, by their places.
    pub(super) lanes: Vec<FinishedLane>,
    /// A group of equal times is larger than pages keep whole, and was cut.
    pub(super) tie_cut: bool,
    /// What the chain showed, for its later pages.
    pub(super) remembered: Vec<Fingerprint>,
}

/// The accumulator of one page.
#[derive(Debug)]
pub(super) struct Merge {
    order: Order,
    length: PageLength,
    lanes: Vec<Lane>,
    /// The key of the first item at hand of each lane that has one.
    heads: BinaryHeap<Reverse<Key>>,
    /// The bound of each lane that waits; the least of them is the frontier.
    waiting: BTreeSet<Key>,
    released: Vec<Released>,
    shown: Shown,
    /// The lanes and ids of items that were passed over.
    passed_over: Vec<(usize, String)>,
    /// The greatest key released. A source without time order may come after it with a smaller one.
    last: Option<Key>,
    /// The lowest time released and how many items have it: the group that closes the page.
    tie: Option<(i64, usize)>,
    tie_cut: bool,
}

impl Merge {
    /// A merge over lanes in the order of their places in the module, which shows nothing that `shown` has.
    pub(super) fn new(order: Order, length: PageLength, lanes: Vec<Lane>, shown: Shown) -> Self {
        let mut merge = Self {
            order,
            length,
            lanes,
            heads: BinaryHeap::new(),
            waiting: BTreeSet::new(),
            released: Vec::new(),
            shown,
            passed_over: Vec::new(),
            last: None,
            tie: None,
            tie_cut: false,
        };
        merge.waiting = merge.places().filter(|p| merge.lanes[*p].waits()).map(|p| merge.bound(p)).collect();
        merge
    }

    /// Takes a page of a lane in.
    pub(super) fn supply(&mut self, place: usize, page: Page) {
        self.waiting.remove(&self.bound(place));
        let had_none = self.lanes[place].pending.is_empty();
        self.lanes[place].supply(page, &self.shown);
        if had_none {
            self.line_up(place);
        }
    }

    /// The ids of what a lane has sent for this page.
    pub(super) fn ids_of(&self, place: usize) -> HashSet<&str> {
        let released = self.released.iter().filter(|released| released.place == place);
        let passed_over = self.passed_over.iter().filter(|(from, _)| *from == place);
        let pending = self.lanes[place].pending.iter();
        released
            .map(|released| &released.item.id)
            .chain(passed_over.map(|(_, id)| id))
            .chain(pending.map(|pending| &pending.entry.item.id))
            .map(String::as_str)
            .collect()
    }

    /// Goes on without a lane: what it has at hand still counts, what it might have had stays for a later page.
    pub(super) fn fail(&mut self, place: usize) {
        self.waiting.remove(&self.bound(place));
        self.lanes[place].failed = true;
    }

    /// Whether a lane has items at hand.
    pub(super) fn has_at_hand(&self, place: usize) -> bool {
        !self.lanes[place].pending.is_empty()
    }

    /// Where the next page of a lane begins, if it has one.
    pub(super) fn next_position(&self, place: usize) -> Option<Position> {
        self.lanes[place].next.clone()
    }

    /// The bound on what the later pages of a lane may hold, as its pages so far have it.
    pub(super) fn later(&self, place: usize) -> Later {
        self.lanes[place].later
    }

    /// Releases what can be released; answers the lanes whose next page must come first for more.
    pub(super) fn advance(&mut self) -> Vec<usize> {
        while self.released.len() < self.length.limit() {
            match (self.heads.peek(), self.waiting.first()) {
                (Some(Reverse(head)), frontier) if frontier.is_none_or(|frontier| head < frontier) => {
                    self.take_first();
                }
                _ => return self.lanes_to_fill_from(),
            }
        }
        self.close()
    }

    /// The page and the lanes as they stand after it.
    pub(super) fn finish(mut self) -> Finished {
        for place in self.places() {
            self.pass_over_known(place);
            self.note_pending_elsewhere(place);
        }
        let lacking: Vec<bool> = self.places().map(|place| self.is_lacking(place)).collect();
        if self.order == Order::Time && self.length.largest_tie().is_some() {
            // Groups of equal times are whole here, so an order by id inside a source is the same on every page
            // even where a source's own pages cut the group. Where pages split groups, a source's items of one
            // time stay in the order of its pages: that order holds whatever the caller's page is.
            let order = |released: &Released| (Reverse(released.item.display_time), released.place);
            self.released.sort_by(|left, right| {
                order(left).cmp(&order(right)).then_with(|| left.item.id.cmp(&right.item.id))
            });
        }
        let lanes = self.lanes.into_iter().zip(lacking).map(|(lane, lacking)| FinishedLane {
            position: match (lane.pending.is_empty(), &lane.next) {
                (true, None) => Position::End,
                _ => lane.position,
            },
            taken: lane.taken,
            lacking,
        });
        Finished {
            lanes: lanes.collect(),
            items: self.released,
            tie_cut: self.tie_cut,
            remembered: self.shown.into_remembered(),
        }
    }

    fn places(&self) -> std::ops::Range<usize> {
        0..self.lanes.len()
    }

    /// Puts a lane where it belongs by what it has at hand.
    fn line_up(&mut self, place: usize) {
        if let Some(head) = self.key(place, 0) {
            self.heads.push(Reverse(head));
        } else if self.lanes[place].waits() {
            self.waiting.insert(self.bound(place));
        }
    }

    /// The key of a lane's item at hand that has so many before it.
    fn key(&self, place: usize, ahead: usize) -> Option<Key> {
        let lane = &self.lanes[place];
        let pending = lane.pending.get(ahead)?;
        Some(match self.order {
            Order::Time => Key::Time(Reverse(pending.entry.item.display_time), place),
            Order::Relevance => Key::Score(Reverse(lane.score(ahead)), place),
        })
    }

    /// The best key that a lane could have on its later pages.
    fn bound(&self, place: usize) -> Key {
        let lane = &self.lanes[place];
        match (self.order, lane.later) {
            (Order::Time, Later::AtMost(time)) => Key::Time(Reverse(time), place),
            (Order::Time, Later::AnyTime) => Key::Time(Reverse(i64::MAX), place),
            (Order::Relevance, _) => Key::Score(Reverse(lane.score(lane.pending.len())), place),
        }
    }

    /// Releases the rest of the last group of equal times, on a page that holds such groups whole; answers the lanes
    /// that may still hold items of it.
    fn close(&mut self) -> Vec<usize> {
        let (Some(largest_tie), Order::Time) = (self.length.largest_tie(), self.order) else {
            return Vec::new();
        };
        let Some((time, _)) = self.tie else { return Vec::new() };
        let is_open = |lane: &Lane| lane.waits() && lane.may_still_send(time);
        let mut open: BTreeSet<usize> = self.places().filter(|place| is_open(&self.lanes[*place])).collect();
        while !self.tie_cut {
            // What is newer came too late for this page and is no part of the group.
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

    /// Takes the first of the items at hand: it is released, unless it was shown already.
    fn take_first(&mut self) {
        let Some(Reverse(key)) = self.heads.pop() else { return };
        let place = key.place();
        if let Some(shown_at) = self.shown_at(place, 0) {
            self.pass_over(place, shown_at);
        } else if let Some((item, print)) = self.lanes[place].take() {
            self.release(key, item, print);
        }
        self.line_up(place);
    }

    fn release(&mut self, key: Key, item: Item, print: Option<Fingerprint>) {
        self.last = self.last.max(Some(key));
        self.tie = match self.tie {
            Some((time, count)) if time == item.display_time => Some((time, count + 1)),
            Some((time, count)) if time < item.display_time => Some((time, count)),
            _ => Some((item.display_time, 1)),
        };
        self.shown.show(print, self.released.len());
        self.released.push(Released { place: key.place(), item, also_in: Vec::new() });
    }

    /// Where a lane's item at hand that has so many before it was shown, if it was.
    fn shown_at(&self, place: usize, ahead: usize) -> Option<ShownAt> {
        self.shown.find(self.lanes[place].pending.get(ahead)?.print)
    }

    fn pass_over(&mut self, place: usize, shown_at: ShownAt) {
        if let Some((item, _)) = self.lanes[place].take() {
            self.note_elsewhere(place, shown_at);
            self.passed_over.push((place, item.id));
        }
    }

    /// Passes over what a lane begins with that was shown: it is in no one's way, and need not be remembered as long.
    fn pass_over_known(&mut self, place: usize) {
        while let Some(shown_at) = self.shown_at(place, 0) {
            self.pass_over(place, shown_at);
        }
    }

    /// Lets the page's items know that a lane has them too.
    fn note_pending_elsewhere(&mut self, place: usize) {
        for ahead in 0..self.lanes[place].pending.len() {
            if let Some(shown_at) = self.shown_at(place, ahead) {
                self.note_elsewhere(place, shown_at);
            }
        }
    }

    fn note_elsewhere(&mut self, place: usize, shown_at: ShownAt) {
        let ShownAt::ThisPage(number) = shown_at else { return };
        let Released { place: own, also_in, .. } = &mut self.released[number];
        if *own != place
            && let Err(gap) = also_in.binary_search(&place)
        {
            also_in.insert(gap, place);
        }
    }

    /// Whether a lane failed whose later pages might have held items of this page.
    fn is_lacking(&self, place: usize) -> bool {
        let lane = &self.lanes[place];
        if !lane.failed {
            return false;
        }
        let of_the_last_time = self.length.largest_tie().is_some()
            && self.tie.is_some_and(|(time, _)| lane.may_still_send(time));
        self.released.len() < self.length.limit() || Some(self.bound(place)) < self.last || of_the_last_time
    }
}
