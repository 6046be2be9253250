//! Whose next page the rest of the page may need: found by going through what is at hand as if it were released.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, binary_heap::PeekMut},
};

use super::{Merge, key::Key};

impl Merge {
    /// The waiting lanes that the rest of the page may need: all but those below which the items at hand fill it.
    pub(super) fn lanes_to_fill_from(&self) -> Vec<usize> {
        self.needed(self.waiting.clone(), None)
    }

    /// The lanes whose next page the rest of the page may need, if those that `is_late` says give nothing: waiting ones, and
    /// ones whose items at hand would then be used up.
    pub(in super::super) fn wanted_without(&self, is_late: impl Fn(usize) -> bool) -> Vec<usize> {
        let waiting = self.waiting.iter().filter(|bound| !is_late(bound.place())).copied().collect();
        self.needed(waiting, Some(&is_late))
    }

    /// The lanes that come to hold the frontier before the page is full, if it is made of what is at hand with no frontier
    /// but `waiting`; where `is_late` is given, also of those others that are used up on the way.
    fn needed(&self, mut waiting: BTreeSet<Key>, is_late: Option<&dyn Fn(usize) -> bool>) -> Vec<usize> {
        // A group of equal times may have taken the page beyond its limit.
        let mut room = self.length.limit().saturating_sub(self.released.len());
        let mut needed = Vec::with_capacity(waiting.len());
        let mut heads = self.heads.clone();
        let mut gone = vec![0; self.lanes.len()];
        let mut last = None;
        while room > 0 && (is_late.is_some() || !waiting.is_empty()) {
            let Some(mut head) =
                heads.peek_mut().filter(|head| waiting.first().is_none_or(|bound| head.0 < *bound))
            else {
                let Some(bound) = waiting.pop_first() else { break };
                needed.push(bound.place());
                continue;
            };
            last = Some(head.0);
            let place = head.0.place();
            let known = self.shown_at(place, gone[place]).is_some();
            room -= usize::from(!known);
            gone[place] += 1;
            if let Some(next) = self.key(place, gone[place]) {
                *head = Reverse(next);
                continue;
            }
            PeekMut::pop(head);
            let lane = &self.lanes[place];
            if is_late.is_some_and(|is_late| !is_late(place)) && lane.next.is_some() && !lane.failed {
                waiting.insert(self.bound(place));
            }
        }
        if let (Some(_), Some(_), Some(Key::Time(Reverse(time), _))) =
            (is_late, self.length.largest_tie(), last)
        {
            // They may hold more of the time that closes the page.
            let open = waiting.iter().map(|bound| bound.place());
            needed.extend(open.filter(|place| self.lanes[*place].may_still_send(time)));
        }
        needed.sort_unstable();
        needed
    }
}
