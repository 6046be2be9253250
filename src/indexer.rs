//! Keeps the full-text index a few milliseconds behind the database.
//!
//! Each index commit stores its log position, where indexing resumes after a crash. An index that is damaged or does
//! not match the database is rebuilt from the rows. The part rebuilt so far is searched meanwhile, and the change log
//! is followed.

mod commit_schedule;
mod context;
mod control;
mod follower;
mod log_cutter;
mod progress;
mod reader;
mod rebuild;
mod rebuild_request;
mod run;
mod shared;
mod sinks;
mod supervisor;
#[cfg(test)]
mod tests;

use std::{
    fs::{File, TryLockError},
    path::Path,
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use trawl_opensearch::{Layout, OpenSearch};
use trawl_search::sources::builtin::ServedIndex;

pub use crate::index_progress::{Progress, Rebuild};

pub use self::control::{EngineHealth, EngineStatus, FreshnessMillis, IndexControl, IndexState, Move};

use self::{
    context::{EngineContext, Outputs},
    log_cutter::Followed,
    progress::{Announcer, Freshness},
    reader::Rows,
    run::EngineRun,
    supervisor::Supervisor,
};
use crate::{
    config::{self, Config},
    index_progress::WaitingSearches,
    platform::{documents::Area, users},
    replicas::Leases,
    store::Store,
};

const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A running indexer.
pub struct Indexer {
    served: Arc<ServedIndex>,
    control: Arc<IndexControl>,
    progress: watch::Receiver<Progress>,
    waiting: WaitingSearches,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// Why the indexer did not start.
#[derive(Debug, thiserror::Error)]
pub enum IndexerError {
    /// Another server uses the data directory.
    #[error("the full-text index could not be locked: another server uses it")]
    Taken,
    /// The lock file cannot be opened or locked.
    #[error("the full-text index could not be locked: {0}")]
    Lock(#[from] std::io::Error),
    /// The cluster's settings are wrong; names the setting.
    #[error("{0}")]
    Settings(String),
}

impl Indexer {
    /// Opens the index of the configured engine and follows the change log.
    ///
    /// An index that cannot be opened now is retried in the background. Documents show addresses below the public URL.
    ///
    /// # Errors
    /// Another server uses the data directory, or it cannot be locked, or a setting of the cluster is wrong.
    pub async fn start(
        store: Store,
        leases: Leases,
        config: &Config,
        rebuild: bool,
    ) -> Result<Self, IndexerError> {
        let public_url = config.public_url();
        let settings = &config.engine.opensearch;
        let cluster = if settings.urls.is_empty() {
            None
        } else {
            Some(OpenSearch::new(
                settings.client().map_err(IndexerError::Settings)?,
                layout(settings),
                store.id(),
            ))
        };
        let lock = lock(&config.data)?;
        if let Err(error) = users::documents::follow_public_url(&store, &public_url).await {
            tracing::warn!(%error, "avatars keep their old address until the next start");
        }
        let freshness = Freshness::default();
        let announcer = Announcer::new(store.commits(), freshness.clone());
        let (served, progress) = (Arc::<ServedIndex>::default(), announcer.subscribe());
        let outputs = Outputs { served: Arc::clone(&served), announcer };
        let positions = store.positions();
        let waiting = WaitingSearches::default();
        let context = Arc::new(EngineContext {
            rows: Rows { store, public_url: public_url.into() },
            data: config.data.clone(),
            settings: config.index.clone(),
            leases,
            cluster,
            own_indexes: settings.own_indexes.clone(),
            followed: Followed::default(),
            waiting: waiting.clone(),
            _lock: lock,
        });
        let (commands, commanded) = mpsc::channel(1);
        let stop = CancellationToken::new();
        let searched = EngineRun::start(&context, config.engine.kind, outputs, rebuild).await;
        let (supervisor, engines) = Supervisor::new(context, searched, commanded, stop.clone());
        let control = Arc::new(IndexControl {
            served: Arc::clone(&served),
            positions,
            progress: progress.clone(),
            freshness,
            commands,
            engines,
        });
        Ok(Self { served, control, progress, waiting, stop, task: tokio::spawn(supervisor.run()) })
    }

    /// The index that searches use.
    pub fn served(&self) -> Arc<ServedIndex> {
        Arc::clone(&self.served)
    }

    /// The operator's view of the index.
    pub fn control(&self) -> Arc<IndexControl> {
        Arc::clone(&self.control)
    }

    /// The progress of indexing; changes are signalled.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    /// Searches that wait for a change; the index hurries for them.
    pub fn waiting_searches(&self) -> WaitingSearches {
        self.waiting.clone()
    }

    /// Stops after the current batch; the rest is indexed at the next start.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the indexer did not stop cleanly");
        }
    }
}

/// Locks the data directory until the file is dropped.
fn lock(data: &Path) -> Result<File, IndexerError> {
    let file = File::create(data.join("index.lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(IndexerError::Taken),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

fn layout(settings: &config::OpenSearchSettings) -> Layout {
    Layout {
        index_prefix: settings.index_prefix.clone(),
        kinds: &KINDS,
        kind_of: |module| Area::of(module).name(),
        shards: settings.shards,
        replicas: settings.replicas,
    }
}

/// Each area has an index of its own.
const KINDS: [&str; Area::ALL.len()] = {
    let mut kinds = [""; Area::ALL.len()];
    let mut place = 0;
    while place < kinds.len() {
        kinds[place] = Area::ALL[place].name();
        place += 1;
    }
    kinds
};
