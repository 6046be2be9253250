//! Identical concurrent calls share one.

use std::{
    collections::HashMap,
    convert::Infallible,
    hash::Hash,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use tokio::sync::{Notify, futures::OwnedNotified};

use crate::panics::CaughtPanic;

/// Waiter of a call. The last to leave drops it.
///
/// A waiter that leaves wakes the others, as it may have taken the wake that one of them needs.
/// Source: <https://github.com/rust-lang/futures-rs/issues/2706>.
pub struct SharedCall<T: Clone> {
    /// None only while it is dropped.
    call: Option<Shared<BoxFuture<'static, T>>>,
    departures: Arc<Notify>,
    departure: Pin<Box<OwnedNotified>>,
}

impl<T: Clone> SharedCall<T> {
    fn new(call: Shared<BoxFuture<'static, T>>, departures: Arc<Notify>) -> Self {
        let departure = Box::pin(Arc::clone(&departures).notified_owned());
        Self { call: Some(call), departures, departure }
    }
}

impl<T: Clone> Clone for SharedCall<T> {
    fn clone(&self) -> Self {
        Self {
            call: self.call.clone(),
            departures: Arc::clone(&self.departures),
            departure: Box::pin(Arc::clone(&self.departures).notified_owned()),
        }
    }
}

impl<T: Clone> Drop for SharedCall<T> {
    fn drop(&mut self) {
        // Its own place among the waiters is free before the others look.
        drop(self.call.take());
        self.departures.notify_waiters();
    }
}

impl<T: Clone> Future for SharedCall<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // Registered before the call is asked, so that no departure is missed.
        while self.departure.as_mut().poll(context).is_ready() {
            self.departure = Box::pin(Arc::clone(&self.departures).notified_owned());
        }
        match &mut self.call {
            Some(call) => call.poll_unpin(context),
            None => Poll::Pending,
        }
    }
}

type Flights<K, T> = Arc<Mutex<HashMap<K, Flight<T>>>>;

/// Calls in flight. Clones share them.
pub struct SingleFlight<K, T> {
    in_flight: Flights<K, T>,
}

struct Flight<T> {
    call: WeakShared<BoxFuture<'static, T>>,
    departures: Arc<Notify>,
    /// Distinguishes flights of one key.
    number: u64,
}

impl<K, T> Clone for SingleFlight<K, T> {
    fn clone(&self) -> Self {
        Self { in_flight: Arc::clone(&self.in_flight) }
    }
}

impl<K, T> Default for SingleFlight<K, T> {
    fn default() -> Self {
        Self { in_flight: Arc::default() }
    }
}

impl<K, T> SingleFlight<K, T>
where
    K: Clone + Eq + Hash + Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    /// Joins a call or begins one; returns whether it joined.
    ///
    /// A panic gives all waiters the result of `on_panic`.
    pub fn join(
        &self,
        key: K,
        on_panic: impl FnOnce(&CaughtPanic) -> T + Send + 'static,
        call: impl Future<Output = T> + Send + 'static,
    ) -> (SharedCall<T>, bool) {
        match self.try_join::<_, Infallible>(key, on_panic, || Ok(call)) {
            Ok(joined) => joined,
        }
    }

    /// Joins a call, or begins the one that `begin` permits.
    ///
    /// No call of any key begins meanwhile.
    ///
    /// # Errors
    /// The refusal of `begin`.
    pub fn try_join<C, E>(
        &self,
        key: K,
        on_panic: impl FnOnce(&CaughtPanic) -> T + Send + 'static,
        begin: impl FnOnce() -> Result<C, E>,
    ) -> Result<(SharedCall<T>, bool), E>
    where
        C: Future<Output = T> + Send + 'static,
    {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let mut in_flight = lock(&self.in_flight);
        let joined = in_flight.get(&key).and_then(|flight| {
            let call = flight.call.upgrade()?;
            Some(SharedCall::new(call, Arc::clone(&flight.departures)))
        });
        if let Some(waiting) = joined {
            return Ok((waiting, true));
        }
        let call = begin()?;
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let guard = FlightGuard { in_flight: Arc::clone(&self.in_flight), key: key.clone(), number };
        let waiting = async move {
            let _guard = guard;
            let ended = AssertUnwindSafe(call).catch_unwind().await;
            ended.unwrap_or_else(|payload| on_panic(&CaughtPanic::new(&*payload)))
        }
        .boxed()
        .shared();
        let departures = Arc::default();
        // A weak handle exists before the first poll.
        if let Some(call) = waiting.downgrade() {
            in_flight.insert(key, Flight { call, departures: Arc::clone(&departures), number });
        }
        Ok((SharedCall::new(waiting, departures), false))
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.in_flight).is_empty()
    }
}

struct FlightGuard<K: Eq + Hash, T> {
    in_flight: Flights<K, T>,
    key: K,
    number: u64,
}

impl<K: Eq + Hash, T> Drop for FlightGuard<K, T> {
    fn drop(&mut self) {
        let mut in_flight = lock(&self.in_flight);
        if in_flight.get(&self.key).is_some_and(|flight| flight.number == self.number) {
            in_flight.remove(&self.key);
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::AtomicUsize,
        task::{Wake, Waker},
    };

    use futures::{future::poll_fn, task::noop_waker};

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    type Waiter = Arc<Mutex<Option<SharedCall<u8>>>>;

    #[test]
    fn waiter_is_woken_when_the_one_that_took_its_wake_leaves() {
        let (other, count) = (Waiter::default(), Arc::new(Wakes::default()));
        let call = {
            let (other, waker) = (Arc::clone(&other), Waker::from(Arc::clone(&count)));
            let mut polls = 0;
            poll_fn(move |context| {
                polls += 1;
                if polls > 1 {
                    return Poll::Ready(7);
                }
                // The event comes, and the other waiter looks, while the first one is still looking.
                context.waker().wake_by_ref();
                let mut other = lock(&other);
                assert!(other.as_mut().unwrap().poll_unpin(&mut Context::from_waker(&waker)).is_pending());
                Poll::Pending
            })
        };
        let (mut first, _) = SingleFlight::default().join((), |_| 0, call);
        *lock(&other) = Some(first.clone());
        assert!(first.poll_unpin(&mut Context::from_waker(&noop_waker())).is_pending());
        drop(first);
        assert_eq!(count.0.load(Ordering::SeqCst), 1, "nobody else will wake it");
        assert_eq!(lock(&other).take().unwrap().now_or_never(), Some(7));
    }
}
