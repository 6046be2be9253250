//! Writes one generation, as the only replica that does.
//!
//! Every write has a version: the epoch of its writer and a growing number. So a write that arrives late, after a
//! timeout, a refusal or from a replica that was replaced, never overwrites a later one.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use trawl_engine::{Change, Checkpoint, Engine, Failure, MAX_ID_BYTES, Sink, principal_term, tenant_range};

use crate::bulk::{Bulk, BulkTarget, Operation, put};
use crate::client::{Call, RequestBody};
use crate::cluster::Cluster;
use crate::document::{document_id, removed, stored};
use crate::engine::OpenSearch;
use crate::layout::{IndexGeneration, Layout, lists};
use crate::query::term;
use crate::state::{GenerationState, replaced};

/// Writes of an epoch, which leaves 2²⁵ epochs.
const MAX_WRITES: i64 = 1 << 38;
/// Texts that are analysed at a time.
const MAX_ANALYSED_BYTES: usize = 4 << 20;
/// Documents that a removal reads at a time.
const REMOVED_AT_A_TIME: usize = 1_000;
const PURGE_INTERVAL: Duration = Duration::from_mins(10);
/// Stubs that are purged from an index at a time.
const MAX_PURGED: usize = 1_000;

/// Fills one generation of the indexes.
pub(crate) struct OpenSearchSink {
    cluster: Arc<Cluster>,
    epoch: u64,
    generation: Arc<IndexGeneration>,
    checkpoint: Option<Checkpoint>,
    note: Option<String>,
    versions: WriteVersions,
    bulk: Bulk,
    /// Indexes with changes that are not visible yet.
    changed: BTreeSet<String>,
    /// Stubs of removed documents are kept as long.
    stub_age: Duration,
    purged_at: Option<Instant>,
}

/// Versions of the writes of an epoch to one generation.
struct WriteVersions {
    epoch: u64,
    taken: i64,
}

impl WriteVersions {
    /// The next versions. Once they are used up, another opening has those of a later epoch.
    fn take(&mut self, count: usize) -> Result<Range<i64>, Failure> {
        let used_up = || Failure::Failed("the versions of an opening of OpenSearch are used up".to_owned());
        let epoch = i64::try_from(self.epoch).ok().and_then(|epoch| epoch.checked_mul(MAX_WRITES));
        let begin = epoch.and_then(|epoch| epoch.checked_add(self.taken)).ok_or_else(used_up)?;
        let count = i64::try_from(count).map_err(|_| used_up())?;
        self.taken = self.taken.saturating_add(count);
        let end = begin.checked_add(count).filter(|_| self.taken <= MAX_WRITES);
        Ok(begin..end.ok_or_else(used_up)?)
    }
}

#[async_trait]
impl Sink for OpenSearchSink {
    fn engine(&self) -> Arc<dyn Engine> {
        Arc::new(OpenSearch { cluster: Arc::clone(&self.cluster) })
    }

