//! The merge: pages of many sources become one list, released above the frontier only (decisions 5.2, 6.4).
//!
//! The frontier is the best that any source with further pages could still send. An item above it is released; an
//! item below it waits until the sources that hold the frontier have sent their next page, or have failed.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashSet, VecDeque},
};

use super::{
    request::{LARGEST_TIE, Order},
    source::{Entry, Item, Later, Page, Position},
};

/// How long a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageLength {
    /// Exactly so many items, as long as there are any.
    Exact(usize),
    /// So many and all further ones of the last one's `displayTime` (decisions 5.3).
    WholeTies(usize),
}

impl PageLength {
    fn limit(self) -> usize {
        match self {
            Self::Exact(limit) | Self::WholeTies(limit) => limit,
        }
    }
}

/// One source's part in a merge.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    /// Where the source stands after what was released.
    pub(super) position: Position,
    /// How many of its items were released in this chain of pages, which is the rank of its next one.
    pub(super) taken: usize,
    pending: VecDeque<Entry>,
    next: Option<Position>,
    later: Later,
    failed: bool,
}

impl Lane {
    /// A source that continues at `position` after `taken` items.
    pub(super) fn at(position: Position, taken: usize) -> Self {
        let next = (position != Position::End).then(|| position.clone());
        Self {
            position,
            taken,
            pending: VecDeque::new(),
            next,
            later: Later::AtMost(i64::MAX),
            failed: false,
        }
    }

    /// Whether it has nothing at hand but may have more.
    fn waits(&self) -> bool {
        self.pending.is_empty() && self.next.is_some() && !self.failed
    }
}

/// What is compared: a smaller key is released earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// Time descending, then the source's place in the module.
    Time(Reverse<i64>, usize),
    /// Reciprocal rank with equal weights: rank ascending, then the place.
    Rank(usize, usize),
}

/// The accumulator of one page.
#[derive(Debug)]
pub(super) struct Merge {
    order: Order,
    length: PageLength,
    lanes: Vec<Lane>,
    released: Vec<(usize, Item)>,
    tie: usize,
    tie_cut: bool,
}

impl Merge {
    /// A merge over lanes in the order of their places in the module.
    pub(super) fn new(order: Order, length: PageLength, lanes: Vec<Lane>) -> Self {
        Self { order, length, lanes, released: Vec::new(), tie: 0, tie_cut: false }
    }

    /// Takes a page of a lane in.
    pub(super) fn supply(&mut self, place: usize, page: Page) {
        let lane = &mut self.lanes[place];
        lane.pending.extend(page.entries);
        lane.later = page.later;
        lane.next = page.next;
        if lane.pending.is_empty() {
            // Nothing of the page is wanted: the lane is past it.
            lane.position = lane.next.clone().unwrap_or(Position::End);
        }
    }

    /// Goes on without a lane: what it has at hand still counts, what it might have had stays for a later page.
    pub(super) fn fail(&mut self, place: usize) {
        self.lanes[place].failed = true;
    }

    /// The ids of a lane that were released or are at hand.
    pub(super) fn ids_of(&self, place: usize) -> HashSet<&str> {
        let released = self.released.iter().filter(|(of, _)| *of == place).map(|(_, item)| item);
        let pending = self.lanes[place].pending.iter().map(|entry| &entry.item);
        released.chain(pending).map(|item| item.id.as_str()).collect()
    }

    /// Where the next page of a lane begins, if it has one.
    pub(super) fn next_position(&self, place: usize) -> Option<Position> {
        self.lanes[place].next.clone()
    }

    /// Releases what can be released; answers the lanes whose next page must come first for more.
    pub(super) fn advance(&mut self) -> Vec<usize> {
        let mut heads: BinaryHeap<Reverse<Key>> =
            (0..self.lanes.len()).filter_map(|place| self.head(place)).map(Reverse).collect();
        let mut frontier = self.frontier();
        while let Some(Reverse(key)) = heads.pop() {
            if self.is_complete_before(key) {
                return self.holders_of_the_last_time();
            }
            if frontier.is_some_and(|bound| bound < key) {
                return self.waiting();
            }
            let place = key.place();
            self.release(place);
            match self.head(place) {
                Some(head) => heads.push(Reverse(head)),
                None if self.lanes[place].waits() => frontier = self.frontier(),
                None => {}
            }
        }
        if self.released.len() < self.length.limit() {
            self.waiting()
        } else {
            self.holders_of_the_last_time()
        }
    }

