use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use serde_json::json;
use trawl_engine::{Engine, Failure, View};

use crate::client::{Body, Call, Client};
use crate::layout::Layout;
use crate::view::OpenSearchView;

/// Unique in the process.
static GENERATIONS: AtomicU64 = AtomicU64::new(1);

/// Searches the indexes of a cluster.
#[derive(Clone)]
pub struct OpenSearch {
    client: Arc<Client>,
    layout: Arc<Layout>,
    generation: Arc<AtomicU64>,
}

impl OpenSearch {
    /// Reads and writes nothing yet.
    pub fn new(client: Client, layout: Layout) -> Self {
        let engine = Self { client: Arc::new(client), layout: Arc::new(layout), generation: Arc::default() };
        engine.note_commit();
        engine
    }

    /// To be called when a commit of this or another replica is visible.
    pub fn note_commit(&self) {
        self.generation.store(GENERATIONS.fetch_add(1, Ordering::Relaxed), Ordering::Release);
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }
}

#[async_trait]
impl Engine for OpenSearch {
    fn view(&self) -> Arc<dyn View> {
        Arc::new(OpenSearchView {
            client: Arc::clone(&self.client),
            layout: Arc::clone(&self.layout),
            generation: self.generation.load(Ordering::Acquire),
        })
    }

    async fn documents(&self) -> Result<u64, Failure> {
        let path = format!("{}/_count", self.layout.aliases());
        let live = json!({"query": {"bool": {"must_not": {"exists": {"field": "removed_at"}}}}});
        let answer = self.client.call(Call::search(&path, Body::Json(live))).await?;
        let is_whole = answer["_shards"]["failed"] == 0;
        let count = answer["count"].as_u64().filter(|_| is_whole);
        count.ok_or_else(|| Failure::Unavailable("OpenSearch could not count its documents".to_owned()))
    }
}
