//! What built-in sources are searched in: the index that is served now, and what it may lack.
//!
//! The indexer says what is served; searches look, and report a place that they could not read.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use arc_swap::ArcSwapOption;
use tokio::sync::watch;
use trawl_index::{Index, Snapshot};

/// Why an answer of the index may lack something.
#[derive(Clone, Debug)]
pub enum Lack {
    /// It is being filled; what is there is found.
    Filling(Arc<Filled>),
    /// What was changed last is not in it, and will not be in a moment.
    Behind,
}

/// How far an index that is being filled is.
#[derive(Debug, Default)]
pub struct Filled {
    done: AtomicU64,
    known: u64,
}

impl Filled {
    /// `done` of the `known` items are there.
    pub fn new(done: u64, known: u64) -> Self {
        Self { done: AtomicU64::new(done), known }
    }

    /// So many more items are there.
    pub fn add(&self, items: usize) {
        self.done.fetch_add(items as u64, Ordering::Relaxed);
    }

    /// Items that are there.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Items that there were when the filling began.
    pub fn known(&self) -> u64 {
        self.known
    }
}

impl Lack {
    /// What those who search are told.
    fn message(&self) -> String {
        match self {
            Self::Filling(filled) => {
                format!(
                    "the index is being rebuilt; {} of {} items are there",
                    filled.done().min(filled.known()),
                    filled.known()
                )
            }
            Self::Behind => {
                "the index is behind: what was changed last may be missing or shown as it was".to_owned()
            }
        }
    }
}

/// The index that is served, if there is one.
pub struct Served {
    now: ArcSwapOption<Serving>,
    /// The number of the last index that could not be read somewhere.
    unreadable: watch::Sender<u64>,
}

struct Serving {
    /// Tells this index from those that were served before it.
    number: u64,
    index: Index,
    lack: Option<Lack>,
}

/// What one search sees.
pub(super) struct View {
    pub(super) snapshot: Snapshot,
    /// What the answer may lack.
    pub(super) lacking: Option<String>,
    number: u64,
}

impl Default for Served {
    fn default() -> Self {
        Self { now: ArcSwapOption::empty(), unreadable: watch::Sender::new(0) }
    }
}

impl Served {
    /// An index that lacks nothing.
    pub fn of(index: Index) -> Self {
        let served = Self::default();
        served.serve(0, index, None);
        served
    }

    /// Serves this index from now on. The number tells it from others; it is the same for one that was opened again.
    pub fn serve(&self, number: u64, index: Index, lack: Option<Lack>) {
        self.now.store(Some(Arc::new(Serving { number, index, lack })));
    }

    /// Says from now on that the index lacks this, or nothing.
    pub fn tell(&self, lack: Option<&Lack>) {
        self.now.rcu(|now| {
            let Serving { number, index, .. } = &**now.as_ref()?;
            Some(Arc::new(Serving { number: *number, index: index.clone(), lack: lack.cloned() }))
        });
    }

    /// Serves nothing until there is another one.
    pub fn withdraw(&self) {
        self.now.store(None);
    }

    /// The numbers of indexes that could not be read somewhere.
    pub fn unreadable(&self) -> watch::Receiver<u64> {
        self.unreadable.subscribe()
    }

    /// What a search sees now; nothing while there is no index.
    pub(super) fn view(&self) -> Option<View> {
        // What it lacks is taken along with it: one that lacks something may be whole by the time that it is searched, never
        // the other way round.
        let now = self.now.load_full()?;
        let lacking = now.lack.as_ref().map(Lack::message);
        Some(View { snapshot: now.index.snapshot(), lacking, number: now.number })
    }

    /// The documents in it, over all tenants; none while there is no index.
    pub fn documents(&self) -> u64 {
        self.now.load().as_ref().map_or(0, |now| now.index.snapshot().documents())
    }

    /// What is served now, and what it lacks.
    #[cfg(test)]
    pub(crate) fn now(&self) -> Option<(Index, Option<String>)> {
        let now = self.now.load_full()?;
        Some((now.index.clone(), now.lack.as_ref().map(Lack::message)))
    }

    /// Has the index of this number be verified, as it could not be read somewhere.
    pub fn report(&self, number: u64) {
        self.unreadable.send_replace(number);
    }
}

impl View {
    /// The number of the index, to report it by.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}