    /// The page and the lanes as they stand after it.
    pub(super) fn finish(self) -> (Vec<Item>, Vec<Lane>, bool) {
        let Self { order, length, mut lanes, mut released, tie_cut, .. } = self;
        for lane in lanes.iter_mut().filter(|lane| lane.pending.is_empty() && lane.next.is_none()) {
            lane.position = Position::End;
        }
        if order == Order::Time && matches!(length, PageLength::WholeTies(_)) {
            // Groups of equal times are whole here, so an order by id inside a source is the same on every page
            // even where a source's own pages cut the group.
            released.sort_by(|(left_place, left), (right_place, right)| {
                (Reverse(left.display_time), left_place, &left.id).cmp(&(
                    Reverse(right.display_time),
                    right_place,
                    &right.id,
                ))
            });
        }
        (released.into_iter().map(|(_, item)| item).collect(), lanes, tie_cut)
    }

    fn head(&self, place: usize) -> Option<Key> {
        let lane = &self.lanes[place];
        lane.pending.front().map(|entry| match self.order {
            Order::Time => Key::Time(Reverse(entry.item.display_time), place),
            Order::Relevance => Key::Rank(lane.taken, place),
        })
    }

    /// The best key that a lane without anything at hand could still send.
    fn frontier(&self) -> Option<Key> {
        let waiting = self.lanes.iter().enumerate().filter(|(_, lane)| lane.waits());
        waiting
            .map(|(place, lane)| match (self.order, lane.later) {
                (Order::Time, Later::AtMost(time)) => Key::Time(Reverse(time), place),
                (Order::Time, Later::AnyTime) => Key::Time(Reverse(i64::MAX), place),
                (Order::Relevance, _) => Key::Rank(lane.taken, place),
            })
            .min()
    }

    fn waiting(&self) -> Vec<usize> {
        (0..self.lanes.len()).filter(|place| self.lanes[*place].waits()).collect()
    }

    /// The lanes that may still hold items of the last released time, on a page that holds such groups whole.
    /// A source without time order cannot say, and does not keep a page open.
    fn holders_of_the_last_time(&mut self) -> Vec<usize> {
        let (PageLength::WholeTies(_), Order::Time, Some((_, last)), false) =
            (self.length, self.order, self.released.last(), self.tie_cut)
        else {
            return Vec::new();
        };
        let holds = |lane: &Lane| {
            lane.waits() && matches!(lane.later, Later::AtMost(time) if time >= last.display_time)
        };
        let holders: Vec<usize> = (0..self.lanes.len()).filter(|place| holds(&self.lanes[*place])).collect();
        self.tie_cut = self.tie >= LARGEST_TIE && !holders.is_empty();
        if self.tie_cut { Vec::new() } else { holders }
    }

    fn is_complete_before(&mut self, key: Key) -> bool {
        if self.released.len() < self.length.limit() {
            return false;
        }
        let (PageLength::WholeTies(_), Key::Time(Reverse(time), _)) = (self.length, key) else {
            return true;
        };
        let same_time = self.released.last().is_some_and(|(_, last)| last.display_time == time);
        if same_time && self.tie >= LARGEST_TIE {
            self.tie_cut = true;
        }
        !same_time || self.tie_cut
    }

    fn release(&mut self, place: usize) {
        let lane = &mut self.lanes[place];
        let Some(Entry { item, after }) = lane.pending.pop_front() else { return };
        lane.position = after;
        lane.taken += 1;
        let same_time = self.released.last().is_some_and(|(_, last)| last.display_time == item.display_time);
        self.tie = if same_time { self.tie + 1 } else { 1 };
        self.released.push((place, item));
    }
}

impl Key {
    fn place(self) -> usize {
        match self {
            Self::Time(_, place) | Self::Rank(_, place) => place,
        }
    }
}
