//! The merge: pages of many sources become one list, released above the frontier only (decisions 5.2, 6.4).
//!
//! The frontier is the best that any source with further pages could still send. An item above it is released; an
//! item below it waits until the sources that hold the frontier have sent their next page, or have failed.
//!
//! A page is made in two steps. It is *filled* until it holds `limit` items. Where it holds groups of equal times
//! whole, its last group is then *closed*: every item of that time is released, and nothing else.

#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{HashSet, VecDeque},
};

use super::{
    request::Order,
    source::{Entry, Item, Later, Page, Position},
};

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

/// One source's part in a merge.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    /// Where the source stands after what was released.
    position: Position,
    /// How many of its items were released in this chain of pages, which is the rank of its next one.
    taken: usize,
    pending: VecDeque<Entry>,
    next: Option<Position>,
    later: Later,
    /// Its last page left items of its last time behind.
    tie_goes_on: bool,
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
            tie_goes_on: false,
            failed: false,
        }
    }

    /// Whether it has nothing at hand but may have more.
    fn waits(&self) -> bool {
        self.pending.is_empty() && self.next.is_some() && !self.failed
    }

    /// Whether what it has not sent yet may be of this time. A source without time order cannot say, and does not
    /// keep a page open.
    fn may_still_send(&self, time: i64) -> bool {
        self.next.is_some() && matches!(self.later, Later::AtMost(bound) if bound >= time)
    }
}

/// Where a lane stands once the page is made.
#[derive(Clone, Debug)]
pub(super) struct FinishedLane {
    /// The source's position after what was released.
    pub(super) position: Position,
    /// How many of its items were released in this chain of pages.
    pub(super) taken: usize,
    /// It failed, and what it did not send might have been on this page.
    pub(super) lacking: bool,
}

/// A page that was made.
#[derive(Debug)]
pub(super) struct Finished {
    /// The items, in order.
    pub(super) items: Vec<Item>,
    /// The lanes, by their places.
    pub(super) lanes: Vec<FinishedLane>,
    /// A group of equal times is larger than pages keep whole, and was cut.
    pub(super) tie_cut: bool,
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
    /// The greatest key released. A source without time order may come after it with a smaller one.
    last: Option<Key>,
    /// The lowest time released and how many items have it: the group that closes the page.
    tie: Option<(i64, usize)>,
    tie_cut: bool,
}

impl Merge {
    /// A merge over lanes in the order of their places in the module.
    pub(super) fn new(order: Order, length: PageLength, lanes: Vec<Lane>) -> Self {
        Self { order, length, lanes, released: Vec::new(), last: None, tie: None, tie_cut: false }
    }

    /// Takes a page of a lane in.
    pub(super) fn supply(&mut self, place: usize, page: Page) {
        let lane = &mut self.lanes[place];
        lane.pending.extend(page.entries);
        lane.later = match (lane.later, page.later) {
            // An empty page says nothing of what comes; what an earlier page said stays true.
            (Later::AtMost(earlier), Later::AtMost(now)) => Later::AtMost(earlier.min(now)),
            (_, now) => now,
        };
        lane.next = page.next;
        lane.tie_goes_on = page.tie_cut;
        if lane.pending.is_empty() {
            // Nothing of the page is wanted: the lane is past it.
            lane.position = lane.next.clone().unwrap_or(Position::End);
        }
    }

    /// The ids of what a lane has sent for this page.
    pub(super) fn ids_of(&self, place: usize) -> HashSet<&str> {
        let released = self.released.iter().filter(|(from, _)| *from == place).map(|(_, item)| item);
        let pending = self.lanes[place].pending.iter().map(|entry| &entry.item);
        released.chain(pending).map(|item| item.id.as_str()).collect()
    }

