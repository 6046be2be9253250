//! Both engines over the same documents.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use trawl_engine::{Change, Checkpoint, Document, Engine, Indexes, View};
use trawl_index::{EmbeddedEngine, Index, Options};
use trawl_opensearch::{Client, Credentials, Layout, OpenSearch, OpenSearchIndexes};

use crate::node::node;

const DOCUMENTS_AT_A_TIME: usize = 2_000;
pub(crate) const STORE: &str = "texts";

static INDEXES: AtomicU32 = AtomicU32::new(0);

/// Deletes the indexes of OpenSearch when dropped.
pub(crate) struct Engines {
    pub(crate) embedded: Arc<dyn Engine>,
    pub(crate) opensearch: OpenSearch,
    pub(crate) layout: Layout,
    pub(crate) loading: Loading,
    runtime: Arc<Runtime>,
}

/// Time that each engine took for the documents.
#[derive(Debug, Default)]
pub(crate) struct Loading {
    pub(crate) embedded: Duration,
    pub(crate) opensearch: Duration,
}

impl Engines {
    /// Loads the documents into a fresh index of each engine; `None` without a node of OpenSearch.
    pub(crate) fn load(runtime: &Arc<Runtime>, documents: &[Document]) -> Option<Self> {
        let Some(node) = runtime.block_on(node()) else {
            println!("skipped: TRAWL_TEST_OPENSEARCH names no node");
            return None;
        };
        let (index, mut writer) = Index::in_memory(&Options::default()).unwrap();
        let layout = layout();
        let client = Client::new(vec![node], Credentials::None, None).unwrap();
        let opensearch = OpenSearch::new(client, layout.clone(), STORE);
        let mut indexes = OpenSearchIndexes::new(opensearch.clone());
        let mut sink = runtime.block_on(indexes.open()).unwrap().sink;
        let mut loading = Loading::default();
        for (position, batch) in (1..).zip(documents.chunks(DOCUMENTS_AT_A_TIME)) {
            let changes: Vec<Change> = batch.iter().cloned().map(Change::Put).collect();
            let checkpoint = Checkpoint { store: STORE.to_owned(), position, complete: true };
            let started = Instant::now();
            writer.apply(changes.clone()).unwrap();
            writer.commit(&checkpoint).unwrap();
            loading.embedded += started.elapsed();
            let started = Instant::now();
            runtime.block_on(sink.apply(changes)).unwrap();
            runtime.block_on(sink.commit(&checkpoint, None)).unwrap();
            loading.opensearch += started.elapsed();
        }
        writer.close().unwrap();
        let (embedded, runtime) = (Arc::new(EmbeddedEngine::from(index)), Arc::clone(runtime));
        Some(Self { embedded, opensearch, layout, loading, runtime })
    }

    pub(crate) fn views(&self) -> [Arc<dyn View>; 2] {
        [self.embedded.view(), self.opensearch.view()]
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        let indexes = OpenSearchIndexes::new(self.opensearch.clone());
        let deleted = self.runtime.block_on(indexes.delete());
        // A failed test says why by itself.
        if !std::thread::panicking() {
            deleted.unwrap();
        }
    }
}

/// Modules of one kind differ much in their texts.
fn layout() -> Layout {
    Layout {
        index_prefix: format!("texts-{}-{}", process::id(), INDEXES.fetch_add(1, Ordering::Relaxed)),
        kinds: &["article", "feed", "file"],
        kind_of: |module| match module {
            "article" | "news" => "article",
            "feed" | "comments" => "feed",
            _ => "file",
        },
        shards: 1,
        replicas: 0,
    }
}
