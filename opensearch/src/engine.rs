//! The indexes as the engine of searches.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use trawl_engine::{Engine, Failure, Health, View};

use crate::client::{Call, Client, RequestBody, overloaded, unreachable};
use crate::cluster::{Cluster, MAX_TRIES};
use crate::health::MissingParts;
use crate::layout::{Layout, lists};
use crate::state::{SharedProgress, State, not_filled};
use crate::view::OpenSearchView;

const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// Searches the indexes of a cluster.
#[derive(Clone)]
pub struct OpenSearch {
    pub(crate) cluster: Arc<Cluster>,
}

impl OpenSearch {
    /// Searches what was filled from the database with this id. Reads and writes nothing yet.
    pub fn new(client: Client, layout: Layout, store: &str) -> Self {
        Self { cluster: Arc::new(Cluster::new(client, layout, store.to_owned())) }
    }

    /// Reads how far the indexes are filled; `None` where they were never written.
    ///
    /// Searches go to the generation that the last call found. If it found a commit, cached pages are stale.
    ///
    /// # Errors
    /// OpenSearch cannot answer, or another database has filled the indexes.
    pub async fn progress(&self) -> Result<Option<SharedProgress>, Failure> {
        let Some(known) = self.cluster.read_state().await? else { return Ok(None) };
        known.check_store(&self.cluster.store)?;
        Ok(Some(known.state.progress()))
    }

    /// Has the leader begin a rebuild.
    ///
    /// # Errors
    /// OpenSearch cannot answer, or the indexes were never written, or by another database.
    pub async fn want_rebuild(&self) -> Result<(), Failure> {
        for _ in 0..MAX_TRIES {
            let known = self.cluster.read_state().await?;
            let known = known.ok_or_else(not_filled)?;
            known.check_store(&self.cluster.store)?;
            if known.state.rebuild_wanted {
                return Ok(());
            }
            let state = State { rebuild_wanted: true, ..known.state.clone() };
            if self.cluster.write_state(state, Some(known.revision)).await? {
                return Ok(());
            }
        }
        Err(overloaded())
    }

    /// Lists of all indexes that are searched.
    fn served_lists(&self) -> Result<Vec<String>, Failure> {
        let known = self.cluster.known();
        let known = known.as_ref().ok_or_else(not_filled)?;
        Ok(lists(self.cluster.layout.indexes(known.served_for(&self.cluster.store)?)))
    }

    async fn read_health(&self) -> Result<Health, Failure> {
        let mut missing = MissingParts::default();
        for list in self.served_lists()? {
            // An index that is not there would be waited for.
            let path = format!("_cluster/health/{list}?level=indices&timeout=1ms");
            let answer = self.cluster.client.send(Call::get(&path)).await?;
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
        Arc::new(OpenSearchView::latest(&self.cluster))
    }

    async fn documents(&self) -> Result<u64, Failure> {
        let live = json!({"query": {"bool": {"must_not": {"exists": {"field": "removed_at"}}}}});
        let mut documents = 0;
        for list in self.served_lists()? {
            let path = format!("{list}/_count");
            let answer =
                self.cluster.client.call(Call::search(&path, RequestBody::Json(live.clone()))).await?;
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
            let answer = self.cluster.client.call(Call::get(&format!("{list}/_stats/store"))).await?;
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
