//! The indexes of a cluster, as the replica that leads them sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use trawl_engine::{BesideIndexes, Failure, Indexes, OpenedIndex, Sink};

use crate::client::{Call, RequestBody, SHARD_TIMEOUT, overloaded};
use crate::cluster::{Cluster, MAX_TRIES};
use crate::engine::OpenSearch;
use crate::layout::{IndexGeneration, lists, writing_alias};
use crate::sink::OpenSearchSink;
use crate::state::{DOCUMENT_VERSION, GenerationState, State, replaced};

/// A leader that was replaced may write late, but not by more than this.
const STUB_AGE: Duration = Duration::from_hours(24);

/// Opens, fills and swaps the indexes of a cluster, as their leader.
///
/// Opening them ends what an earlier leader does: its commits fail.
pub struct OpenSearchIndexes {
    cluster: Arc<Cluster>,
    own_tenants: Vec<i64>,
    stub_age: Duration,
    /// Epoch of the last opening.
    epoch: u64,
    /// The generation beside the searched one.
    fresh: Option<u64>,
}

/// Indexes of another database.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Foreign {
    Refused,
    TakenOver,
}

/// The state and the indexes as a leader finds them.
struct FoundState {
    state: State,
    indexes: FoundIndexes,
    was_rebuilding: bool,
    /// Whether there were indexes without a state.
    lacked_state: bool,
}

/// Numbers of generations by index.
struct FoundIndexes {
    numbers: BTreeMap<String, u64>,
    /// Indexes that a leader has created, and not a late bulk.
    writable: BTreeSet<String>,
}

impl OpenSearchIndexes {
    /// Reads and writes nothing yet.
    pub fn new(engine: OpenSearch) -> Self {
        Self { cluster: engine.cluster, own_tenants: Vec::new(), stub_age: STUB_AGE, epoch: 0, fresh: None }
    }

    /// Gives tenants indexes of their own, in generations to come.
    pub fn set_own_tenants(&mut self, tenants: impl IntoIterator<Item = i64>) {
        self.own_tenants = BTreeSet::from_iter(tenants).into_iter().collect();
    }

    /// Keeps stubs of removed documents for another time than a day.
    #[must_use]
    pub fn with_stub_age(self, stub_age: Duration) -> Self {
        Self { stub_age, ..self }
    }

    /// Deletes all indexes and the state.
    ///
    /// # Errors
    /// OpenSearch cannot answer.
    pub async fn delete(mut self) -> Result<(), Failure> {
        let FoundState { indexes, .. } = self.lead(Foreign::TakenOver).await?;
        self.delete_indexes(indexes.numbers.into_keys()).await?;
        self.delete_indexes([self.cluster.layout.state()]).await?;
        self.cluster.learn(None);
        Ok(())
    }

    /// Ends the work of earlier leaders, and tells what there is.
    async fn lead(&mut self, foreign: Foreign) -> Result<FoundState, Failure> {
        (self.epoch, self.fresh) = (0, None);
        let (mut was_rebuilding, mut lacked_state) = (false, false);
        for _ in 0..MAX_TRIES {
            let known = self.cluster.read_state().await?;
            let (mut state, revision) = if let Some(known) = &known {
                (known.state.clone(), Some(known.revision))
            } else {
                let found = self.find().await?;
                lacked_state = !found.numbers.is_empty();
                self.create(&self.cluster.layout.state(), self.cluster.layout.state_body()).await?;
                let last_generation = found.numbers.into_values().max().unwrap_or(0);
                (State { last_generation, ..State::default() }, None)
            };
            if let Some(Err(foreign_state)) = known.map(|known| known.check_store(&self.cluster.store)) {
                if foreign == Foreign::Refused {
                    return Err(foreign_state);
                }
                // Nothing of it is ever searched as this database's.
                state.served = None;
                state.generations.clear();
            }
            state.epoch += 1;
            self.cluster.store.clone_into(&mut state.store);
            if let Some(served) = state.served {
                was_rebuilding |= state.generations.len() > 1;
                state.serve(served);
            }
            if self.cluster.write_state(state.clone(), revision).await? {
                self.epoch = state.epoch;
                let indexes = self.find().await?;
                return Ok(FoundState { state, indexes, was_rebuilding, lacked_state });
            }
        }
        Err(overloaded())
    }

    /// Has an empty generation searched, and removes all others.
    async fn start_anew(&mut self) -> Result<Box<dyn Sink>, Failure> {
        let added = self.cluster.change_state(self.epoch, |state| {
            state.generations.clear();
            (state.served, state.rebuild_wanted) = (None, false);
            Ok(state.add_generation(self.own_tenants.clone()))
        });
        let generation = added.await?;
        self.create_indexes(&generation).await?;
        self.serve(generation.number).await?;
        Ok(self.sink(generation, GenerationState::default()))
    }

    /// Has a generation of this leader searched, and removes all others up to it.
    async fn serve(&self, number: u64) -> Result<(), Failure> {
        let served = self.cluster.change_state(self.epoch, |state| {
            if !state.generations.contains_key(&number) {
                return Err(replaced());
            }
            state.serve(number);
            Ok(())
        });
        served.await?;
        match self.find().await {
            Ok(found) => self.remove_leftovers(found, number, number).await,
            Err(error) => tracing::warn!(%error, "old indexes are left in OpenSearch until the next opening"),
        }
        Ok(())
    }