    fn checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref()
    }

    fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    async fn apply(&mut self, changes: Vec<Change>) -> Result<(), Failure> {
        let mut ids = changes.iter().filter_map(Change::target).map(|(_, id)| id.len());
        if let Some(bytes) = ids.find(|bytes| *bytes > MAX_ID_BYTES) {
            return Err(Failure::Failed(format!(
                "an id must have at most {MAX_ID_BYTES} bytes, not {bytes}"
            )));
        }
        let (mut single, mut bytes) = (Vec::new(), 0);
        for change in changes {
            match change {
                Change::RemoveSeenBy { scope, principal } => {
                    self.write(std::mem::take(&mut single)).await?;
                    let kind = self.cluster.layout.kind(&scope);
                    let seen = principal_term(&scope.prefix(), &principal);
                    self.remove_all(kind, scope.tenant, &term("principals", &seen)).await?;
                }
                Change::RemoveTenant { tenant } => {
                    self.write(std::mem::take(&mut single)).await?;
                    let [from, to] = tenant_range(tenant);
                    let of_tenant = json!({"range": {"scope": {"gte": from, "lt": to}}});
                    for kind in self.cluster.layout.kinds {
                        self.remove_all(kind, tenant, &of_tenant).await?;
                    }
                }
                change => {
                    if let Change::Put(document) = &change {
                        bytes += document.bytes();
                    }
                    single.push(change);
                    if bytes >= MAX_ANALYSED_BYTES {
                        bytes = 0;
                        self.write(std::mem::take(&mut single)).await?;
                    }
                }
            }
        }
        self.write(single).await?;
        self.bulk.send(&self.cluster.client).await
    }

    /// # Errors
    /// Another replica has opened the indexes since this one did.
    async fn commit(&mut self, checkpoint: &Checkpoint, note: Option<String>) -> Result<(), Failure> {
        self.refresh().await?;
        let committed = self.cluster.change_state(self.epoch, |state| {
            let generation = state.generations.get_mut(&self.generation.number).ok_or_else(replaced)?;
            (generation.checkpoint, generation.note) = (Some(checkpoint.clone()), note.clone());
            Ok(())
        });
        committed.await?;
        (self.checkpoint, self.note) = (Some(checkpoint.clone()), note);
        if self.purged_at.is_none_or(|purged_at| purged_at.elapsed() >= PURGE_INTERVAL) {
            self.purged_at = Some(Instant::now());
            if let Err(error) = self.purge().await {
                tracing::warn!(%error, "stubs of removed documents are kept in OpenSearch for now");
            }
        }
        Ok(())
    }
}

impl OpenSearchSink {
    /// Writes a generation as the leader of an epoch.
    pub(crate) fn new(
        cluster: Arc<Cluster>,
        epoch: u64,
        generation: IndexGeneration,
        state: GenerationState,
        stub_age: Duration,
    ) -> Self {
        let GenerationState { checkpoint, note, .. } = state;
        Self {
            epoch,
            // An earlier leader may have left changes of any index that are not visible yet.
            changed: cluster.layout.indexes(&generation).into_iter().collect(),
            cluster,
            generation: Arc::new(generation),
            checkpoint,
            note,
            versions: WriteVersions { epoch, taken: 0 },
            bulk: Bulk::default(),
            stub_age,
            purged_at: None,
        }
    }

    /// Analyses and writes changes of single documents.
    async fn write(&mut self, changes: Vec<Change>) -> Result<(), Failure> {
        let (cluster, generation) = (Arc::clone(&self.cluster), Arc::clone(&self.generation));
        let versions = self.versions.take(changes.len())?;
        let operations = spawn_blocking(move || {
            let operation = |(change, version)| operation(&cluster.layout, &generation, change, version);
            changes.iter().zip(versions).filter_map(operation).collect::<Vec<_>>()
        });
        let operations = operations.await.map_err(|panic| Failure::Failed(panic.to_string()))?;
        for (index, operation) in operations {
            self.bulk.add(&self.cluster.client, &operation).await?;
            self.changed.insert(index);
        }
        Ok(())
    }

    /// Removes what a query finds, also what is not visible yet.
    async fn remove_all(&mut self, kind: &'static str, tenant: i64, query: &Value) -> Result<(), Failure> {
        self.bulk.send(&self.cluster.client).await?;
        self.refresh().await?;
        let index = self.cluster.layout.index(kind, tenant, &self.generation);
        let path = format!("{index}/_search?routing={tenant}&allow_partial_search_results=false");
        let mut after = Value::Null;
        loop {
            let mut search = json!({
                "query": query, "size": REMOVED_AT_A_TIME, "track_total_hits": false, "_source": false,
                "sort": [{"display_time": "desc"}, {"id": "asc"}],
            });
            if !after.is_null() {
                search["search_after"] = after;
            }
            let mut answer = self.cluster.client.call(Call::search(&path, RequestBody::Json(search))).await?;
            let Value::Array(found) = answer["hits"]["hits"].take() else { return Ok(()) };
            let Some(last) = found.last() else { return Ok(()) };
            after = last["sort"].clone();
            for (hit, version) in found.iter().zip(self.versions.take(found.len())?) {
                let id = hit["_id"].as_str().unwrap_or_default();
                let stub = put(&BulkTarget { index: &index, id, tenant }, version, &removed(now()));
                self.bulk.add(&self.cluster.client, &stub).await?;
            }
            self.changed.insert(index.clone());
            self.bulk.send(&self.cluster.client).await?;
        }
    }

