//! When each application was last used: noted in memory at every request, written down now and then.
//!
//! A write for each request would cost more than the request.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use sea_orm::ConnectionTrait;

use crate::{
    error::{Error, Result},
    store::{Store, now_millis, sql},
};

/// When one application was last used, epoch milliseconds; 0 before the first time in this process.
#[derive(Debug, Default)]
pub struct LastUse {
    noted: AtomicI64,
    written: AtomicI64,
}

impl LastUse {
    /// Notes a use now.
    pub fn note(&self) {
        self.noted.store(now_millis(), Relaxed);
    }
}

/// The last uses of the applications that were used since they were last written down, or whose tokens are remembered.
#[derive(Debug, Default)]
pub struct Usage {
    applications: Mutex<HashMap<Arc<str>, Arc<LastUse>>>,
}

impl Usage {
    /// Where the uses of an application are noted.
    pub fn of(&self, client_id: &str) -> Arc<LastUse> {
        let mut applications = self.applications.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = applications.get(client_id) {
            return Arc::clone(known);
        }
        let last_use = Arc::new(LastUse::default());
        applications.insert(client_id.into(), Arc::clone(&last_use));
        last_use
    }

    /// When an application was last used, as far as this process knows.
    pub fn noted(&self, client_id: &str) -> Option<i64> {
        let applications = self.applications.lock().unwrap_or_else(PoisonError::into_inner);
        applications.get(client_id).map(|last_use| last_use.noted.load(Relaxed)).filter(|at| *at > 0)
    }

    /// Writes down what is not written yet, in one statement, and lets go of what nobody notes in any more.
    pub async fn write_down(&self, store: &Store) -> Result<()> {
        let noted = self.unwritten();
        if !noted.is_empty() {
            let values: HashMap<&str, i64> = noted.iter().map(|(id, _, at)| (&**id, *at)).collect();
            let statement = sql(
                "UPDATE applications SET last_used_at = noted.value FROM json_each(?) AS noted \
                 WHERE client_id = noted.key",
                [serde_json::to_string(&values).map_err(Error::internal)?.into()],
            );
            let job = store.write(move |transaction| {
                Box::pin(async move {
                    transaction.execute_raw(statement).await?;
                    Ok(())
                })
            });
            job.await?;
        }
        for (_, last_use, at) in &noted {
            last_use.written.store(*at, Relaxed);
        }
        drop(noted);
        let mut applications = self.applications.lock().unwrap_or_else(PoisonError::into_inner);
        applications.retain(|_, last_use| Arc::strong_count(last_use) > 1 || !last_use.is_written());
        Ok(())
    }

    fn unwritten(&self) -> Vec<(Arc<str>, Arc<LastUse>, i64)> {
        let applications = self.applications.lock().unwrap_or_else(PoisonError::into_inner);
        applications
            .iter()
            .filter(|(_, last_use)| !last_use.is_written())
            .map(|(id, last_use)| (Arc::clone(id), Arc::clone(last_use), last_use.noted.load(Relaxed)))
            .collect()
    }
}

impl LastUse {
    fn is_written(&self) -> bool {
        self.noted.load(Relaxed) == self.written.load(Relaxed)
    }
}
