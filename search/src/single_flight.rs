//! Identical concurrent calls share one.

use std::{
    collections::HashMap,
    convert::Infallible,
    hash::Hash,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};

use crate::panics::CaughtPanic;

/// Waiter of a call. The last to leave drops it.
pub type SharedCall<T> = Shared<BoxFuture<'static, T>>;

type Flights<K, T> = Arc<Mutex<HashMap<K, Flight<T>>>>;

/// Calls in flight. Clones share them.
pub struct SingleFlight<K, T> {
    in_flight: Flights<K, T>,
}

struct Flight<T> {
    call: WeakShared<BoxFuture<'static, T>>,
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
    /// Joins a call or begins one; returns whether it joined. A panic gives all waiters the result of `on_panic`.
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

    /// Joins a call, or begins the one that `begin` permits. No call of any key begins meanwhile.
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
        if let Some(waiting) = in_flight.get(&key).and_then(|flight| flight.call.upgrade()) {
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
        // A weak handle exists before the first poll.
        if let Some(call) = waiting.downgrade() {
            in_flight.insert(key, Flight { call, number });
        }
        Ok((waiting, false))
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