    /// Removes the generations up to one, except that which is searched.
    async fn remove_leftovers(&self, found: FoundIndexes, served: u64, last: u64) {
        let leftovers = found.numbers.into_iter().filter(|(_, number)| *number <= last && *number != served);
        if let Err(error) = self.delete_indexes(leftovers.map(|(index, _)| index)).await {
            tracing::warn!(%error, "old indexes are left in OpenSearch until the next opening");
        }
    }

    fn sink(&self, generation: IndexGeneration, state: GenerationState) -> Box<dyn Sink> {
        Box::new(OpenSearchSink::new(Arc::clone(&self.cluster), self.epoch, generation, state, self.stub_age))
    }

    async fn find(&self) -> Result<FoundIndexes, Failure> {
        let layout = &self.cluster.layout;
        let path = format!("{}/_alias", layout.pattern());
        let answer = self.cluster.client.call(Call::get(&path)).await?;
        let (mut numbers, mut writable) = (BTreeMap::new(), BTreeSet::new());
        for (index, found) in answer.as_object().into_iter().flatten() {
            if let Some(number) = layout.generation_of(index) {
                numbers.insert(index.clone(), number);
                if found["aliases"].get(writing_alias(index)).is_some() {
                    writable.insert(index.clone());
                }
            }
        }
        Ok(FoundIndexes { numbers, writable })
    }

    async fn create_indexes(&self, generation: &IndexGeneration) -> Result<(), Failure> {
        for (index, body) in self.cluster.layout.creations(generation) {
            self.create(&index, body).await?;
        }
        Ok(())
    }

    /// Creates an index, unless an earlier try has.
    async fn create(&self, index: &str, body: Value) -> Result<(), Failure> {
        let path = format!("{index}?{SHARD_TIMEOUT}");
        let created = Call::write(Method::PUT, &path, Some(RequestBody::Json(body)));
        let answer = self.cluster.client.send(created).await?;
        let is_there = answer.body["error"]["type"] == "resource_already_exists_exception";
        if is_there { Ok(()) } else { answer.success().map(drop) }
    }

    async fn delete_indexes(&self, indexes: impl IntoIterator<Item = String>) -> Result<(), Failure> {
        for list in lists(indexes) {
            let path = format!("{list}?ignore_unavailable=true&{SHARD_TIMEOUT}");
            let answer = self.cluster.client.send(Call::write(Method::DELETE, &path, None)).await?;
            if answer.status != StatusCode::NOT_FOUND {
                answer.success()?;
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Indexes for OpenSearchIndexes {
    async fn open(&mut self) -> Result<OpenedIndex, Failure> {
        let FoundState { mut state, indexes, was_rebuilding, lacked_state } =
            self.lead(Foreign::Refused).await?;
        let served = state.served.and_then(|number| Some((number, state.generations.remove(&number)?)));
        let damage = match served {
            Some((number, of_served)) => {
                let generation = IndexGeneration { number, own_tenants: of_served.own_tenants.clone() };
                let all = self.cluster.layout.indexes(&generation);
                let missing = all.into_iter().find(|index| !indexes.writable.contains(index));
                let lack = missing.map(|index| format!("OpenSearch lacks the index {index}"));
                let is_other = of_served.document_version != DOCUMENT_VERSION;
                let other = || is_other.then(|| "another version of trawl has filled OpenSearch".to_owned());
                let Some(damage) = lack.or_else(other) else {
                    self.remove_leftovers(indexes, number, state.last_generation).await;
                    let sink = self.sink(generation, of_served);
                    return Ok(OpenedIndex { sink, was_rebuilding, damage: None });
                };
                Some(damage)
            }
            None => {
                lacked_state.then(|| format!("OpenSearch lacks the index {}", self.cluster.layout.state()))
            }
        };
        if let Some(damage) = &damage {
            tracing::warn!(damage, "the full-text index is replaced by an empty one");
        }
        Ok(OpenedIndex { sink: self.start_anew().await?, was_rebuilding, damage })
    }

    async fn open_wiped(&mut self) -> Result<Box<dyn Sink>, Failure> {
        self.lead(Foreign::TakenOver).await?;
        self.start_anew().await
    }

    async fn open_replacement(&mut self, searched: Box<dyn Sink>) -> Result<BesideIndexes, Failure> {
        let added = self.cluster.change_state(self.epoch, |state| {
            let served = state.served.ok_or_else(replaced)?;
            state.serve(served);
            state.rebuild_wanted = false;
            Ok(state.add_generation(self.own_tenants.clone()))
        });
        let generation = added.await?;
        self.fresh = Some(generation.number);
        self.create_indexes(&generation).await?;
        Ok(BesideIndexes { searched, fresh: self.sink(generation, GenerationState::default()) })
    }

    async fn swap(&mut self, indexes: BesideIndexes) -> Result<(), Failure> {
        drop(indexes);
        let fresh = self.fresh.take();
        self.serve(fresh.ok_or_else(|| Failure::Failed("no index is beside the searched one".to_owned()))?)
            .await
    }
}
