//! One handling in flight per task, limited in total and per application.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::{
    config::Tasks,
    error::{Error, Result},
};

/// `Retry-After` without a free permit.
const FULL_FOR: Duration = Duration::from_secs(1);

/// Runs even if nobody waits.
pub(super) type SharedOutcome<T> = Shared<BoxFuture<'static, Result<T, Arc<Error>>>>;

pub(super) struct SingleFlight<T> {
    in_flight: Arc<Mutex<InFlight<T>>>,
    tasks: TaskTracker,
    most: usize,
    most_per_application: usize,
}

struct InFlight<T> {
    handlings: HashMap<String, SharedOutcome<T>>,
    by_application: HashMap<String, usize>,
    is_stopping: bool,
}

impl<T: Clone + Send + Sync + 'static> SingleFlight<T> {
    pub(super) fn new(bounds: &Tasks) -> Self {
        let in_flight =
            InFlight { handlings: HashMap::new(), by_application: HashMap::new(), is_stopping: false };
        Self {
            in_flight: Arc::new(Mutex::new(in_flight)),
            tasks: TaskTracker::new(),
            most: bounds.callbacks_at_once,
            most_per_application: bounds.callbacks_at_once_per_application,
        }
    }

    /// Joins the task's handling, or spawns it; 503 without a free permit.
    ///
    /// The application's permit lasts until every clone drops.
    pub(super) fn join<F: Future<Output = Result<T>> + Send>(
        &self,
        task_id: &str,
        application: &str,
        handle: impl FnOnce(Arc<ApplicationPermit<T>>) -> F + Send + 'static,
    ) -> Result<SharedOutcome<T>> {
        let mut in_flight = lock(&self.in_flight);
        if let Some(outcome) = in_flight.handlings.get(task_id) {
            return Ok(outcome.clone());
        }
        self.check_room(&in_flight, application)?;
        let permit = HandlingPermit { in_flight: Arc::clone(&self.in_flight), task_id: task_id.to_owned() };
        let application_permit = Arc::new(ApplicationPermit {
            in_flight: Arc::clone(&self.in_flight),
            application: application.to_owned(),
        });
        let handling = async move {
            // Released first, so that a later request starts anew.
            let _permits = (permit, Arc::clone(&application_permit));
            handle(application_permit).await.map_err(Arc::new)
        };
        let running = self.tasks.spawn(handling.in_current_span());
        let outcome =
            async move { running.await.unwrap_or_else(|panic| Err(Arc::new(Error::internal(panic)))) };
        let outcome = outcome.boxed().shared();
        *in_flight.by_application.entry(application.to_owned()).or_default() += 1;
        // Still in flight: releasing its permit takes this lock.
        in_flight.handlings.insert(task_id.to_owned(), outcome.clone());
        Ok(outcome)
    }

    fn check_room(&self, in_flight: &InFlight<T>, application: &str) -> Result<()> {
        let of_application = in_flight.by_application.get(application).copied().unwrap_or_default();
        let reason = if in_flight.is_stopping {
            "the server is stopping; nothing was changed"
        } else if in_flight.handlings.len() >= self.most {
            "too many tasks are being handled already; nothing was changed"
        } else if of_application >= self.most_per_application {
            "too many tasks of this task's application are being handled already; nothing was changed"
        } else {
            return Ok(());
        };
        Err(Error::unavailable(reason, FULL_FOR))
    }

    pub(super) async fn stop(&self) {
        lock(&self.in_flight).is_stopping = true;
        self.tasks.close();
        self.tasks.wait().await;
    }
}

struct HandlingPermit<T> {
    in_flight: Arc<Mutex<InFlight<T>>>,
    task_id: String,
}

impl<T> Drop for HandlingPermit<T> {
    fn drop(&mut self) {
        let mut in_flight = lock(&self.in_flight);
        let outcome = in_flight.handlings.remove(&self.task_id);
        drop(in_flight);
        // Dropped outside the lock, since waiters of this task may run.
        drop(outcome);
    }
}

pub(super) struct ApplicationPermit<T> {
    in_flight: Arc<Mutex<InFlight<T>>>,
    application: String,
}

impl<T> Drop for ApplicationPermit<T> {
    fn drop(&mut self) {
        let mut in_flight = lock(&self.in_flight);
        if let Some(count) = in_flight.by_application.get_mut(&self.application) {
            *count -= 1;
            if *count == 0 {
                in_flight.by_application.remove(&self.application);
            }
        }
    }
}

fn lock<T>(in_flight: &Mutex<InFlight<T>>) -> MutexGuard<'_, InFlight<T>> {
    in_flight.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
