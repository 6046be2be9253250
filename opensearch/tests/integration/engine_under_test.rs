//! The engine over OpenSearch, for the suite of all engines.
//!
//! `TRAWL_TEST_OPENSEARCH` has to be the address of a node. `./tests/run` starts one where Maven and a JDK are at hand.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;

use proptest::test_runner::Config;
use tokio::runtime::Runtime;
use trawl_engine::correction::UnknownWords;
use trawl_engine::{
    Change, Checkpoint, Engine, FacetFields, Failure, FieldCounts, Hit, HitPage, Request, Scope, Sink, View,
};
use trawl_opensearch::{Client, Credentials, Layout, OpenSearch, OpenSearchIndexes};
use url::Url;

use crate::replica::Leader;

/// Whether small searches need no thread.
pub(crate) const ANSWERS_AT_ONCE: bool = false;
/// OpenSearch shows what was refreshed last.
pub(crate) const KEEPS_SNAPSHOTS: bool = false;
/// The removal of a tenant or a viewer shows the changes before it.
pub(crate) const SHOWS_COMMITS_ONLY: bool = false;

/// An index of the embedded engine takes a millisecond, one of OpenSearch a few hundred.
const FEWER_CASES: u32 = 8;
/// Id of the database.
pub(crate) const STORE: &str = "store";

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static NODE: LazyLock<Url> = LazyLock::new(|| run_apart(crate::node::node()).unwrap());
static INDEXES: AtomicU32 = AtomicU32::new(0);

/// Deletes the indexes with the last handle.
pub(crate) struct Handle {
    engine: OpenSearch,
}

#[derive(Clone)]
pub(crate) struct Index(Arc<Handle>);

#[derive(Clone)]
pub(crate) struct Snapshot(Arc<Handle>, Arc<dyn View>);

pub(crate) struct Writer {
    _handle: Arc<Handle>,
    /// A fresh index beside the other takes its place at the commit.
    leader: Leader,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let deleted = run_apart(OpenSearchIndexes::new(self.engine.clone()).delete());
        if !thread::panicking() {
            deleted.unwrap();
        }
    }
}

/// The address of a node that answers.
pub(crate) fn node() -> Url {
    Url::clone(&NODE)
}

pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    RUNTIME.block_on(work)
}

/// Runs work also where a runtime's thread waits for it.
pub(crate) fn run_apart<T: Send>(work: impl Future<Output = T> + Send) -> T {
    thread::scope(|scope| scope.spawn(|| run(work)).join().unwrap())
}

/// A layout with a prefix of its own.
pub(crate) fn layout() -> Layout {
    Layout {
        index_prefix: format!("test-{}-{}", process::id(), INDEXES.fetch_add(1, Ordering::Relaxed)),
        kinds: &["article", "contents"],
        kind_of: |module| if module == "article" { "article" } else { "contents" },
        shards: 1,
        replicas: 0,
    }
}

impl Handle {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self { engine: engine(vec![node()], layout) }
    }
}

/// The indexes of a layout, as a replica sees them that knows these nodes.
pub(crate) fn engine(nodes: Vec<Url>, layout: &Layout) -> OpenSearch {
    engine_of(STORE, nodes, layout)
}

pub(crate) fn engine_of(store: &str, nodes: Vec<Url>, layout: &Layout) -> OpenSearch {
    OpenSearch::new(Client::new(nodes, Credentials::None, None).unwrap(), layout.clone(), store)
}

pub(crate) fn empty_index() -> (Index, Writer) {
    let handle = Arc::new(Handle::new(&layout()));
    let mut leader = Leader::of(OpenSearchIndexes::new(handle.engine.clone()));
    run(leader.open()).unwrap();
    let writer = Writer { _handle: Arc::clone(&handle), leader };
    (Index(handle), writer)
}

pub(crate) fn cases(cases: u32) -> Config {
    trawl_seeds::cases(cases.div_ceil(FEWER_CASES))
}

impl Index {
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot(Arc::clone(&self.0), self.0.engine.view())
    }
}

impl Snapshot {
    pub(crate) fn search(&self, request: &Request) -> Result<HitPage, Failure> {
        run(self.1.search(&Arc::new(request.clone())))
    }

    pub(crate) fn search_at_once(&self, request: &Request) -> Result<Option<HitPage>, Failure> {
        self.1.search_at_once(request)
    }

    pub(crate) fn newest(&self, requests: &[Request]) -> Result<Vec<Vec<Hit>>, Failure> {
        run(self.1.newest(&requests.into()))
    }

    pub(crate) fn count_fields(
        &self,
        requests: &[Request],
        fields: FacetFields,
    ) -> Result<FieldCounts, Failure> {
        run(self.1.count_fields(&requests.into(), fields))
    }

    pub(crate) fn unknown_words(
        &self,
        scopes: &[Arc<Scope>],
        principals: &Arc<[String]>,
        keyword: &str,
    ) -> Result<UnknownWords, Failure> {
        run(self.1.unknown_words(&scopes.into(), principals, keyword))
    }

    pub(crate) fn documents(&self) -> u64 {
        run(self.0.engine.documents()).unwrap()
    }
}

impl Writer {
    pub(crate) fn apply(&mut self, changes: Vec<Change>) -> Result<(), Failure> {
        run(self.sink().apply(changes))
    }

    pub(crate) fn commit(&mut self, checkpoint: &Checkpoint) -> Result<(), Failure> {
        run(async {
            self.sink().commit(checkpoint, None).await?;
            if self.leader.beside.is_some() {
                self.leader.swap().await?;
                self.leader.open().await?;
            }
            Ok(())
        })
    }

    pub(crate) fn clear(&mut self) -> Result<(), Failure> {
        run(self.leader.open_replacement())
    }

    /// Segments are OpenSearch's own affair.
    #[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "as that of the embedded engine")]
    pub(crate) fn merge_all(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn sink(&mut self) -> &mut dyn Sink {
        if self.leader.beside.is_some() { self.leader.fresh() } else { self.leader.sink() }
    }
}
