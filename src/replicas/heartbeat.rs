//! Renews this replica's row, and learns how many others are alive.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::sync::watch;

use super::{AWAITED_FOR, DATABASE_NOW, DEAD_AFTER, Replicas};
use crate::{
    index_progress::Progress,
    store::{self, Connection, sql},
};

const INTERVAL: Duration = Duration::from_secs(3);

impl Replicas {
    /// Renews the row in the background until [`Self::leave`].
    pub fn start_heartbeat(self: &Arc<Self>, progress: watch::Receiver<Progress>) {
        let replicas = Arc::clone(self);
        tokio::spawn(async move { replicas.beat(progress).await });
    }

    async fn beat(&self, progress: watch::Receiver<Progress>) {
        let Some(connection) = self.store.coordination() else { return };
        loop {
            let position = progress.borrow().position;
            match self.renew(connection, position).await {
                Ok(true) => {}
                Ok(false) => {
                    self.replaced.cancel();
                    return;
                }
                Err(error) => tracing::warn!(%error, "this replica's heartbeat failed"),
            }
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                () = self.stop.cancelled() => return,
            }
        }
    }

    /// Whether the row is still this process's.
    async fn renew(&self, connection: &Connection, position: i64) -> store::Result<bool> {
        let text = format!(
            "UPDATE replicas SET seen_at = {DATABASE_NOW}, position = ? WHERE id = ? AND process = ?"
        );
        let values = [position.into(), (&*self.id).into(), (&*self.process).into()];
        let is_own = sql(text, values).execute(connection).await? == 1;
        let text = format!("DELETE FROM replicas WHERE seen_at <= {DATABASE_NOW} - ?");
        sql(text, [AWAITED_FOR.into()]).execute(connection).await?;
        let text = format!(
            "SELECT COUNT(*) AS rows FROM replicas WHERE process <> '' AND seen_at > {DATABASE_NOW} - ?"
        );
        let alive = sql(text, [DEAD_AFTER.into()]).count(connection).await?;
        self.alive.store(usize::try_from(alive).unwrap_or(usize::MAX).max(1), Ordering::Relaxed);
        Ok(is_own)
    }

    /// Marks the process as stopped, which ends its leases.
    ///
    /// The change log still waits for the replica for a while.
    pub async fn leave(&self) {
        self.stop.cancel();
        let Some(connection) = self.store.coordination() else { return };
        let text = "UPDATE replicas SET process = '' WHERE process = ?";
        if let Err(error) = sql(text, [(&*self.process).into()]).execute(connection).await {
            tracing::warn!(%error, "this replica could not be marked as stopped");
        }
    }
}
