//! The engine over OpenSearch, for the suite of all engines.
//!
//! `TRAWL_TEST_OPENSEARCH` has to be the address of a node; `./tests/run` starts one where Maven and a JDK are at hand.

use std::env;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use proptest::test_runner::Config;
use tokio::runtime::Runtime;
use trawl_engine::{Change, Checkpoint, Engine, Failure, Page, Request, Scope, View};
use trawl_opensearch::{Client, Credentials, Layout, OpenSearch, OpenSearchSink};
use url::Url;

/// Whether small searches need no thread.
pub(crate) const ANSWERS_AT_ONCE: bool = false;
/// OpenSearch shows what was refreshed last.
pub(crate) const KEEPS_SNAPSHOTS: bool = false;
/// The removal of a tenant or a viewer shows the changes before it.
pub(crate) const SHOWS_COMMITS_ONLY: bool = false;

/// An index of the embedded engine takes a millisecond, one of OpenSearch a few hundred.
const FEWER_CASES: u32 = 8;

const START_SECONDS: u32 = 180;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
/// A node that answers; it may have been started a moment ago.
static NODE: LazyLock<Url> = LazyLock::new(|| {
    let node = env::var("TRAWL_TEST_OPENSEARCH").unwrap();
    let health = format!("{node}/_cluster/health?wait_for_status=yellow&timeout=60s");
    let has_started = RUNTIME.block_on(async {
        for _ in 0..START_SECONDS {
            let answer = reqwest::get(&health).await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return true;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        false
    });
    assert!(has_started, "{node} did not start within {START_SECONDS} s");
    node.parse().unwrap()
});
static INDEXES: AtomicU32 = AtomicU32::new(0);

/// Deletes the index with the last handle.
struct Handle {
    engine: OpenSearch,
}

#[derive(Clone)]
pub(crate) struct Index(Arc<Handle>);

#[derive(Clone)]
pub(crate) struct Snapshot(Arc<Handle>, Arc<dyn View>);

pub(crate) struct Writer {
    _handle: Arc<Handle>,
    sink: OpenSearchSink,
    /// Whether the sink takes the place of another at the commit.
    is_beside: bool,
    position: i64,
}

impl Drop for Handle {
    fn drop(&mut self) {
        RUNTIME
            .block_on(async { OpenSearchSink::open(self.engine.clone()).await.unwrap().delete().await })
            .unwrap();
    }
}

pub(crate) fn empty_index() -> (Index, Writer) {
    let node = Url::clone(&NODE);
    let layout = Layout {
        index_prefix: format!("test-{}-{}", process::id(), INDEXES.fetch_add(1, Ordering::Relaxed)),
        kinds: &["article", "contents"],
        kind_of: |module| if module == "article" { "article" } else { "contents" },
        shards: 1,
        replicas: 0,
    };
    let client = Client::new(vec![node], Credentials::None, None).unwrap();
    let engine = OpenSearch::new(client, layout);
    let sink = RUNTIME.block_on(OpenSearchSink::open(engine.clone())).unwrap();
    let handle = Arc::new(Handle { engine });
    (Index(Arc::clone(&handle)), Writer { _handle: handle, sink, is_beside: false, position: 1 })
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
    pub(crate) fn search(&self, request: &Request) -> Result<Page, Failure> {
        RUNTIME.block_on(self.1.search(&Arc::new(request.clone())))
    }

    pub(crate) fn search_at_once(&self, request: &Request) -> Result<Option<Page>, Failure> {
        self.1.search_at_once(request)
    }

    pub(crate) fn correct(
        &self,
        scope: &Arc<Scope>,
        principals: &Arc<[String]>,
        keyword: &str,
    ) -> Result<Option<String>, Failure> {
        RUNTIME.block_on(self.1.correct(scope, principals, keyword))
    }

    pub(crate) fn documents(&self) -> u64 {
        RUNTIME.block_on(self.0.engine.documents()).unwrap()
    }
}

impl Writer {
    pub(crate) fn apply(&mut self, changes: Vec<Change>) -> Result<(), Failure> {
        RUNTIME.block_on(self.sink.apply(changes, self.position))
    }

    pub(crate) fn commit(&mut self, checkpoint: &Checkpoint) -> Result<(), Failure> {
        self.position += 1;
        RUNTIME.block_on(self.sink.commit(checkpoint, None))?;
        if std::mem::take(&mut self.is_beside) {
            RUNTIME.block_on(self.sink.take_place())?;
        }
        Ok(())
    }

    pub(crate) fn clear(&mut self) -> Result<(), Failure> {
        self.sink = RUNTIME.block_on(self.sink.beside())?;
        self.is_beside = true;
        Ok(())
    }

    /// Segments are OpenSearch's own affair.
    #[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "as that of the embedded engine")]
    pub(crate) fn merge_all(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}
