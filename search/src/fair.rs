//! Permits for concurrent work, handed to those who wait in turn.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Permits that waiting keys get in turn. Clones share them.
///
/// A key is who asks, such as a network or a person. Where too many wait, the last request of the key with most of them gives way.
#[derive(Debug)]
pub struct FairSemaphore<K: PartialEq> {
    state: Arc<Mutex<FairState<K>>>,
}

/// A permit. Dropped, it goes to the next key.
#[derive(Debug)]
pub struct FairPermit<K: PartialEq> {
    /// None once it was handed on.
    state: Option<Arc<Mutex<FairState<K>>>>,
}

/// Too many requests wait, or this one gave way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyWait;

#[derive(Debug)]
struct FairState<K: PartialEq> {
    free: usize,
    max_waiting: usize,
    waiting: FairQueue<K, WaitingRequest<K>>,
}

#[derive(Debug)]
struct WaitingRequest<K: PartialEq> {
    sender: oneshot::Sender<FairPermit<K>>,
    is_patient: bool,
}

/// Items by key. Keys take turns; the items of one keep their order.
#[derive(Debug)]
struct FairQueue<K, T>(VecDeque<(K, VecDeque<T>)>);

impl<K: PartialEq> Clone for FairSemaphore<K> {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(&self.state) }
    }
}

impl<K: PartialEq> FairSemaphore<K> {
    /// So many permits, and so many requests that may wait for them.
    pub fn new(permits: usize, max_waiting: usize) -> Self {
        let waiting = FairQueue(VecDeque::new());
        Self { state: Arc::new(Mutex::new(FairState { free: permits, max_waiting, waiting })) }
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// Too many others wait, and none of their keys has more requests. Later, the request may give way to one of another key.
    pub async fn acquire(&self, key: K) -> Result<FairPermit<K>, TooManyWait> {
        self.wait(key, false).await
    }

    /// Waits for a permit, however many others wait. The caller bounds the number of its requests.
    ///
    /// # Errors
    /// None in practice: the request never gives way.
    pub async fn acquire_patiently(&self, key: K) -> Result<FairPermit<K>, TooManyWait> {
        self.wait(key, true).await
    }

    async fn wait(&self, key: K, is_patient: bool) -> Result<FairPermit<K>, TooManyWait> {
        let receiver = {
            let mut state = lock(&self.state);
            if state.free > 0 {
                state.free -= 1;
                return Ok(FairPermit { state: Some(Arc::clone(&self.state)) });
            }
            let (sender, receiver) = oneshot::channel();
            state.waiting.retain(|waiting| !waiting.sender.is_closed());
            let is_full = state.waiting.count(|waiting| !waiting.is_patient) >= state.max_waiting;
            if !is_patient && is_full && !state.waiting.make_room(&key) {
                return Err(TooManyWait);
            }
            state.waiting.push(key, WaitingRequest { sender, is_patient });
            receiver
        };
        receiver.await.map_err(|_| TooManyWait)
    }
}

impl<K: PartialEq> Drop for FairPermit<K> {
    fn drop(&mut self) {
        let Some(state) = self.state.take() else { return };
        loop {
            let next = {
                let mut state = lock(&state);
                let next = state.waiting.pop();
                state.free += usize::from(next.is_none());
                next
            };
            let Some(next) = next else { return };
            match next.sender.send(Self { state: Some(Arc::clone(&state)) }) {
                Ok(()) => return,
                // It waits no longer.
                Err(mut returned) => returned.state = None,
            }
        }
    }
}

fn lock<K: PartialEq>(state: &Mutex<FairState<K>>) -> MutexGuard<'_, FairState<K>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: PartialEq, T> FairQueue<K, T> {
    fn count(&self, is_counted: impl Fn(&T) -> bool) -> usize {
        self.0.iter().flat_map(|(_, items)| items).filter(|item| is_counted(item)).count()
    }

    fn push(&mut self, key: K, item: T) {
        match self.0.iter_mut().find(|(present, _)| *present == key) {
            Some((_, items)) => items.push_back(item),
            None => self.0.push_back((key, VecDeque::from([item]))),
        }
    }

    fn pop(&mut self) -> Option<T> {
        let (key, mut items) = self.0.pop_front()?;
        let item = items.pop_front();
        if !items.is_empty() {
            self.0.push_back((key, items));
        }
        item
    }

