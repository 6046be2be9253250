//! Index of searches, set by the indexer.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use trawl_engine::{Engine, View};

use super::shared_view::{SharedView, WorkPermits, work_permits};
use crate::request::Viewer;

/// Why items may be missing.
#[derive(Clone, Debug)]
pub enum Incompleteness {
    /// During a rebuild.
    Rebuilding(Arc<RebuildProgress>),
    /// The latest changes are missing.
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
pub struct ServedIndex {
    current: ArcSwap<Current>,
    /// Why a further failure may end searches.
    degradation: ArcSwapOption<String>,
    permits: WorkPermits,
}

enum Current {
    Index(CurrentIndex),
    /// The reason is shown to callers.
    Withdrawn(String),
}

#[derive(Clone)]
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
    /// Why a further failure may end searches.
    pub degradation: Option<Arc<String>>,
}

impl Default for ServedIndex {
    fn default() -> Self {
        let nothing = Current::Withdrawn("the index cannot be opened at the moment".to_owned());
        let degradation = ArcSwapOption::empty();
        Self { current: ArcSwap::from_pointee(nothing), degradation, permits: work_permits() }
    }
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
        self.current.store(Arc::new(Current::Index(CurrentIndex { engine, incompleteness })));
    }

    /// Marks the index as incomplete or complete.
    pub fn set_incompleteness(&self, incompleteness: Option<&Incompleteness>) {
        self.current.rcu(|current| match &**current {
            Current::Index(CurrentIndex { engine, .. }) => {
                let (engine, incompleteness) = (Arc::clone(engine), incompleteness.cloned());
                Arc::new(Current::Index(CurrentIndex { engine, incompleteness }))
            }
            Current::Withdrawn(_) => Arc::clone(current),
        });
    }

    /// Tells searches of a cluster that has lost copies of the index.
    pub fn set_degradation(&self, degradation: Option<String>) {
        self.degradation.store(degradation.map(Arc::new));
    }

    /// Removes the index; searches are told the reason.
    pub fn withdraw(&self, reason: String) {
        self.current.store(Arc::new(Current::Withdrawn(reason)));
    }

    /// Returns the view for a search that begins now.
    ///
    /// Where the engine works on this machine, it waits for its viewer's turn.
    ///
    /// # Errors
    /// The reason why there is no index.
    pub fn view(&self, viewer: &Viewer) -> Result<ServedView, String> {
        // Read together: an incomplete index may become complete, never the reverse.
        match &**self.current.load() {
            Current::Index(CurrentIndex { engine, incompleteness }) => Ok(ServedView {
                view: self.shared(&**engine, viewer),
                incomplete: incompleteness.as_ref().map(Incompleteness::message),
                degradation: self.degradation.load_full(),
            }),
            Current::Withdrawn(reason) => Err(reason.clone()),
        }
    }

    fn shared(&self, engine: &dyn Engine, viewer: &Viewer) -> Arc<dyn View> {
        let view = engine.view();
        if !engine.works_here() {
            return view;
        }
        Arc::new(SharedView { view, permits: self.permits.clone(), searcher: viewer.searcher() })
    }

    /// The engine, if an index is served.
    pub fn engine(&self) -> Option<Arc<dyn Engine>> {
        match &**self.current.load() {
            Current::Index(CurrentIndex { engine, .. }) => Some(Arc::clone(engine)),
            Current::Withdrawn(_) => None,
        }
    }
}