    /// Goes on without a lane: what it has at hand still counts, what it might have had stays for a later page.
    pub(super) fn fail(&mut self, place: usize) {
        self.lanes[place].failed = true;
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
            let head = self.places().filter_map(|place| self.head(place)).min();
            let frontier =
                self.places().filter(|place| self.lanes[*place].waits()).map(|p| self.bound(p)).min();
            match head {
                Some(head) if frontier.is_none_or(|frontier| head < frontier) => self.release(head.place()),
                _ => return self.lanes_to_fill_from(),
            }
        }
        self.close()
    }

    /// The page and the lanes as they stand after it.
    pub(super) fn finish(mut self) -> Finished {
        let lacking: Vec<bool> = self.places().map(|place| self.is_lacking(place)).collect();
        if self.order == Order::Time && self.length.largest_tie().is_some() {
            // Groups of equal times are whole here, so an order by id inside a source is the same on every page
            // even where a source's own pages cut the group. Where pages split groups, a source's items of one
            // time stay in the order of its pages: that order holds whatever the caller's page is.
            self.released.sort_by(|(left_place, left), (right_place, right)| {
                (Reverse(left.display_time), left_place, &left.id).cmp(&(
                    Reverse(right.display_time),
                    right_place,
                    &right.id,
                ))
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
            items: self.released.into_iter().map(|(_, item)| item).collect(),
            tie_cut: self.tie_cut,
        }
    }

    fn places(&self) -> std::ops::Range<usize> {
        0..self.lanes.len()
    }

    fn head(&self, place: usize) -> Option<Key> {
        self.lanes[place].pending.front().map(|entry| self.key(place, 0, entry))
    }

    /// The key of a lane's item at hand that has so many before it.
    fn key(&self, place: usize, ahead: usize, entry: &Entry) -> Key {
        match self.order {
            Order::Time => Key::Time(Reverse(entry.item.display_time), place),
            Order::Relevance => Key::Rank(self.lanes[place].taken + ahead, place),
        }
    }

    /// The best key that a lane could have on its later pages.
    fn bound(&self, place: usize) -> Key {
        let lane = &self.lanes[place];
        match (self.order, lane.later) {
            (Order::Time, Later::AtMost(time)) => Key::Time(Reverse(time), place),
            (Order::Time, Later::AnyTime) => Key::Time(Reverse(i64::MAX), place),
            (Order::Relevance, _) => Key::Rank(lane.taken + lane.pending.len(), place),
        }
    }

    /// The waiting lanes that the rest of the page may need: all but those below which the items at hand fill it.
    fn lanes_to_fill_from(&self) -> Vec<usize> {
        let room = self.length.limit() - self.released.len();
        let is_needed = |place: &usize| {
            let bound = self.bound(*place);
            let above = |other: usize| {
                let pending = self.lanes[other].pending.iter().enumerate();
                pending.take_while(|(ahead, entry)| self.key(other, *ahead, entry) < bound).count()
            };
            self.lanes[*place].waits() && self.places().map(above).sum::<usize>() < room
        };
        self.places().filter(is_needed).collect()
    }

    /// Releases the rest of the last group of equal times, on a page that holds such groups whole; answers the lanes
    /// that may still hold items of it.
    fn close(&mut self) -> Vec<usize> {
        let Some(largest_tie) = self.length.largest_tie() else { return Vec::new() };
        while let (Order::Time, Some((time, count)), false) = (self.order, self.tie, self.tie_cut) {
            let at_hand = self.places().find(|place| {
                self.lanes[*place].pending.front().is_some_and(|entry| entry.item.display_time == time)
            });
            let open = |place: &usize| self.lanes[*place].waits() && self.lanes[*place].may_still_send(time);
            let open: Vec<usize> = self.places().filter(open).collect();
            if count >= largest_tie
                && (at_hand.is_some() || open.iter().any(|place| self.lanes[*place].tie_goes_on))
            {
                self.tie_cut = true;
                break;
            }
            match at_hand {
                Some(place) if open.iter().all(|open| *open > place) => self.release(place),
                _ => return open,
            }
        }
        Vec::new()
    }

    fn release(&mut self, place: usize) {
        let last = self.last.max(self.head(place));
        let lane = &mut self.lanes[place];
        let Some(Entry { item, after }) = lane.pending.pop_front() else { return };
        lane.position = after;
        lane.taken += 1;
        self.last = last;
        self.tie = match self.tie {
            Some((time, count)) if time == item.display_time => Some((time, count + 1)),
            Some((time, count)) if time < item.display_time => Some((time, count)),
            _ => Some((item.display_time, 1)),
        };
        self.released.push((place, item));
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

impl Key {
    fn place(self) -> usize {
        match self {
            Self::Time(_, place) | Self::Rank(_, place) => place,
        }
    }
}