    fn retain(&mut self, is_kept: impl Fn(&T) -> bool) {
        self.0.iter_mut().for_each(|(_, items)| items.retain(&is_kept));
        self.0.retain(|(_, items)| !items.is_empty());
    }
}

impl<K: PartialEq> FairQueue<K, WaitingRequest<K>> {
    /// Turns away the last request of the key with most requests.
    ///
    /// Returns false if `key` would have as many itself.
    fn make_room(&mut self, key: &K) -> bool {
        let count = |requests: &VecDeque<WaitingRequest<K>>| {
            requests.iter().filter(|request| !request.is_patient).count()
        };
        let own =
            self.0.iter().find(|(present, _)| present == key).map_or(0, |(_, requests)| count(requests));
        let most = self.0.iter_mut().map(|(_, requests)| requests).max_by_key(|requests| count(requests));
        let Some(most) = most.filter(|requests| count(requests) > own + 1) else { return false };
        if let Some(place) = most.iter().rposition(|request| !request.is_patient) {
            most.remove(place);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::{BoxFuture, join_all};
    use proptest::prelude::*;

    use super::*;

    type Waiting<'a> = BoxFuture<'a, Result<FairPermit<u8>, TooManyWait>>;

    /// Begins to wait; `None` if it is refused at once.
    fn begin(semaphore: &FairSemaphore<u8>, key: u8) -> Option<Waiting<'_>> {
        let mut waiting = semaphore.acquire(key).boxed();
        (&mut waiting).now_or_never().is_none().then_some(waiting)
    }

    #[tokio::test]
    async fn permits_go_to_waiting_keys_in_turn() {
        let semaphore = FairSemaphore::new(1, 10);
        let first = semaphore.acquire(0).await.unwrap();
        let order = Mutex::new(Vec::new());
        let wait = async |key| {
            let permit = semaphore.acquire(key).await.unwrap();
            order.lock().unwrap().push(key);
            drop(permit);
        };
        let all = join_all([1, 1, 1, 2, 3, 2].map(wait));
        let release = async { drop(first) };
        tokio::join!(all, release);
        assert_eq!(*order.lock().unwrap(), [1, 2, 3, 1, 2, 1]);
    }

    #[tokio::test]
    async fn key_with_most_requests_gives_way_where_too_many_wait() {
        let semaphore = FairSemaphore::new(1, 3);
        let _running = semaphore.acquire(0).await.unwrap();
        let mut waiting: Vec<_> = (0..3).map(|_| begin(&semaphore, 1).unwrap()).collect();
        assert!(begin(&semaphore, 1).is_none(), "it has most itself");
        let other = begin(&semaphore, 2).unwrap();
        let last = waiting.pop().unwrap();
        assert_eq!(last.await.unwrap_err(), TooManyWait);
        assert!(begin(&semaphore, 2).is_none(), "both have as many");
        drop(other);
        assert!(begin(&semaphore, 3).is_some(), "one waits no longer");
        let mut patient: Vec<_> = (0..5).map(|_| semaphore.acquire_patiently(4).boxed()).collect();
        assert!(patient.iter_mut().all(|waiting| waiting.now_or_never().is_none()), "however many wait");
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        /// Steps take a permit or wait for one, give one back, or stop waiting.
        #[test]
        fn no_permit_is_lost_and_none_is_given_twice(
            permits in 1_usize..4, steps in prop::collection::vec((0_u8..3, 0_u8..4, any::<prop::sample::Index>()), 0..60),
        ) {
            let semaphore = FairSemaphore::new(permits, 5);
            let (mut held, mut waiting) = (Vec::new(), Vec::new());
            for (step, key, place) in steps {
                match step {
                    0 => {
                        let mut asked = semaphore.acquire(key).boxed();
                        match (&mut asked).now_or_never() {
                            Some(answer) => held.extend(answer),
                            None => waiting.push(asked),
                        }
                    }
                    1 if !held.is_empty() => drop(held.swap_remove(place.index(held.len()))),
                    2 if !waiting.is_empty() => drop(waiting.swap_remove(place.index(waiting.len()))),
                    _ => {}
                }
                waiting.retain_mut(|asked| match asked.now_or_never() {
                    Some(answer) => {
                        held.extend(answer);
                        false
                    }
                    None => true,
                });
                prop_assert!(held.len() <= permits);
                prop_assert!(held.len() == permits || waiting.is_empty(), "one waits beside a free permit");
            }
            drop(waiting);
            drop(held);
            prop_assert_eq!(lock(&semaphore.state).free, permits);
        }
    }
}
