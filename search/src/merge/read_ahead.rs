//! Simulates the release of pending items to find the lanes that a page needs.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, binary_heap::PeekMut},
};

use super::{Merge, key::SortKey};

impl Merge {
    pub(super) fn lanes_to_fill(&self) -> Vec<usize> {
        self.needed(self.waiting.clone(), None)
    }

    /// Lanes that the page needs if the late ones give nothing.
    pub(crate) fn lanes_to_read_ahead(&self, is_late: impl Fn(usize) -> bool) -> Vec<usize> {
        let waiting = self.waiting.iter().filter(|bound| !is_late(bound.place())).copied().collect();
        self.needed(waiting, Some(&is_late))
    }

    /// The lanes at the frontier of `waiting` ones before the page is full.
    ///
    /// If `is_late` is given, lanes join `waiting` when their pending items are used up.
    fn needed(&self, mut waiting: BTreeSet<SortKey>, is_late: Option<&dyn Fn(usize) -> bool>) -> Vec<usize> {
        // A group of equal times may exceed the limit.
        let mut room = self.length.limit().saturating_sub(self.released.len());
        let mut needed = Vec::with_capacity(waiting.len());
        let mut heads = self.heads.clone();
        let mut used = vec![0; self.lanes.len()];
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
            let is_seen = self.seen_at(place, used[place]).is_some();
            room -= usize::from(!is_seen);
            used[place] += 1;
            if let Some(next) = self.key(place, used[place]) {
                *head = Reverse(next);
                continue;
            }
            PeekMut::pop(head);
            let lane = &self.lanes[place];
            if is_late.is_some_and(|is_late| !is_late(place)) && lane.next.is_some() && !lane.failed {
                waiting.insert(self.bound(place));
            }
        }
        if let (Some(_), Some(_), Some(SortKey::Time(Reverse(time), _))) =
            (is_late, self.length.largest_tie(), last)
        {
            // Their pages may continue the last group.
            let open = waiting.iter().map(|bound| bound.place());
            needed.extend(open.filter(|place| self.lanes[*place].may_still_send(time)));
        }
        needed.sort_unstable();
        needed
    }
}
