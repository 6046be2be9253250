//! Gathers items that concurrent requests write, and writes them as one job.
//!
//! The job takes its batch when the writer runs it. So batches grow with the load, and a lone item waits for no other.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::oneshot;

use super::{ROWS_PER_STATEMENT, Store, Transaction, WriteFuture, errors::cannot_write};
use crate::{
    budget::BodyReservation,
    error::{Error, ErrorKind, Result},
};

/// Writes items of a tenant and owner; returns an outcome for each.
pub(super) type WriteBatch<T, R> =
    for<'a> fn(&'a Transaction, i64, &'a str, &'a [T]) -> WriteFuture<'a, Vec<R>>;

type Key = (i64, Arc<str>);

/// Writes that concurrent requests share.
pub struct BatchedWrites<T, R> {
    store: Store,
    write: WriteBatch<T, R>,
    waiting: Mutex<HashMap<Key, WaitingBatch<T, R>>>,
}

struct WaitingBatch<T, R> {
    items: Vec<T>,
    requests: Vec<Waiting<R>>,
}

struct Waiting<R> {
    answer: oneshot::Sender<Result<R>>,
    /// The item's memory, even if its caller has gone away.
    _reservation: Option<BodyReservation>,
}

impl<T, R> Default for WaitingBatch<T, R> {
    fn default() -> Self {
        Self { items: Vec::new(), requests: Vec::new() }
    }
}

impl<T: Send + Sync + 'static, R: Send + 'static> BatchedWrites<T, R> {
    /// Writes by `write`, which runs in a transaction of `store`.
    pub fn new(store: Store, write: WriteBatch<T, R>) -> Self {
        Self { store, write, waiting: Mutex::default() }
    }

    /// Writes `item`, and returns its outcome once it is durable.
    ///
    /// # Errors
    /// Its own; 503 as of [`Store::write_for`], or while 1,000 items of its owner wait.
    pub async fn write(self: &Arc<Self>, tenant_id: i64, owner: &Arc<str>, item: T) -> Result<R> {
        let key = (tenant_id, Arc::clone(owner));
        let (answer, answered) = oneshot::channel();
        if self.join(&key, item, answer)? {
            tokio::spawn(Arc::clone(self).write_batch(key));
        }
        answered.await.map_err(|_| cannot_write())?
    }

    /// Whether the item is the first of a new batch.
    fn join(&self, key: &Key, item: T, answer: oneshot::Sender<Result<R>>) -> Result<bool> {
        let mut waiting = lock(&self.waiting);
        let batch = waiting.entry(key.clone()).or_default();
        if batch.items.len() >= ROWS_PER_STATEMENT {
            let message = "too many writes are waiting; nothing was changed";
            return Err(Error::unavailable(message, Duration::from_secs(1)));
        }
        batch.items.push(item);
        batch.requests.push(Waiting { answer, _reservation: BodyReservation::current() });
        Ok(batch.items.len() == 1)
    }

    async fn write_batch(self: Arc<Self>, key: Key) {
        let taken = Arc::new(Mutex::new(None));
        let (batches, batch_key, taken_by_job) = (Arc::clone(&self), key.clone(), Arc::clone(&taken));
        let job = self.store.write_for(key.0, move |transaction| {
            Box::pin(async move {
                let (items, requests) = batches.take(&batch_key);
                *lock(&taken_by_job) = Some((Arc::clone(&items), requests));
                (batches.write)(transaction, batch_key.0, &batch_key.1, &items).await
            })
        });
        let written = job.await;
        // Where the writer refused the job, the batch still waits.
        let taken = lock(&taken).take();
        let (items, requests) = taken.unwrap_or_else(|| self.take(&key));
        match written {
            Ok(outcomes) => {
                for (request, outcome) in requests.into_iter().zip(outcomes) {
                    request.answer(Ok(outcome));
                }
            }
            Err(mut error) if error.kind == ErrorKind::Unavailable => {
                // The log needs its cause once.
                for request in requests {
                    let repeated = error.repeated();
                    request.answer(Err(std::mem::replace(&mut error, repeated)));
                }
            }
            // One item must not fail the others.
            Err(_) => {
                for (number, request) in requests.into_iter().enumerate() {
                    request.answer(self.write_alone(&key, &items, number).await);
                }
            }
        }
    }

    async fn write_alone(self: &Arc<Self>, key: &Key, items: &Arc<Vec<T>>, number: usize) -> Result<R> {
        let (write, items, (tenant_id, owner)) = (self.write, Arc::clone(items), key.clone());
        let job = self.store.write_for(tenant_id, move |transaction| {
            Box::pin(async move { write(transaction, tenant_id, &owner, &items[number..=number]).await })
        });
        job.await?.pop().ok_or_else(|| Error::internal("a write returned no outcome"))
    }

    fn take(&self, key: &Key) -> (Arc<Vec<T>>, Vec<Waiting<R>>) {
        let WaitingBatch { items, requests } = lock(&self.waiting).remove(key).unwrap_or_default();
        (Arc::new(items), requests)
    }
}

impl<R> Waiting<R> {
    /// The caller may have gone away.
    fn answer(self, outcome: Result<R>) {
        drop(self.answer.send(outcome));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
