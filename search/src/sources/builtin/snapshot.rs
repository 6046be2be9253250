//! Index of searches, set by the indexer.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use arc_swap::ArcSwapOption;
use tokio::sync::watch;
use trawl_index::{Index, Snapshot};

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
pub struct ServedIndex {
    current: ArcSwapOption<CurrentIndex>,
    /// Number of the last unreadable index.
    unreadable: watch::Sender<u64>,
}

struct CurrentIndex {
    number: u64,
    index: Index,
    incompleteness: Option<Incompleteness>,
}

/// Index seen by one search.
pub struct IndexView {
    /// Snapshot.
    pub snapshot: Snapshot,
    /// Why items may be missing.
    pub incomplete: Option<String>,
    pub(super) number: u64,
}

impl Default for ServedIndex {
    fn default() -> Self {
        Self { current: ArcSwapOption::empty(), unreadable: watch::Sender::new(0) }
    }
}

impl ServedIndex {
    /// Serves a complete index.
    pub fn of(index: Index) -> Self {
        let served = Self::default();
        served.serve(0, index, None);
        served
    }

    /// Replaces the index. A reopened one keeps its number.
    pub fn serve(&self, number: u64, index: Index, incompleteness: Option<Incompleteness>) {
        self.current.store(Some(Arc::new(CurrentIndex { number, index, incompleteness })));
    }

    /// Marks the index as incomplete or complete.
    pub fn set_incompleteness(&self, incompleteness: Option<&Incompleteness>) {
        self.current.rcu(|current| {
            let CurrentIndex { number, index, .. } = &**current.as_ref()?;
            let (number, index) = (*number, index.clone());
            Some(Arc::new(CurrentIndex { number, index, incompleteness: incompleteness.cloned() }))
        });
    }

    /// Removes the index.
    pub fn withdraw(&self) {
        self.current.store(None);
    }

    /// Numbers of unreadable indexes.
    pub fn unreadable(&self) -> watch::Receiver<u64> {
        self.unreadable.subscribe()
    }

    /// For a search that begins now.
    pub fn view(&self) -> Option<IndexView> {
        // Read together: an incomplete index may become complete, never the reverse.
        let current = self.current.load_full()?;
        let incomplete = current.incompleteness.as_ref().map(Incompleteness::message);
        Some(IndexView { snapshot: current.index.snapshot(), incomplete, number: current.number })
    }

    /// Documents of all tenants.
    pub fn documents(&self) -> u64 {
        self.current.load().as_ref().map_or(0, |current| current.index.snapshot().documents())
    }

    /// Requests the verification of an index.
    pub fn report_unreadable(&self, number: u64) {
        self.unreadable.send_replace(number);
    }
}
