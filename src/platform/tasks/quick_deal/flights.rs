//! Quick handlings under way: one for each task however many press, and a bounded number of them, in all and for each
//! application. A task's place is given up with its handling; an application's may be held for longer, by what goes on after it.

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

/// When to come back if there is no place for one more.
const FULL_FOR: Duration = Duration::from_secs(1);

/// Someone who waits for a handling. It goes on whether anybody does.
pub(super) type Waiting<T> = Shared<BoxFuture<'static, Result<T, Arc<Error>>>>;

/// The handlings under way, by task.
pub(super) struct Flights<T> {
    underway: Arc<Mutex<Underway<T>>>,
    tasks: TaskTracker,
    most: usize,
    most_per_application: usize,
}

struct Underway<T> {
    flights: HashMap<String, Waiting<T>>,
    /// The places that each application has taken.
    by_application: HashMap<String, usize>,
    is_stopping: bool,
}

impl<T: Clone + Send + Sync + 'static> Flights<T> {
    pub(super) fn new(bounds: &Tasks) -> Self {
        let underway =
            Underway { flights: HashMap::new(), by_application: HashMap::new(), is_stopping: false };
        Self {
            underway: Arc::new(Mutex::new(underway)),
            tasks: TaskTracker::new(),
            most: bounds.callbacks_at_once,
            most_per_application: bounds.callbacks_at_once_per_application,
        }
    }

    /// Joins the handling of this task that is under way, or begins this one, on a task of its own. The application's place is
    /// taken until it ends, and for as long after that as anything is there that it has handed the place on to.
    ///
    /// # Errors
    /// 503 where there is no place for one more, or the server is stopping.
    pub(super) fn join<F: Future<Output = Result<T>> + Send>(
        &self,
        task_id: &str,
        application: &str,
        handle: impl FnOnce(Arc<ApplicationPlace<T>>) -> F + Send + 'static,
    ) -> Result<Waiting<T>> {
        let mut underway = lock(&self.underway);
        if let Some(flight) = underway.flights.get(task_id) {
            return Ok(flight.clone());
        }
        self.check_room(&underway, application)?;
        let place = Place { underway: Arc::clone(&self.underway), task_id: task_id.to_owned() };
        let application_place = Arc::new(ApplicationPlace {
            underway: Arc::clone(&self.underway),
            application: application.to_owned(),
        });
        let handling = async move {
            // Given up before anyone learns the outcome: who presses after that begins anew.
            let _places = (place, Arc::clone(&application_place));
            handle(application_place).await.map_err(Arc::new)
        };
        let running = self.tasks.spawn(handling.in_current_span());
        let flight =
            async move { running.await.unwrap_or_else(|panic| Err(Arc::new(Error::internal(panic)))) };
        let flight = flight.boxed().shared();
        *underway.by_application.entry(application.to_owned()).or_default() += 1;
        // The handling cannot have ended yet: giving its place up takes the lock.
        underway.flights.insert(task_id.to_owned(), flight.clone());
        Ok(flight)
    }

    fn check_room(&self, underway: &Underway<T>, application: &str) -> Result<()> {
        let of_application = underway.by_application.get(application).copied().unwrap_or_default();
        let reason = if underway.is_stopping {
            "the server is stopping; nothing was changed"
        } else if underway.flights.len() >= self.most {
            "too many tasks are being handled already; nothing was changed"
        } else if of_application >= self.most_per_application {
            "too many tasks of this task's application are being handled already; nothing was changed"
        } else {
            return Ok(());
        };
        Err(Error::unavailable(reason, FULL_FOR))
    }

    /// Begins no more, and waits for those that are under way.
    pub(super) async fn stop(&self) {
        lock(&self.underway).is_stopping = true;
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// What a handling holds; dropped when it ends, however it does.
struct Place<T> {
    underway: Arc<Mutex<Underway<T>>>,
    task_id: String,
}

impl<T> Drop for Place<T> {
    fn drop(&mut self) {
        let mut underway = lock(&self.underway);
        let flight = underway.flights.remove(&self.task_id);
        drop(underway);
        // What waits for this very task is let go without the lock.
        drop(flight);
    }
}

/// One of an application's places, dropped when nothing is under way any more that the application could make hang.
pub(super) struct ApplicationPlace<T> {
    underway: Arc<Mutex<Underway<T>>>,
    application: String,
}

impl<T> Drop for ApplicationPlace<T> {
    fn drop(&mut self) {
        let mut underway = lock(&self.underway);
        if let Some(count) = underway.by_application.get_mut(&self.application) {
            *count -= 1;
            if *count == 0 {
                underway.by_application.remove(&self.application);
            }
        }
    }
}

fn lock<T>(underway: &Mutex<Underway<T>>) -> MutexGuard<'_, Underway<T>> {
    underway.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
