//! Calls under way: who asks what is being asked already waits with the others.

use std::{
    collections::HashMap,
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

use crate::search::source::{FailureKind, SourceFailure};

/// Someone who waits for a call. All who do drive it together; when the last of them leaves, it is dropped.
pub(super) type Waiting<T> = Shared<BoxFuture<'static, Result<T, SourceFailure>>>;

/// The calls under way, by what they ask. Clones share them.
pub(super) struct Flights<K, T> {
    under_way: Arc<Mutex<HashMap<K, Flight<T>>>>,
}

/// A call under way.
struct Flight<T> {
    call: WeakShared<BoxFuture<'static, Result<T, SourceFailure>>>,
    /// Tells this flight from a later one of the same key.
    number: u64,
}

impl<K, T> Clone for Flights<K, T> {
    fn clone(&self) -> Self {
        Self { under_way: Arc::clone(&self.under_way) }
    }
}

impl<K, T> Default for Flights<K, T> {
    fn default() -> Self {
        Self { under_way: Arc::default() }
    }
}

impl<K, T> Flights<K, T>
where
    K: Clone + Eq + Hash + Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    /// Joins the call under way, or begins this one; says whether it joined.
    pub(super) fn join(
        &self,
        key: K,
        call: impl Future<Output = Result<T, SourceFailure>> + Send + 'static,
    ) -> (Waiting<T>, bool) {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let mut flights = lock(&self.under_way);
        if let Some(waiting) = flights.get(&key).and_then(|flight| flight.call.upgrade()) {
            return (waiting, true);
        }
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let landing = Landing { under_way: Arc::clone(&self.under_way), key: key.clone(), number };
        let waiting = async move {
            let _landing = landing;
            // A panic is the failure of all who wait.
            let broke =
                |_panic| SourceFailure::new(FailureKind::Error, "the source failed inside the server");
            AssertUnwindSafe(call).catch_unwind().await.map_err(broke).flatten()
        }
        .boxed()
        .shared();
        // It has not been polled yet, so that it is there.
        if let Some(call) = waiting.downgrade() {
            flights.insert(key, Flight { call, number });
        }
        (waiting, false)
    }

    /// Whether no call is under way.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.under_way).is_empty()
    }
}

/// Dropped when a call ends, or is dropped itself: who asks from now on begins another one.
struct Landing<K: Eq + Hash, T> {
    under_way: Arc<Mutex<HashMap<K, Flight<T>>>>,
    key: K,
    number: u64,
}

impl<K: Eq + Hash, T> Drop for Landing<K, T> {
    fn drop(&mut self) {
        let mut flights = lock(&self.under_way);
        if flights.get(&self.key).is_some_and(|flight| flight.number == self.number) {
            flights.remove(&self.key);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