    /// Makes all changes visible.
    async fn refresh(&mut self) -> Result<(), Failure> {
        for list in lists(self.changed.iter().cloned()) {
            let path = format!("{list}/_refresh");
            let answer = self.cluster.client.call(Call::write(Method::POST, &path, None)).await?;
            if answer["_shards"]["failed"] != 0 {
                return Err(Failure::Unavailable("OpenSearch could not make changes visible".to_owned()));
            }
        }
        self.changed.clear();
        Ok(())
    }

    /// Deletes old stubs, except where another version has come meanwhile.
    async fn purge(&mut self) -> Result<(), Failure> {
        let age = i64::try_from(self.stub_age.as_millis()).unwrap_or(i64::MAX);
        let search = json!({
            "query": {"range": {"removed_at": {"lte": now().saturating_sub(age)}}},
            "size": MAX_PURGED, "track_total_hits": false, "_source": false, "seq_no_primary_term": true,
        });
        for index in self.cluster.layout.indexes(&self.generation) {
            let path = format!("{index}/_search?allow_partial_search_results=false");
            let client = &self.cluster.client;
            let found = client.call(Call::search(&path, RequestBody::Json(search.clone()))).await?;
            let mut lines = Vec::new();
            for stub in found["hits"]["hits"].as_array().into_iter().flatten() {
                let deletion = json!({"delete": {
                    "_index": index, "_id": stub["_id"], "routing": stub["_routing"],
                    "if_seq_no": stub["_seq_no"], "if_primary_term": stub["_primary_term"],
                }});
                lines.extend(format!("{deletion}\n").into_bytes());
            }
            if !lines.is_empty() {
                client.call(Call::write(Method::POST, "_bulk", Some(RequestBody::Lines(lines)))).await?;
                self.changed.insert(index);
            }
        }
        Ok(())
    }
}

/// The index and the operation of a change of one document.
fn operation(
    layout: &Layout,
    generation: &IndexGeneration,
    change: &Change,
    version: i64,
) -> Option<(String, Operation)> {
    let (scope, id, body) = match change {
        Change::Put(document) => (&document.scope, &document.id, stored(document, &document.scope.prefix())),
        Change::Remove { scope, id } => (scope, id, removed(now())),
        Change::RemoveSeenBy { .. } | Change::RemoveTenant { .. } => return None,
    };
    let index = layout.index(layout.kind(scope), scope.tenant, generation);
    let id = document_id(&scope.prefix(), id);
    let operation = put(&BulkTarget { index: &index, id: &id, tenant: scope.tenant }, version, &body);
    Some((index, operation))
}

/// Epoch milliseconds.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{MAX_WRITES, WriteVersions};

    #[test]
    fn versions_grow_within_an_epoch_and_over_epochs() {
        let mut versions = WriteVersions { epoch: 7, taken: 0 };
        let first = versions.take(2).unwrap();
        let second = versions.take(1).unwrap();
        assert_eq!((first.end - first.start, first.end), (2, second.start));
        let next = WriteVersions { epoch: 8, taken: 0 }.take(1).unwrap();
        versions.taken = MAX_WRITES - 1;
        assert_eq!(versions.take(1).unwrap().end, next.start);
        assert!(versions.take(1).is_err());
        assert!(WriteVersions { epoch: 1 << 25, taken: 0 }.take(1).is_err());
    }
}
