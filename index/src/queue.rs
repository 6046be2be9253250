//! How much waits for the engine: it bounds how many documents it queues, and not how large they are.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tantivy::TantivyDocument;

/// Bytes of documents that wait for the engine at the most; one that is larger waits alone.
pub(crate) const MOST_BYTES: usize = 32 << 20;
/// How long to wait before one looks whether what waits is taken at all.
const LOOK_AFTER: Duration = Duration::from_millis(500);

/// What waits.
#[derive(Debug)]
pub(crate) struct Queue {
    most_bytes: usize,
    waiting: Mutex<Waiting>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: usize,
    /// As much as there ever was.
    #[cfg(test)]
    most_bytes: usize,
}

impl Queue {
    pub(crate) fn new(most_bytes: usize) -> Arc<Self> {
        Arc::new(Self { most_bytes, waiting: Mutex::default(), left: Condvar::new() })
    }

    /// Takes room for so many bytes; waits until there is that much, or nothing else waits. Checks time and again that what waits is
    /// taken still: what nobody takes leaves no room.
    ///
    /// # Errors
    /// That of the check.
    pub(crate) fn enter<E>(
        self: &Arc<Self>,
        bytes: usize,
        check_taken: impl Fn() -> Result<(), E>,
    ) -> Result<Place, E> {
        loop {
            let is_full = |waiting: &mut Waiting| {
                waiting.bytes > 0 && waiting.bytes.saturating_add(bytes) > self.most_bytes
            };
            let (mut waiting, outcome) = self
                .left
                .wait_timeout_while(self.waiting(), LOOK_AFTER, is_full)
                .unwrap_or_else(PoisonError::into_inner);
            if !outcome.timed_out() {
                waiting.bytes += bytes;
                #[cfg(test)]
                {
                    waiting.most_bytes = waiting.most_bytes.max(waiting.bytes);
                }
                return Ok(Place { queue: Arc::clone(self), bytes });
            }
            drop(waiting);
            check_taken()?;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is waiting, in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.waiting().bytes
    }

    /// What was waiting at the most, in bytes.
    #[cfg(test)]
    pub(crate) fn most_seen(&self) -> usize {
        self.waiting().most_bytes
    }
}

/// Room that is taken until this goes.
#[derive(Debug)]
pub(crate) struct Place {
    queue: Arc<Queue>,
    bytes: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.queue.waiting().bytes -= self.bytes;
        self.queue.left.notify_all();
    }
}

/// A document that waits. Its room is free once the engine has taken all that it was handed over with; an engine that ended of
/// itself takes nothing any more, and keeps what it did not take until it goes.
#[derive(Debug)]
pub(crate) struct Queued {
    document: TantivyDocument,
    _place: Arc<Place>,
}

impl Queued {
    pub(crate) fn new(document: TantivyDocument, place: &Arc<Place>) -> Self {
        Self { document, _place: Arc::clone(place) }
    }
}

impl tantivy::Document for Queued {
    type Value<'a> = <TantivyDocument as tantivy::Document>::Value<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as tantivy::Document>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        self.document.iter_fields_and_values()
    }

    fn into_tantivy_document(self) -> TantivyDocument {
        self.document
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use proptest::prelude::*;

    use super::Queue;

    proptest! {
        #![proptest_config(trawl_seeds::cases(64))]

        /// However much is handed over by however many: no more than the bound waits, or one thing alone, and all of it comes
        /// through.
        #[test]
        fn no_more_waits_than_may(most in 1..100_usize, handed in prop::collection::vec(0..150_usize, 0..60)) {
            let queue = Queue::new(most);
            let (waiting, mut seen) = (AtomicUsize::new(0), 0);
            thread::scope(|threads| {
                let (send, take) = std::sync::mpsc::channel();
                for part in handed.chunks(20) {
                    let (queue, send, waiting) = (&queue, send.clone(), &waiting);
                    threads.spawn(move || {
                        for &bytes in part {
                            let place = queue.enter(bytes, || Ok::<_, Infallible>(())).unwrap();
                            let before = waiting.fetch_add(bytes, Ordering::SeqCst);
                            assert!(before == 0 || before + bytes <= most, "{before} and {bytes} of {most}");
                            send.send((bytes, place)).unwrap();
                        }
                    });
                }
                drop(send);
                for (bytes, place) in take {
                    seen += bytes;
                    waiting.fetch_sub(bytes, Ordering::SeqCst);
                    drop(place);
                }
            });
            prop_assert_eq!(seen, handed.iter().sum::<usize>());
            prop_assert_eq!(queue.bytes(), 0);
            prop_assert_eq!(Arc::strong_count(&queue), 1);
        }
    }
}
