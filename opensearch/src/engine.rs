//! The indexes as the engine of searches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use tokio::sync::watch;
use trawl_engine::{Engine, Failure, Health, View, next_generation};

use crate::client::{Body, Call, Client, unreachable};
use crate::health::MissingParts;
use crate::layout::{Layout, lists};
use crate::state::{KnownState, not_filled};
use crate::view::OpenSearchView;

const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// Searches the indexes of a cluster.
#[derive(Clone)]
pub struct OpenSearch(Arc<Shared>);

struct Shared {
    client: Client,
    layout: Layout,
    /// Id of the database whose rows fill the indexes.
    store: String,
    generation: AtomicU64,
    state: watch::Sender<Option<Arc<KnownState>>>,
}

impl OpenSearch {
    /// Searches what was filled from the database with this id. Reads and writes nothing yet.
    pub fn new(client: Client, layout: Layout, store: &str) -> Self {
        let (generation, state) = (AtomicU64::new(next_generation()), watch::Sender::new(None));
        Self(Arc::new(Shared { client, layout, store: store.to_owned(), generation, state }))
    }

    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.0.layout
    }

    pub(crate) fn store(&self) -> &str {
        &self.0.store
    }

    /// The state as last read or written.
    pub(crate) fn known(&self) -> Option<Arc<KnownState>> {
        self.0.state.borrow().clone()
    }

    /// Notes the state, and that a commit is visible if it is another.
    pub(crate) fn learn(&self, state: Option<Arc<KnownState>>) {
        let revision = |state: &Option<Arc<KnownState>>| state.as_ref().map(|known| known.revision);
        let is_other = revision(&self.0.state.borrow()) != revision(&state);
        if is_other {
            self.0.state.send_replace(state);
            self.0.generation.store(next_generation(), Ordering::Release);
        }
    }

    /// The last commit, for one search.
    pub(crate) fn latest(&self) -> OpenSearchView {
        // Read first, so that a page of an earlier commit is never kept as one of a later.
        let generation = self.0.generation.load(Ordering::Acquire);
        OpenSearchView { engine: self.clone(), state: self.known(), generation }
    }

    /// Lists of all indexes that are searched.
    fn served_lists(&self) -> Result<Vec<String>, Failure> {
        let known = self.known();
        let known = known.as_ref().ok_or_else(not_filled)?;
        Ok(lists(self.layout().indexes(known.served_for(self.store())?)))
    }

    async fn read_health(&self) -> Result<Health, Failure> {
        let mut missing = MissingParts::default();
        for list in self.served_lists()? {
            // An index that is not there would be waited for.
            let path = format!("_cluster/health/{list}?level=indices&timeout=1ms");
            let answer = self.client().send(Call::get(&path)).await?;
            // That wait is answered 408, with the health.
            let is_health = answer.body["status"].is_string();
            let body = if is_health { answer.body } else { answer.success()? };
            missing.count(&body, list.split(','));
        }
        Ok(missing.health())
    }
}

#[async_trait]
impl Engine for OpenSearch {
    fn view(&self) -> Arc<dyn View> {
        Arc::new(self.latest())
    }

    async fn documents(&self) -> Result<u64, Failure> {
        let live = json!({"query": {"bool": {"must_not": {"exists": {"field": "removed_at"}}}}});
        let mut documents = 0;
        for list in self.served_lists()? {
            let path = format!("{list}/_count");
            let answer = self.client().call(Call::search(&path, Body::Json(live.clone()))).await?;
            // A shard that is away does not count as failed.
            let is_whole = answer["_shards"]["successful"] == answer["_shards"]["total"];
            let count = answer["count"].as_u64().filter(|_| is_whole);
            documents += count
                .ok_or_else(|| Failure::Unavailable("OpenSearch could not count its documents".to_owned()))?;
        }
        Ok(documents)
    }

    async fn bytes(&self) -> Result<u64, Failure> {
        let mut bytes = 0;
        for list in self.served_lists()? {
            let answer = self.client().call(Call::get(&format!("{list}/_stats/store"))).await?;
            let size = answer["_all"]["total"]["store"]["size_in_bytes"].as_u64();
            bytes +=
                size.ok_or_else(|| Failure::Failed("OpenSearch answered no size of its indexes".to_owned()))?;
        }
        Ok(bytes)
    }

    async fn health(&self) -> Health {
        let read = tokio::time::timeout(HEALTH_TIMEOUT, self.read_health()).await;
        read.unwrap_or_else(|_| Err(unreachable()))
            .unwrap_or_else(|failure| Health::Unavailable(failure.to_string()))
    }
}
