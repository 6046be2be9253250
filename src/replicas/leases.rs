//! Leases: work that one task does at a time, over all replicas.
//!
//! In a process a lease is a lock. Over PostgreSQL it is also a row that lives as long as the holder's process does, so
//! that nothing renews it. A process that was stopped for a while may find its leases taken over: work that must not be
//! done twice confirms its lease in a write.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable as _};
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{DATABASE_NOW, DEAD_AFTER};
use crate::{
    error::{Error, Result},
    store::{Connection, DatabaseError, Store, Transaction, Value, sql},
};

/// Time between looks at a lease that another holds.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Longest pause between attempts to give a lease back.
const RETURN_INTERVAL: Duration = Duration::from_secs(10);

/// Time for which a caller waits until its lease is given back.
const RETURN_TIMEOUT: Duration = Duration::from_secs(5);

/// The leases of this process.
#[derive(Clone)]
pub struct Leases {
    held: Arc<Mutex<HashSet<String>>>,
    shared: Option<Arc<Connection>>,
    process: Arc<str>,
}

/// A lease that this process holds, until it is released or dropped.
pub struct Lease {
    name: Arc<str>,
    leases: Leases,
    is_over: bool,
}

/// A lease's name and holder, for a write.
#[derive(Clone)]
pub struct Fence {
    name: Arc<str>,
    process: Arc<str>,
    is_shared: bool,
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
        let mut lease = Lease { name: name.into(), leases: self.clone(), is_over: false };
        let Some(connection) = self.shared.clone() else { return Ok(Some(lease)) };
        // A caller that goes away during the statement leaves no row: the task gives the lease back.
        let acquiring = tokio::spawn(async move {
            let is_taken = lease.take(&connection).await?;
            if !is_taken {
                lease.forget();
            }
            Ok(is_taken.then_some(lease))
        });
        acquiring.await.map_err(Error::internal)?
    }

    /// Keeps a lease or takes a new one.
    ///
    /// Returns `lease` while it is held, else a new one if it is free.
    pub async fn lead(&self, name: &str, lease: Option<Lease>) -> Result<Option<Lease>> {
        match lease {
            Some(lease) if lease.is_held().await? => Ok(Some(lease)),
            lost => {
                if let Some(lost) = lost {
                    lost.release().await;
                }
                self.try_acquire(name).await
            }
        }
    }

    /// Waits until nobody holds the lease.
    ///
    /// # Errors
    /// 503 after `patience`.
    pub async fn wait_until_free(&self, name: &str, patience: Duration) -> Result<()> {
        let waiting = async {
            while self.is_taken(name).await? {
                sleep(LOOK_INTERVAL).await;
            }
            Ok(())
        };
        let busy = |_late| Error::unavailable("this is being worked on already", Duration::from_secs(1));
        timeout(patience, waiting).await.map_err(busy)?
    }

    async fn is_taken(&self, name: &str) -> Result<bool> {
        let Some(connection) = &self.shared else { return Ok(self.held().contains(name)) };
        let text = format!("SELECT 1 FROM leases WHERE name = ? AND process IN ({})", alive());
        Ok(sql(text, [name.into()]).exists(connection).await?)
    }

    /// Removes the rows of dead holders for which nobody has asked.
    pub async fn remove_orphans(&self) -> Result<()> {
        let Some(connection) = &self.shared else { return Ok(()) };
        // Name and process select the row: one that is taken over meanwhile stays.
        let text = format!(
            "DELETE FROM leases WHERE (name, process) IN \
             (SELECT name, process FROM leases WHERE process NOT IN ({}))",
            alive()
        );
        sql(text, []).execute(connection).await?;
        Ok(())
    }

    /// Removes the row; retries while the process lives, as the row does.
    async fn remove_row(&self, connection: &Connection, name: &str) {
        let remove = || async {
            let text = "DELETE FROM leases WHERE name = ? AND process = ?";
            sql(text, [name.into(), (&*self.process).into()]).execute(connection).await
        };
        let pauses = ExponentialBuilder::default().with_max_delay(RETURN_INTERVAL).without_max_times();
        let removed = remove
            .retry(pauses)
            .when(|error| !matches!(error, DatabaseError::PoolClosed))
            .notify(|error, _| tracing::warn!(%error, name, "a lease could not be given back yet"));
        // A closed pool is the end of the process.
        drop(removed.await);
    }

    fn held(&self) -> MutexGuard<'_, HashSet<String>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Processes that do not count as dead.
fn alive() -> String {
    format!("SELECT process FROM replicas WHERE seen_at > {DATABASE_NOW} - {DEAD_AFTER}")
}

impl Lease {
    /// Whether this process still holds it.
    ///
    /// Another replica takes it if this process counted as dead.
    pub async fn is_held(&self) -> Result<bool> {
        let Some(connection) = &self.leases.shared else { return Ok(true) };
        let text = "SELECT 1 FROM leases WHERE name = ? AND process = ?";
        Ok(sql(text, self.row()).exists(connection).await?)
    }

    /// The fence by which a write confirms this lease.
    pub fn fence(&self) -> Fence {
        Fence {
            name: Arc::clone(&self.name),
            process: Arc::clone(&self.leases.process),
            is_shared: self.leases.shared.is_some(),
        }
    }

    /// Gives the lease back before this call is answered.
    ///
    /// The next call finds it free. A database that does not answer gets it back later.
    pub async fn release(mut self) {
        if let Some(returning) = self.start_release() {
            drop(timeout(RETURN_TIMEOUT, returning).await);
        }
    }

    async fn take(&self, connection: &Connection) -> Result<bool> {
        // A dead process takes none, and loses its own to those who ask. A row of this process is left over from a
        // statement whose answer was lost.
        let alive = alive();
        let text = format!(
            "INSERT INTO leases (name, process) SELECT ?, process FROM replicas WHERE process = ? AND process IN ({alive}) \
             ON CONFLICT (name) DO UPDATE SET process = excluded.process \
             WHERE leases.process = excluded.process OR leases.process NOT IN ({alive})"
        );
        Ok(sql(text, self.row()).execute(connection).await? == 1)
    }

    fn start_release(&mut self) -> Option<JoinHandle<()>> {
        if self.is_over {
            return None;
        }
        let Some(connection) = self.leases.shared.clone() else {
            self.forget();
            return None;
        };
        self.is_over = true;
        let (leases, name) = (self.leases.clone(), Arc::clone(&self.name));
        Some(tokio::spawn(async move {
            // Until then nobody in this process takes it, so that the row is no other task's.
            leases.remove_row(&connection, &name).await;
            leases.held().remove(&*name);
        }))
    }

    /// Ends the lease without a row.
    fn forget(&mut self) {
        self.is_over = true;
        self.leases.held().remove(&*self.name);
    }

    fn row(&self) -> [Value; 2] {
        [(&*self.name).into(), (&*self.leases.process).into()]
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.start_release());
    }
}

impl Fence {
    /// Keeps other replicas from taking the lease over until the transaction ends.
    ///
    /// # Errors
    /// 409 where one has taken it, because this process counted as dead.
    pub async fn confirm(&self, transaction: &Transaction) -> Result<()> {
        if !self.is_shared {
            return Ok(());
        }
        let text = "SELECT 1 FROM leases WHERE name = ? AND process = ? FOR SHARE";
        let is_held = sql(text, [(&*self.name).into(), (&*self.process).into()]).exists(transaction).await?;
        let lost = || Error::conflict("another server has taken over this work; nothing was changed");
        is_held.then_some(()).ok_or_else(lost)
    }
}
