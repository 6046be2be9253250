//! Leases: work on one thing that one task does at a time, over all replicas.
//!
//! In a process a lease is a lock. Over PostgreSQL it is also a row that lives as long as the holder's process does, so
//! that nothing renews it.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{DATABASE_NOW, DEAD_AFTER};
use crate::{
    error::{Error, Result},
    store::{Connection, Store, sql},
};

/// Between attempts to take a lease that another holds.
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(100);

/// The leases of this process.
#[derive(Clone)]
pub struct Leases {
    held: Arc<Mutex<HashSet<String>>>,
    shared: Option<Arc<Connection>>,
    process: Arc<str>,
}

/// A lease that this process holds, until it is dropped.
pub struct Lease {
    name: String,
    leases: Leases,
}

impl Leases {
    pub(super) fn new(store: &Store, process: Arc<str>) -> Self {
        Self { held: Arc::default(), shared: store.coordination().cloned(), process }
    }

    /// Takes the lease unless another task or replica holds it.
    pub async fn try_acquire(&self, name: &str) -> Result<Option<Lease>> {
        if !self.held().insert(name.to_owned()) {
            return Ok(None);
        }
        // Dropped, it gives back the place in this process.
        let lease = Lease { name: name.to_owned(), leases: self.clone() };
        let Some(connection) = &self.shared else { return Ok(Some(lease)) };
        // A dead process takes none, and loses its own to those who ask. A row of this process was not given back.
        let alive = format!("SELECT process FROM replicas WHERE seen_at > {DATABASE_NOW} - {DEAD_AFTER}");
        let text = format!(
            "INSERT INTO leases (name, process) SELECT ?, process FROM replicas WHERE process = ? AND process IN ({alive}) \
             ON CONFLICT (name) DO UPDATE SET process = excluded.process \
             WHERE leases.process = excluded.process OR leases.process NOT IN ({alive})"
        );
        let taken = sql(text, [name.into(), (&*self.process).into()]).execute(connection).await?;
        Ok((taken == 1).then_some(lease))
    }

    /// Waits until the lease is free, and takes it.
    ///
    /// # Errors
    /// 503 after `patience`.
    pub async fn acquire(&self, name: &str, patience: Duration) -> Result<Lease> {
        let acquiring = async {
            loop {
                if let Some(lease) = self.try_acquire(name).await? {
                    return Ok(lease);
                }
                tokio::time::sleep(ATTEMPT_INTERVAL).await;
            }
        };
        let busy = |_late| Error::unavailable("this is being worked on already", Duration::from_secs(1));
        tokio::time::timeout(patience, acquiring).await.map_err(busy)?
    }

    fn held(&self) -> MutexGuard<'_, HashSet<String>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// Whether no replica has taken it from this process, which may have counted as dead.
    pub async fn is_held(&self) -> Result<bool> {
        let Some(connection) = &self.leases.shared else { return Ok(true) };
        let text = "SELECT 1 FROM leases WHERE name = ? AND process = ?";
        Ok(sql(text, [self.name.as_str().into(), (&*self.leases.process).into()]).exists(connection).await?)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (leases, name) = (self.leases.clone(), std::mem::take(&mut self.name));
        let Some(connection) = leases.shared.clone() else {
            leases.held().remove(&name);
            return;
        };
        tokio::spawn(async move {
            let text = "DELETE FROM leases WHERE name = ? AND process = ?";
            let values = [name.as_str().into(), (&*leases.process).into()];
            if let Err(error) = sql(text, values).execute(&connection).await {
                tracing::warn!(%error, name, "a lease could not be given back");
            }
            leases.held().remove(&name);
        });
    }
}
