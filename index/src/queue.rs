//! How much waits for the engine: it bounds how many documents it queues, and not how large they are.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use tantivy::TantivyDocument;

/// Bytes of documents that wait for the engine at the most; one that is larger waits alone.
pub(crate) const MOST_BYTES: usize = 32 << 20;

/// What waits.
#[derive(Debug)]
pub(crate) struct Queue {
    most_bytes: usize,
    bytes: Mutex<usize>,
    left: Condvar,
}

impl Queue {
    pub(crate) fn new(most_bytes: usize) -> Arc<Self> {
        Arc::new(Self { most_bytes, bytes: Mutex::new(0), left: Condvar::new() })
    }

    /// Takes room for so many bytes; waits until there is that much, or nothing else waits.
    pub(crate) fn enter(self: &Arc<Self>, bytes: usize) -> Place {
        let taken = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |taken: &mut usize| *taken > 0 && taken.saturating_add(bytes) > self.most_bytes;
        let mut taken = self.left.wait_while(taken, is_full).unwrap_or_else(PoisonError::into_inner);
        *taken += bytes;
        Place { queue: Arc::clone(self), bytes }
    }

    /// What is waiting, in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        *self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
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
        *self.queue.bytes.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        self.queue.left.notify_all();
    }
}

/// A document that waits. Its room is free once the engine has taken all that it was handed over with, or has ended.
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
                            let place = queue.enter(bytes);
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
