//! Permits for concurrent work, handed first to those who used least.

mod state;
mod usage;

use std::hash::Hash;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Instant;

use state::FairState;

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
    semaphore: FairSemaphore<G, K>,
    asker: Asker<G, K>,
    count: usize,
    since: Instant,
}

/// Too many requests wait, or this one gave way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyWait;

/// A place in the queue, which ends with it.
struct QueuePlace<'a, G: FairKey, K: FairKey> {
    semaphore: &'a FairSemaphore<G, K>,
    asker: Asker<G, K>,
    turn: u64,
}

impl<G: FairKey, K: FairKey> Clone for FairSemaphore<G, K> {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(&self.state) }
    }
}

impl<G: FairKey, K: FairKey> FairSemaphore<G, K> {
    /// Limits the permits, those of one member, and the requests that wait without patience.
    pub fn new(permits: usize, max_each: usize, max_waiting: usize) -> Self {
        Self { state: Arc::new(Mutex::new(FairState::new(permits, max_each, max_waiting))) }
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// Too many others wait, and none of them has more requests. Later, the request may give way to one of another asker.
    pub async fn acquire(&self, asker: Asker<G, K>) -> Result<FairPermit<G, K>, TooManyWait> {
        self.wait(asker, 1, false).await
    }

    /// Waits for so many permits, however many others wait.
    ///
    /// One member may hold as many. The caller bounds the number of its requests.
    pub async fn acquire_patiently(&self, asker: Asker<G, K>, count: usize) -> FairPermit<G, K> {
        loop {
            // A patient request is never refused.
            if let Ok(permit) = self.wait(asker.clone(), count, true).await {
                return permit;
            }
        }
    }

    async fn wait(
        &self,
        asker: Asker<G, K>,
        count: usize,
        is_patient: bool,
    ) -> Result<FairPermit<G, K>, TooManyWait> {
        let (sender, mut receiver) = oneshot::channel();
        // It is dropped before the receiver: a permit that nobody receives would be lost.
        let _place = {
            let mut state = self.lock();
            if state.is_free(&asker, count) {
                state.begin(&asker, count, Instant::now());
                return Ok(self.permit(asker, count));
            }
            if !is_patient && !state.has_room_for(&asker) {
                return Err(TooManyWait);
            }
            let turn = state.enqueue(&asker, sender, count, is_patient);
            QueuePlace { semaphore: self, asker, turn }
        };
        (&mut receiver).await.map_err(|_| TooManyWait)
    }

    fn permit(&self, asker: Asker<G, K>, count: usize) -> FairPermit<G, K> {
        FairPermit { semaphore: self.clone(), asker, count, since: Instant::now() }
    }

    /// Gives free permits to those who wait.
    fn hand_on(&self, state: &mut FairState<G, K>, now: Instant) {
        while let Some((asker, request)) = state.next(now) {
            state.begin(&asker, request.count, now);
            // The permit would wait for the lock.
            let sent = request.sender.send(self.permit(asker, request.count)).map_err(mem::forget);
            debug_assert!(sent.is_ok(), "whoever stops waiting leaves the queue first");
        }
    }

    fn lock(&self) -> MutexGuard<'_, FairState<G, K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<G: FairKey, K: FairKey> FairPermit<G, K> {
    /// Whether others wait for permits.
    pub fn is_wanted(&self) -> bool {
        self.semaphore.lock().is_wanted()
    }
}

impl<G: FairKey, K: FairKey> Drop for FairPermit<G, K> {
    fn drop(&mut self) {
        let now = Instant::now();
        let mut state = self.semaphore.lock();
        state.end(&self.asker, self.count, now.duration_since(self.since), now);
        self.semaphore.hand_on(&mut state, now);
    }
}

impl<G: FairKey, K: FairKey> Drop for QueuePlace<'_, G, K> {
    fn drop(&mut self) {
        let mut state = self.semaphore.lock();
        if state.take(&self.asker, self.turn).is_some() {
            // Smaller requests may have waited behind it.
            self.semaphore.hand_on(&mut state, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests;
