//! Index of searches, set by the indexer.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use arc_swap::ArcSwapOption;
use trawl_engine::{Engine, Failure, View};

/// Why items may be missing.
#[derive(Clone, Debug)]
pub enum Incompleteness {
    /// During a rebuild.
    Rebuilding(Arc<RebuildProgress>),
    /// Without the latest changes.
    Behind,
}

/// Progress of a rebuild.
#[derive(Debug, Default)]
pub struct RebuildProgress {
    done: AtomicU64,
    known: u64,
}

impl RebuildProgress {
    /// Starts with `done` of `known` items.
    pub fn new(done: u64, known: u64) -> Self {
        Self { done: AtomicU64::new(done), known }
    }

    /// Adds indexed items.
    pub fn add(&self, items: usize) {
        self.done.fetch_add(items as u64, Ordering::Relaxed);
    }

    /// Indexed items.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Items when the rebuild began.
    pub fn known(&self) -> u64 {
        self.known
    }
}

impl Incompleteness {
    fn message(&self) -> String {
        match self {
            Self::Rebuilding(progress) => {
                format!(
                    "the index is being rebuilt; {} of {} items are there",
                    progress.done().min(progress.known()),
                    progress.known()
                )
            }
            Self::Behind => "the index is behind: recent changes may be missing".to_owned(),
        }
    }
}

/// Current index, if any.
#[derive(Default)]
pub struct ServedIndex {
    current: ArcSwapOption<CurrentIndex>,
}

struct CurrentIndex {
    engine: Arc<dyn Engine>,
    incompleteness: Option<Incompleteness>,
}

/// Index seen by one search.
pub struct ServedView {
    /// The engine's last commit.
    pub view: Arc<dyn View>,
    /// Why items may be missing.
    pub incomplete: Option<String>,
}

impl ServedIndex {
    /// Serves a complete index.
    pub fn of(engine: Arc<dyn Engine>) -> Self {
        let served = Self::default();
        served.serve(engine, None);
        served
    }

    /// Replaces the index.
    pub fn serve(&self, engine: Arc<dyn Engine>, incompleteness: Option<Incompleteness>) {
        self.current.store(Some(Arc::new(CurrentIndex { engine, incompleteness })));
    }

    /// Marks the index as incomplete or complete.
    pub fn set_incompleteness(&self, incompleteness: Option<&Incompleteness>) {
        self.current.rcu(|current| {
            let engine = Arc::clone(&current.as_ref()?.engine);
            Some(Arc::new(CurrentIndex { engine, incompleteness: incompleteness.cloned() }))
        });
    }

    /// Removes the index.
    pub fn withdraw(&self) {
        self.current.store(None);
    }

    /// For a search that begins now.
    pub fn view(&self) -> Option<ServedView> {
        // Read together: an incomplete index may become complete, never the reverse.
        let current = self.current.load();
        let current = current.as_ref()?;
        let incomplete = current.incompleteness.as_ref().map(Incompleteness::message);
        Some(ServedView { view: current.engine.view(), incomplete })
    }

    /// Documents of all tenants; none without an index.
    ///
    /// # Errors
    /// The engine's own.
    pub async fn documents(&self) -> Result<u64, Failure> {
        let engine = self.current.load().as_ref().map(|current| Arc::clone(&current.engine));
        match engine {
            Some(engine) => engine.documents().await,
            None => Ok(0),
        }
    }
}
