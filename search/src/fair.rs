//! Permits for concurrent work, handed first to those who used least.

use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

/// Time after which a use counts half.
const HALF_LIFE: Duration = Duration::from_secs(10);
/// Askers above which those without a recent use are forgotten.
const MIN_FORGOTTEN: usize = 1_024;
/// Seconds of use that are forgotten.
const NEGLIGIBLE_USE: f64 = 0.01;

/// Permits for groups and their members, by least recent use. Clones share them.
///
/// A permit goes to the waiting group that used them least lately, and to the member of it that did.
///
/// The use is the time for which permits are held. Equal ones take turns. Where too many wait, the last request of the member with most of
/// them gives way, in the group with most.
#[derive(Debug)]
pub struct FairSemaphore<G: FairKey, K: FairKey> {
    state: Arc<Mutex<FairState<G, K>>>,
}

/// The key of a group or member.
pub trait FairKey: Clone + Eq + Hash {}

impl<K: Clone + Eq + Hash> FairKey for K {}

/// A member of a group that asks for permits, such as a person of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Asker<G, K> {
    /// The group.
    pub group: G,
    /// The member, unique in its group.
    pub member: K,
}

/// A permit. Dropped, it goes to the next asker.
#[derive(Debug)]
pub struct FairPermit<G: FairKey, K: FairKey> {
    /// None if nobody took it.
    state: Option<Arc<Mutex<FairState<G, K>>>>,
    asker: Asker<G, K>,
    count: usize,
    since: Instant,
}

/// Too many requests wait, or this one gave way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyWait;

#[derive(Debug)]
struct FairState<G: FairKey, K: FairKey> {
    free: usize,
    max_each: usize,
    max_waiting: usize,
    groups: HashMap<G, Usage>,
    members: HashMap<Asker<G, K>, Usage>,
    /// Number of members when idle ones were forgotten last.
    remembered: usize,
    waiting: HashMap<Asker<G, K>, VecDeque<WaitingRequest<G, K>>>,
    /// Number of the last permit or request.
    turn: u64,
}

#[derive(Debug)]
struct WaitingRequest<G: FairKey, K: FairKey> {
    sender: oneshot::Sender<FairPermit<G, K>>,
    count: usize,
    is_patient: bool,
    turn: u64,
}

/// The permits that a group or member holds, and used lately.
#[derive(Clone, Copy, Debug)]
struct Usage {
    held: usize,
    /// Seconds of use at `at`.
    seconds: f64,
    at: Instant,
    /// Turn at which a permit came last.
    turn: u64,
}

impl Usage {
    fn none(at: Instant) -> Self {
        Self { held: 0, seconds: 0.0, at, turn: 0 }
    }

    fn seconds(&self, now: Instant) -> f64 {
        let half_lives = now.duration_since(self.at).as_secs_f64() / HALF_LIFE.as_secs_f64();
        self.seconds * (-half_lives).exp2()
    }

    fn begin(&mut self, count: usize, turn: u64) {
        self.held += count;
        self.turn = turn;
    }

    fn end(&mut self, count: usize, used: Duration, now: Instant) {
        self.held -= count;
        *self = Self { seconds: self.seconds(now) + used.as_secs_f64(), at: now, ..*self };
    }

    fn compare(one: Option<&Self>, other: Option<&Self>, now: Instant) -> Ordering {
        let rank = |usage: Option<&Self>| usage.map_or((0.0, 0), |usage| (usage.seconds(now), usage.turn));
        let ((seconds, turn), (other_seconds, other_turn)) = (rank(one), rank(other));
        seconds.total_cmp(&other_seconds).then(turn.cmp(&other_turn))
    }
}

impl<G: FairKey, K: FairKey> Clone for FairSemaphore<G, K> {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(&self.state) }
    }
}

