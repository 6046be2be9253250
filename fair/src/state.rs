//! The holders of permits, and the requests that wait.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::usage::Usage;
use super::{Asker, FairKey, FairPermit};

/// Askers above which those without a recent use are forgotten.
pub(super) const MIN_FORGOTTEN: usize = 1_024;
/// Seconds of use that are forgotten.
const NEGLIGIBLE_USE: f64 = 0.01;

#[derive(Debug)]
pub(super) struct FairState<G: FairKey, K: FairKey> {
    pub(super) free: usize,
    max_each: usize,
    max_waiting: usize,
    groups: HashMap<G, Usage>,
    pub(super) members: HashMap<Asker<G, K>, Usage>,
    /// Number of members when idle ones were forgotten last.
    remembered: usize,
    waiting: HashMap<Asker<G, K>, VecDeque<WaitingRequest<G, K>>>,
    /// Number of the last permit or request.
    turn: u64,
}

#[derive(Debug)]
pub(super) struct WaitingRequest<G: FairKey, K: FairKey> {
    pub(super) sender: oneshot::Sender<FairPermit<G, K>>,
    pub(super) count: usize,
    pub(super) is_patient: bool,
    pub(super) turn: u64,
}

impl<G: FairKey, K: FairKey> FairState<G, K> {
    pub(super) fn new(free: usize, max_each: usize, max_waiting: usize) -> Self {
        let (groups, members, waiting) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { free, max_each, max_waiting, groups, members, remembered: 0, waiting, turn: 0 }
    }

    /// Whether the asker may have so many permits at once, before all who wait.
    pub(super) fn is_free(&self, asker: &Asker<G, K>, count: usize) -> bool {
        self.free >= count && self.may_have(asker, count) && !self.is_wanted()
    }

    fn may_have(&self, asker: &Asker<G, K>, count: usize) -> bool {
        self.members.get(asker).map_or(0, |usage| usage.held) + count <= self.max_each
    }

    /// Whether a request waits for permits that others hold.
    pub(super) fn is_wanted(&self) -> bool {
        self.candidates().next().is_some()
    }

    /// The first requests of those who may have permits.
    fn candidates(&self) -> impl Iterator<Item = (&Asker<G, K>, &WaitingRequest<G, K>)> {
        let first = self.waiting.iter().filter_map(|(asker, requests)| Some((asker, requests.front()?)));
        first.filter(|(asker, request)| self.may_have(asker, request.count))
    }

    pub(super) fn begin(&mut self, asker: &Asker<G, K>, count: usize, now: Instant) {
        self.forget(now);
        self.free -= count;
        self.turn += 1;
        let none = Usage::none(now);
        self.groups.entry(asker.group.clone()).or_insert(none).begin(count, self.turn);
        self.members.entry(asker.clone()).or_insert(none).begin(count, self.turn);
    }

    pub(super) fn end(&mut self, asker: &Asker<G, K>, count: usize, used: Duration, now: Instant) {
        self.free += count;
        let usages = [self.groups.get_mut(&asker.group), self.members.get_mut(asker)];
        usages.into_iter().flatten().for_each(|usage| usage.end(count, used, now));
    }

    /// Forgets idle askers once there are twice as many as before.
    fn forget(&mut self, now: Instant) {
        if self.members.len() < MIN_FORGOTTEN.max(2 * self.remembered) {
            return;
        }
        let is_recent = |usage: &Usage| usage.held > 0 || usage.seconds(now) > NEGLIGIBLE_USE;
        self.groups.retain(|_, usage| is_recent(usage));
        self.members.retain(|_, usage| is_recent(usage));
        self.remembered = self.members.len();
    }

    /// Takes the request that a free permit goes to.
    pub(super) fn next(&mut self, now: Instant) -> Option<(Asker<G, K>, WaitingRequest<G, K>)> {
        let (asker, first) = self.candidates().min_by(|(one, first), (other, first_of_other)| {
            let groups = [one, other].map(|asker| self.groups.get(&asker.group));
            let members = [one, other].map(|asker| self.members.get(asker));
            Usage::compare(groups[0], groups[1], now)
                .then_with(|| Usage::compare(members[0], members[1], now))
                .then_with(|| first.turn.cmp(&first_of_other.turn))
        })?;
        if first.count > self.free {
            return None;
        }
        let (asker, turn) = (asker.clone(), first.turn);
        let request = self.take(&asker, turn)?;
        Some((asker, request))
    }

    /// Adds a request, and returns its turn.
    pub(super) fn enqueue(
        &mut self,
        asker: &Asker<G, K>,
        sender: oneshot::Sender<FairPermit<G, K>>,
        count: usize,
        is_patient: bool,
    ) -> u64 {
        self.turn += 1;
        let request = WaitingRequest { sender, count, is_patient, turn: self.turn };
        self.waiting.entry(asker.clone()).or_default().push_back(request);
        self.turn
    }

    /// Takes a request out of the queue, if it is there.
    pub(super) fn take(&mut self, asker: &Asker<G, K>, turn: u64) -> Option<WaitingRequest<G, K>> {
        let requests = self.waiting.get_mut(asker)?;
        let place = requests.iter().position(|request| request.turn == turn)?;
        let request = requests.remove(place);
        if requests.is_empty() {
            self.waiting.remove(asker);
        }
        request
    }

    /// Whether a request may wait. Another may give way to it.
    pub(super) fn has_room_for(&mut self, asker: &Asker<G, K>) -> bool {
        let impatient = self
            .waiting
            .iter()
            .map(|(asker, requests)| (asker, requests.iter().filter(|request| !request.is_patient).count()));
        let members: HashMap<&Asker<G, K>, usize> = impatient.collect();
        if members.values().sum::<usize>() < self.max_waiting {
            return true;
        }
        let mut groups = HashMap::new();
        for (member, requests) in &members {
            *groups.entry(&member.group).or_insert(0) += requests;
        }
        let own_group = groups.get(&asker.group).copied().unwrap_or_default();
        let largest = groups.iter().max_by_key(|(_, requests)| **requests);
        let group = match largest {
            Some((group, requests)) if *requests > own_group + 1 => *group,
            _ => &asker.group,
        };
        let of_group = members.iter().filter(|(member, _)| member.group == *group);
        let Some((largest, requests)) = of_group.max_by_key(|(_, requests)| **requests) else { return false };
        let own = members.get(asker).copied().unwrap_or_default();
        if *group == asker.group && *requests <= own + 1 {
            return false;
        }
        let largest = (*largest).clone();
        let last = self
            .waiting
            .get(&largest)
            .and_then(|requests| requests.iter().rfind(|request| !request.is_patient));
        last.map(|last| last.turn).and_then(|turn| self.take(&largest, turn)).is_some()
    }
}
