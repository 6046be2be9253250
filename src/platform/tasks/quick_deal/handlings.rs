//! One handling in flight per task, limited in total and per application.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{Semaphore, TryAcquireError};
use tokio_util::task::TaskTracker;
use tracing::Instrument;
use trawl_search::{SharedCall, SingleFlight, panics::CaughtPanic};

use crate::{
    config::Tasks,
    error::{Error, Result},
};

/// `Retry-After` without a free permit.
const FULL_FOR: Duration = Duration::from_secs(1);

type Outcome<T> = Result<T, Arc<Error>>;

pub(super) struct Handlings<T> {
    in_flight: SingleFlight<String, Outcome<T>>,
    tasks: TaskTracker,
    /// Closed once the server stops.
    permits: Arc<Semaphore>,
    by_application: Arc<Mutex<HashMap<String, usize>>>,
    most_per_application: usize,
}

impl<T: Clone + Send + Sync + 'static> Handlings<T> {
    pub(super) fn new(bounds: &Tasks) -> Self {
        Self {
            in_flight: SingleFlight::default(),
            tasks: TaskTracker::new(),
            permits: Arc::new(Semaphore::new(bounds.callbacks_at_once)),
            by_application: Arc::default(),
            most_per_application: bounds.callbacks_at_once_per_application,
        }
    }

    /// Joins the task's handling, or spawns it; 503 without a free permit.
    ///
    /// It runs even if nobody waits. The application's permit lasts until every clone drops.
    pub(super) fn join<F: Future<Output = Result<T>> + Send>(
        &self,
        task_id: &str,
        application: &str,
        handle: impl FnOnce(Arc<ApplicationPermit>) -> F + Send + 'static,
    ) -> Result<SharedCall<Outcome<T>>> {
        // Taken before the permit: `stop` waits for whatever is permitted.
        let _starting = self.tasks.token();
        let panicked = |panic: &CaughtPanic| {
            tracing::error!(%panic, "the handling of a task panicked");
            Err(Arc::new(Error::internal(panic.to_string())))
        };
        let (outcome, joined) = self.in_flight.try_join(task_id.to_owned(), panicked, || {
            let permit = Arc::clone(&self.permits).try_acquire_owned().map_err(|error| refusal(&error))?;
            let application_permit = Arc::new(self.permit_of(application)?);
            let handling = async move {
                // Released first, so that a later request starts anew.
                let _permits = (permit, Arc::clone(&application_permit));
                handle(application_permit).await.map_err(Arc::new)
            };
            Ok::<_, Error>(handling.in_current_span())
        })?;
        if !joined {
            self.tasks.spawn(outcome.clone());
        }
        Ok(outcome)
    }

    fn permit_of(&self, application: &str) -> Result<ApplicationPermit> {
        let mut by_application = lock(&self.by_application);
        let count = by_application.entry(application.to_owned()).or_default();
        if *count >= self.most_per_application {
            let reason =
                "too many tasks of this task's application are being handled already; nothing was changed";
            return Err(Error::unavailable(reason, FULL_FOR));
        }
        *count += 1;
        let (counts, application) = (Arc::clone(&self.by_application), application.to_owned());
        Ok(ApplicationPermit { counts, application })
    }

    pub(super) async fn stop(&self) {
        self.permits.close();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

fn refusal(error: &TryAcquireError) -> Error {
    let reason = match error {
        TryAcquireError::Closed => "the server is stopping; nothing was changed",
        TryAcquireError::NoPermits => "too many tasks are being handled already; nothing was changed",
    };
    Error::unavailable(reason, FULL_FOR)
}

pub(super) struct ApplicationPermit {
    counts: Arc<Mutex<HashMap<String, usize>>>,
    application: String,
}

impl Drop for ApplicationPermit {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        if let Some(count) = counts.get_mut(&self.application) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.application);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
