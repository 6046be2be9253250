//! Replicas: equal server processes over one PostgreSQL database.
//!
//! Each registers itself and renews its row; one whose row is old counts as dead. A server over SQLite is its only replica.

mod leases;
mod settings;

use std::{
    fs, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    error::{Error, Result},
    index_progress::Progress,
    store::{self, Connection, FromRow, Json, Store, now_millis, sql},
};

pub use self::leases::{Fence, Lease, Leases};
pub use self::settings::{Disagreement, SharedSettings};

/// Epoch milliseconds by PostgreSQL's clock, at the statement's start.
///
/// Replicas share this clock. A later time would mark rows dead that were renewed while the statement waited for a lock.
const DATABASE_NOW: &str = "CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000 AS BIGINT)";

const ID_FILE: &str = "replica.id";

const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(3);

/// Age of a dead replica's row, in milliseconds.
const DEAD_AFTER: i64 = 15_000;

/// Time for which the change log awaits a replica, in milliseconds.
const AWAITED_FOR: i64 = 3_600_000;

/// Whether every live replica states a setting, which earlier versions lack.
pub async fn all_state(store: &Store, setting: &str) -> Result<bool> {
    let Some(connection) = store.coordination() else { return Ok(true) };
    let text = format!(
        "SELECT 1 FROM replicas WHERE process <> '' AND seen_at > {DATABASE_NOW} - ? AND settings NOT LIKE ?"
    );
    let values = [DEAD_AFTER.into(), format!("%\"{setting}\":%").into()];
    Ok(!sql(text, values).exists(connection).await?)
}

/// The random id of the replica with this data directory, made at its first start.
///
/// It tells neither host nor port, as every answer names it.
pub fn kept_id(data: &Path) -> io::Result<String> {
    let path = data.join(ID_FILE);
    match fs::read_to_string(&path) {
        Ok(id) if Uuid::try_parse(&id).is_ok() => return Ok(id),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        // Missing, or cut off by a crash.
        _ => {}
    }
    let (id, aside) = (Uuid::new_v4().simple().to_string(), path.with_extension("new"));
    fs::write(&aside, &id)?;
    fs::rename(&aside, &path)?;
    Ok(id)
}

/// Why a replica could not start.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// Its id could not be read or kept.
    #[error("the id of this replica could not be kept in the data directory: {0}; cluster.replica sets one")]
    Id(#[from] io::Error),
    /// Its settings differ from another replica's.
    #[error(transparent)]
    Settings(#[from] Disagreement),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] Error),
}

/// A replica as operators see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, FromRow, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaInfo {
    /// Its id (`cluster.replica`).
    pub id: String,
    /// Version of trawl.
    pub version: String,
    /// Start of its process, epoch milliseconds.
    pub started_at: i64,
    /// Its last heartbeat, epoch milliseconds.
    pub seen_at: i64,
    /// Position of the change log up to which its searches find all changes.
    pub position: i64,
    /// Changes behind the end of the change log.
    pub behind: i64,
    /// Background work that it alone does.
    #[schema(value_type = Vec<String>)]
    pub leads: Json<Vec<String>>,
}

/// This process among the replicas.
pub struct Replicas {
    store: Store,
    id: Arc<str>,
    /// Unique to the process.
    process: Arc<str>,
    started_at: i64,
    leases: Leases,
    alive: Arc<AtomicUsize>,
    replaced: CancellationToken,
    stop: CancellationToken,
}

impl Replicas {
    /// Registers this process; it replaces an earlier one of its id.
    ///
    /// # Errors
    /// A live replica has other settings.
    pub async fn join(store: &Store, id: &str, settings: &SharedSettings) -> Result<Self, JoinError> {
        let process: Arc<str> = Uuid::new_v4().to_string().into();
        let replicas = Self {
            leases: Leases::new(store, Arc::clone(&process)),
            store: store.clone(),
            id: id.into(),
            process,
            started_at: now_millis(),
            alive: Arc::new(AtomicUsize::new(1)),
            replaced: CancellationToken::new(),
            stop: CancellationToken::new(),
        };
        if let Some(connection) = store.coordination() {
            settings.check_against_others(connection, id).await?;
            replicas.register(connection, settings).await.map_err(Error::from)?;
        }
        Ok(replicas)
    }

    async fn register(&self, connection: &Connection, settings: &SharedSettings) -> store::Result<()> {
        let text = format!(
            "INSERT INTO replicas (id, process, version, started_at, seen_at, position, settings) \
             VALUES (?, ?, ?, {DATABASE_NOW}, {DATABASE_NOW}, 0, ?) ON CONFLICT (id) DO UPDATE SET \
             process = excluded.process, version = excluded.version, started_at = excluded.started_at, \
             seen_at = excluded.seen_at, settings = excluded.settings"
        );
        let (id, process) = (&*self.id, &*self.process);
        let values = [id.into(), process.into(), env!("CARGO_PKG_VERSION").into(), settings.to_json().into()];
        sql(text, values).execute(connection).await.map(drop)
    }

    /// The replica's id.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Leases of this process.
    pub fn leases(&self) -> &Leases {
        &self.leases
    }

    /// Cancelled when another process has taken this replica's id.
    pub fn replaced(&self) -> &CancellationToken {
        &self.replaced
    }

    /// Live replicas, with this one, as of its last heartbeat.
    pub fn alive(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }

    /// All replicas that have not stopped, by id.
    ///
    /// This one's index has followed the change log to `position`.
    pub async fn list(&self, position: i64) -> Result<Vec<ReplicaInfo>> {
        let Some(connection) = self.store.coordination() else {
            return Ok(vec![ReplicaInfo {
                id: self.id.to_string(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                started_at: self.started_at,
                seen_at: now_millis(),
                position,
                behind: (*self.store.positions().borrow() - position).max(0),
                leads: Json(vec!["maintenance".to_owned()]),
            }]);
        };
        // Names with a colon are of single objects.
        let text = "SELECT id, version, started_at, seen_at, replicas.position, \
                    GREATEST(change_log_end.position - replicas.position, 0) AS behind, \
                    (SELECT CAST(COALESCE(json_agg(name ORDER BY name), '[]') AS TEXT) FROM leases \
                     WHERE leases.process = replicas.process AND name NOT LIKE '%:%') AS leads \
                    FROM replicas, change_log_end WHERE process <> '' ORDER BY id";
        Ok(sql(text, []).fetch_all(connection).await?)
    }

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
                () = tokio::time::sleep(HEARTBEAT_INTERVAL) => {}
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

/// The position that every replica has reached, at most `own`.
pub async fn least_position(store: &Store, own: i64) -> Result<i64> {
    let Some(connection) = store.coordination() else { return Ok(own) };
    let text = format!("SELECT MIN(position) FROM replicas WHERE seen_at > {DATABASE_NOW} - ?");
    let least: Option<i64> = sql(text, [AWAITED_FOR.into()]).fetch_value(connection).await?;
    Ok(least.map_or(own, |least| least.min(own)))
}