impl<G: FairKey, K: FairKey> FairSemaphore<G, K> {
    /// Limits the permits, those of one member, and the waiting requests.
    pub fn new(permits: usize, max_each: usize, max_waiting: usize) -> Self {
        let state = FairState {
            free: permits,
            max_each,
            max_waiting,
            groups: HashMap::new(),
            members: HashMap::new(),
            remembered: 0,
            waiting: HashMap::new(),
            turn: 0,
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// Too many others wait, and none of them has more requests. Later, the request may give way to one of another asker.
    pub async fn acquire(&self, asker: Asker<G, K>) -> Result<FairPermit<G, K>, TooManyWait> {
        self.wait(asker, 1, false).await
    }

    /// Waits for so many permits, which one member may hold.
    ///
    /// # Errors
    /// Like [`Self::acquire`].
    pub async fn acquire_many(
        &self,
        asker: Asker<G, K>,
        count: usize,
    ) -> Result<FairPermit<G, K>, TooManyWait> {
        self.wait(asker, count, false).await
    }

    /// Waits for a permit, however many others wait. The caller bounds the number of its requests.
    ///
    /// # Errors
    /// None in practice: the request never gives way.
    pub async fn acquire_patiently(&self, asker: Asker<G, K>) -> Result<FairPermit<G, K>, TooManyWait> {
        self.wait(asker, 1, true).await
    }

    async fn wait(
        &self,
        asker: Asker<G, K>,
        count: usize,
        is_patient: bool,
    ) -> Result<FairPermit<G, K>, TooManyWait> {
        let receiver = {
            let mut state = lock(&self.state);
            if state.free >= count && state.may_have(&asker, count) && !state.one_is_next() {
                state.begin(&asker, count, Instant::now());
                return Ok(self.permit(asker, count));
            }
            let (sender, receiver) = oneshot::channel();
            state.waiting.retain(|_, requests| {
                requests.retain(|request| !request.sender.is_closed());
                !requests.is_empty()
            });
            if !is_patient && !state.has_room_for(&asker) {
                return Err(TooManyWait);
            }
            state.turn += 1;
            let request = WaitingRequest { sender, count, is_patient, turn: state.turn };
            state.waiting.entry(asker).or_default().push_back(request);
            receiver
        };
        receiver.await.map_err(|_| TooManyWait)
    }

    fn permit(&self, asker: Asker<G, K>, count: usize) -> FairPermit<G, K> {
        FairPermit { state: Some(Arc::clone(&self.state)), asker, count, since: Instant::now() }
    }

    /// Gives free permits to those who wait.
    fn hand_on(&self, state: &mut FairState<G, K>, now: Instant) {
        while let Some((asker, request)) = state.next(now) {
            state.begin(&asker, request.count, now);
            if let Err(mut permit) = request.sender.send(self.permit(asker, request.count)) {
                // It waits no longer.
                permit.state = None;
                state.end(&permit.asker, permit.count, Duration::ZERO, now);
            }
        }
    }
}

impl<G: FairKey, K: FairKey> Drop for FairPermit<G, K> {
    fn drop(&mut self) {
        let Some(state) = self.state.take() else { return };
        let (semaphore, now) = (FairSemaphore { state }, Instant::now());
        let mut state = lock(&semaphore.state);
        state.end(&self.asker, self.count, now.duration_since(self.since), now);
        semaphore.hand_on(&mut state, now);
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<G: FairKey, K: FairKey> FairState<G, K> {
    fn may_have(&self, asker: &Asker<G, K>, count: usize) -> bool {
        self.members.get(asker).map_or(0, |usage| usage.held) + count <= self.max_each
    }

    /// The first requests of those who may have permits.
    fn candidates(&self) -> impl Iterator<Item = (&Asker<G, K>, &WaitingRequest<G, K>)> {
        let first = self.waiting.iter().filter_map(|(asker, requests)| Some((asker, requests.front()?)));
        first.filter(|(asker, request)| self.may_have(asker, request.count))
    }

    /// Whether somebody waits for more permits than are free, and for nothing else.
    fn one_is_next(&self) -> bool {
        self.candidates().any(|(_, request)| !request.sender.is_closed())
    }

    fn begin(&mut self, asker: &Asker<G, K>, count: usize, now: Instant) {
        self.forget(now);
        self.free -= count;
        self.turn += 1;
        let none = Usage::none(now);
        self.groups.entry(asker.group.clone()).or_insert(none).begin(count, self.turn);
        self.members.entry(asker.clone()).or_insert(none).begin(count, self.turn);
    }

    fn end(&mut self, asker: &Asker<G, K>, count: usize, used: Duration, now: Instant) {
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
    fn next(&mut self, now: Instant) -> Option<(Asker<G, K>, WaitingRequest<G, K>)> {
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
        let asker = asker.clone();
        let requests = self.waiting.get_mut(&asker)?;
        let request = requests.pop_front()?;
        if requests.is_empty() {
            self.waiting.remove(&asker);
        }
        Some((asker, request))
    }

    /// Whether a request may wait. Another may give way to it.
    fn has_room_for(&mut self, asker: &Asker<G, K>) -> bool {
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
        let Some(requests) = self.waiting.get_mut(&largest) else { return false };
        let last = requests.iter().rposition(|request| !request.is_patient);
        last.and_then(|last| requests.remove(last)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::{BoxFuture, join_all};
    use proptest::prelude::*;
    use tokio::time::advance;

    use super::*;

    type Waiting<'a> = BoxFuture<'a, Result<FairPermit<u8, u8>, TooManyWait>>;

    fn of(group: u8, member: u8) -> Asker<u8, u8> {
        Asker { group, member }
    }

    /// Begins to wait; `None` if it is refused at once.
    fn begin(semaphore: &FairSemaphore<u8, u8>, asker: Asker<u8, u8>) -> Option<Waiting<'_>> {
        let mut waiting = semaphore.acquire(asker).boxed();
        (&mut waiting).now_or_never().is_none().then_some(waiting)
    }

    /// The order in which askers get the only permit, each for so many milliseconds.
    async fn order<const N: usize>(
        semaphore: &FairSemaphore<u8, u8>,
        askers: [(Asker<u8, u8>, u64); N],
    ) -> Vec<(u8, u8)> {
        let first = semaphore.acquire(of(0, 0)).await.unwrap();
        let order = Mutex::new(Vec::new());
        let wait = async |(asker, held): (Asker<u8, u8>, u64)| {
            let permit = semaphore.acquire(asker.clone()).await.unwrap();
            order.lock().unwrap().push((asker.group, asker.member));
            advance(Duration::from_millis(held)).await;
            drop(permit);
        };
        let all = join_all(askers.map(wait));
        tokio::join!(all, async { drop(first) });
        order.into_inner().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn permits_go_to_waiting_groups_and_their_members_in_turn() {
        let semaphore = FairSemaphore::new(1, 1, 10);
        let askers = [(1, 1), (1, 1), (1, 2), (2, 1), (2, 1)];
        let found = order(&semaphore, askers.map(|(group, member)| (of(group, member), 0))).await;
        assert_eq!(found, [(1, 1), (2, 1), (1, 2), (2, 1), (1, 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn permits_go_first_to_those_who_used_least_lately() {
        let semaphore = FairSemaphore::new(1, 1, 10);
        let askers = [(of(1, 1), 400), (of(1, 1), 400), (of(1, 2), 10), (of(1, 2), 10), (of(1, 2), 10)];
        let found = order(&semaphore, askers).await;
        assert_eq!(found, [(1, 1), (1, 2), (1, 2), (1, 2), (1, 1)]);
        // Ten half-lives later the uses count less than new ones.
        advance(10 * HALF_LIFE).await;
        let found = order(&semaphore, [(of(1, 2), 20), (of(1, 2), 20), (of(1, 1), 20)]).await;
        assert_eq!(found, [(1, 2), (1, 1), (1, 2)]);
    }

    #[tokio::test]
    async fn member_holds_its_part_at_most() {
        let semaphore = FairSemaphore::new(3, 2, 10);
        let mut held = Vec::from([
            semaphore.acquire(of(1, 1)).await.unwrap(),
            semaphore.acquire(of(1, 1)).await.unwrap(),
        ]);
        let third = begin(&semaphore, of(1, 1)).unwrap();
        let _other = semaphore.acquire(of(1, 2)).await.unwrap();
        held.pop();
        assert!(third.await.is_ok());
    }

    #[tokio::test]
    async fn small_requests_do_not_pass_a_large_one_that_is_next() {
        let semaphore = FairSemaphore::new(4, 3, 10);
        let large = semaphore.acquire_many(of(1, 1), 3).await.unwrap();
        let waiting = semaphore.acquire_many(of(2, 1), 2).boxed();
        let mut waiting = [waiting, semaphore.acquire(of(3, 1)).boxed()];
        assert!(waiting.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
        drop(large);
        let [second, third] = waiting;
        assert!(second.await.is_ok() && third.await.is_ok());
    }

    #[tokio::test]
    async fn member_with_most_requests_gives_way_where_too_many_wait() {
        let semaphore = FairSemaphore::new(1, 1, 3);
        let _running = semaphore.acquire(of(0, 0)).await.unwrap();
        let mut waiting: Vec<_> = (0..3).map(|_| begin(&semaphore, of(1, 1)).unwrap()).collect();
        assert!(begin(&semaphore, of(1, 1)).is_none(), "it has most itself");
        let other = begin(&semaphore, of(2, 1)).unwrap();
        let last = waiting.pop().unwrap();
        assert_eq!(last.await.unwrap_err(), TooManyWait);
        assert!(begin(&semaphore, of(2, 1)).is_none(), "both groups have as many");
        let same_group = begin(&semaphore, of(1, 2)).unwrap();
        assert_eq!(waiting.pop().unwrap().await.unwrap_err(), TooManyWait);
        drop((other, same_group));
        assert!(begin(&semaphore, of(3, 1)).is_some(), "one waits no longer");
        let mut patient: Vec<_> = (0..5).map(|_| semaphore.acquire_patiently(of(4, 1)).boxed()).collect();
        assert!(patient.iter_mut().all(|waiting| waiting.now_or_never().is_none()), "however many wait");
    }

    #[tokio::test(start_paused = true)]
    async fn askers_without_a_recent_use_are_forgotten() {
        let semaphore = FairSemaphore::new(1, 1, 0);
        for group in 0..=u8::MAX {
            for member in 0..16 {
                drop(semaphore.acquire(of(group, member)).await.unwrap());
            }
        }
        assert!(lock(&semaphore.state).members.len() <= MIN_FORGOTTEN);
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        /// Steps take a permit or wait for one, give one back, or stop waiting.
        #[test]
        fn no_permit_is_lost_and_none_is_given_twice(
            permits in 1_usize..4, max_each in 1_usize..4,
            steps in prop::collection::vec((0_u8..3, 0_u8..4, any::<prop::sample::Index>()), 0..60),
        ) {
            let semaphore = FairSemaphore::new(permits, max_each, 5);
            let (mut held, mut waiting) = (Vec::new(), Vec::new());
            for (step, key, place) in steps {
                let asker = of(key / 2, key % 2);
                match step {
                    0 => {
                        let mut asked = semaphore.acquire(asker.clone()).boxed();
                        match (&mut asked).now_or_never() {
                            Some(answer) => held.extend(answer),
                            None => waiting.push((asker, asked)),
                        }
                    }
                    1 if !held.is_empty() => drop(held.swap_remove(place.index(held.len()))),
                    2 if !waiting.is_empty() => drop(waiting.swap_remove(place.index(waiting.len()))),
                    _ => {}
                }
                waiting.retain_mut(|(_, asked)| match asked.now_or_never() {
                    Some(answer) => {
                        held.extend(answer);
                        false
                    }
                    None => true,
                });
                let of_one = |asker: &Asker<u8, u8>| held.iter().filter(|permit| permit.asker == *asker).count();
                prop_assert!(held.len() <= permits && held.iter().all(|permit| of_one(&permit.asker) <= max_each));
                prop_assert!(
                    held.len() == permits || waiting.iter().all(|(asker, _)| of_one(asker) == max_each),
                    "one waits beside a permit that it may have"
                );
            }
            drop(waiting);
            drop(held);
            prop_assert_eq!(lock(&semaphore.state).free, permits);
        }
    }
}
