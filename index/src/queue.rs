//! Bounds the bytes of queued documents; the engine bounds only their number.
//!
//! A failed engine keeps queued documents and reports only to new operations. Waiting callers therefore check it twice a second.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tantivy::TantivyDocument;

/// A larger document waits alone.
pub(crate) const MAX_QUEUED_BYTES: usize = 32 << 20;
const LIVENESS_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct IndexingQueue {
    max_bytes: usize,
    state: Mutex<QueueState>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    bytes: usize,
    #[cfg(test)]
    peak_bytes: usize,
}

impl IndexingQueue {
    pub(crate) fn new(max_bytes: usize) -> Arc<Self> {
        Arc::new(Self { max_bytes, state: Mutex::default(), released: Condvar::new() })
    }

    /// Waits until the bytes fit or the queue is empty.
    ///
    /// # Errors
    ///
    /// Those of `check_alive`, called every [`LIVENESS_INTERVAL`].
    pub(crate) fn reserve<E>(
        self: &Arc<Self>,
        bytes: usize,
        check_alive: impl Fn() -> Result<(), E>,
    ) -> Result<Reservation, E> {
        loop {
            let is_full = |state: &mut QueueState| {
                state.bytes > 0 && state.bytes.saturating_add(bytes) > self.max_bytes
            };
            let (mut state, outcome) = self
                .released
                .wait_timeout_while(self.state(), LIVENESS_INTERVAL, is_full)
                .unwrap_or_else(PoisonError::into_inner);
            if !outcome.timed_out() {
                state.bytes += bytes;
                #[cfg(test)]
                {
                    state.peak_bytes = state.peak_bytes.max(state.bytes);
                }
                return Ok(Reservation { queue: Arc::clone(self), bytes });
            }
            drop(state);
            check_alive()?;
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.state().bytes
    }

    #[cfg(test)]
    pub(crate) fn peak_bytes(&self) -> usize {
        self.state().peak_bytes
    }
}

/// Released on drop.
#[derive(Debug)]
pub(crate) struct Reservation {
    queue: Arc<IndexingQueue>,
    bytes: usize,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.queue.state().bytes -= self.bytes;
        self.queue.released.notify_all();
    }
}

/// Its batch's bytes are released once the engine has taken all of it.
///
/// The engine allots room for 40,000 of them at each commit, so they are small.
#[derive(Debug)]
pub(crate) struct QueuedDocument(Box<(TantivyDocument, Arc<Reservation>)>);

impl QueuedDocument {
    pub(crate) fn new(document: TantivyDocument, reservation: &Arc<Reservation>) -> Self {
        Self(Box::new((document, Arc::clone(reservation))))
    }
}

impl tantivy::Document for QueuedDocument {
    type Value<'a> = <TantivyDocument as tantivy::Document>::Value<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as tantivy::Document>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        self.0.0.iter_fields_and_values()
    }

    fn into_tantivy_document(self) -> TantivyDocument {
        self.0.0
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use proptest::prelude::*;

    use super::IndexingQueue;

    proptest! {
        #![proptest_config(trawl_seeds::cases(64))]

        #[test]
        fn queued_bytes_stay_within_the_bound(most in 1..100_usize, handed in prop::collection::vec(0..150_usize, 0..60)) {
            let queue = IndexingQueue::new(most);
            let (waiting, mut seen) = (AtomicUsize::new(0), 0);
            thread::scope(|threads| {
                let (send, take) = std::sync::mpsc::channel();
                for part in handed.chunks(20) {
                    let (queue, send, waiting) = (&queue, send.clone(), &waiting);
                    threads.spawn(move || {
                        for &bytes in part {
                            let reservation = queue.reserve(bytes, || Ok::<_, Infallible>(())).unwrap();
                            let before = waiting.fetch_add(bytes, Ordering::SeqCst);
                            assert!(before == 0 || before + bytes <= most, "{before} and {bytes} of {most}");
                            send.send((bytes, reservation)).unwrap();
                        }
                    });
                }
                drop(send);
                for (bytes, reservation) in take {
                    seen += bytes;
                    waiting.fetch_sub(bytes, Ordering::SeqCst);
                    drop(reservation);
                }
            });
            prop_assert_eq!(seen, handed.iter().sum::<usize>());
            prop_assert_eq!(queue.bytes(), 0);
            prop_assert_eq!(Arc::strong_count(&queue), 1);
        }
    }
}
