//! Writes the indexes, as the only replica that does.
//!
//! Every document carries the log position that it was read at as its version, so that an older state, or a replica that was
//! replaced, never overwrites a newer one.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trawl_engine::{Change, Checkpoint, Failure, Scope, principal_term, tenant_range};

use crate::client::{Body, Call};
use crate::document::{document_id, removed, stored};
use crate::engine::OpenSearch;
use crate::query::term;

/// Of one bulk; a longer document goes alone.
const MAX_BULK_BYTES: usize = 5 * 1_024 * 1_024;
/// Tries of documents that an overloaded cluster refused.
const MAX_TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Documents that a removal reads at a time.
const REMOVED_AT_A_TIME: usize = 1_000;

/// Fills one generation of the indexes.
pub struct OpenSearchSink {
    engine: OpenSearch,
    generation: u64,
    state: State,
    /// Version of the state document; `None` before the first.
    revision: Option<Revision>,
    bulk: Vec<u8>,
    /// Kinds with changes that are not visible yet.
    changed: BTreeSet<&'static str>,
}

/// The last commit of a generation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct State {
    checkpoint: Option<Checkpoint>,
    note: Option<String>,
}

#[derive(Debug, Clone, Copy)]
struct Revision {
    number: u64,
    term: u64,
}

impl OpenSearchSink {
    /// Opens the generation that is searched, or creates the first.
    pub async fn open(engine: OpenSearch) -> Result<Self, Failure> {
        let (client, layout) = (engine.client(), engine.layout());
        let path = format!("_alias/{}", layout.aliases());
        let answer = client.send(Call::get(&path)).await?;
        let generation = match answer.status {
            // Some aliases may be there already; the body lists them.
            StatusCode::NOT_FOUND | StatusCode::OK => {
                let indexes = answer.body.as_object().into_iter().flatten();
                indexes.filter_map(|(index, _)| layout.generation_of(index)).max()
            }
            _ => return Err(crate::client::failure(answer.status, &answer.body)),
        };
        let sink = Self::at(engine, generation.unwrap_or(1)).await?;
        sink.create_missing().await?;
        if generation.is_none() {
            sink.take_place().await?;
        }
        Ok(sink)
    }

    /// An empty generation beside this one, to be filled and then to take its place.
    pub async fn beside(&self) -> Result<Self, Failure> {
        let sink = Self::at(self.engine.clone(), self.generation + 1).await?;
        // Left by a rebuild that was interrupted.
        sink.delete_indexes(sink.generation).await?;
        let sink = Self::at(self.engine.clone(), self.generation + 1).await?;
        sink.create_missing().await?;
        Ok(sink)
    }

    /// The last commit; `None` for an empty index.
    pub fn checkpoint(&self) -> Option<&Checkpoint> {
        self.state.checkpoint.as_ref()
    }

    /// What the last commit noted.
    pub fn note(&self) -> Option<&str> {
        self.state.note.as_deref()
    }

    /// Applies changes in order; their rows were read at `position` of the log or later.
    pub async fn apply(&mut self, changes: Vec<Change>, position: i64) -> Result<(), Failure> {
        for change in changes {
            match change {
                Change::Put(document) => {
                    let prefix = document.scope.prefix();
                    let body = stored(&document, &prefix);
                    let id = document_id(&prefix, &document.id);
                    self.write(&document.scope, &id, position, &body).await?;
                }
                Change::Remove { scope, id } => {
                    let id = document_id(&scope.prefix(), &id);
                    self.write(&scope, &id, position, &removed(now())).await?;
                }
                Change::RemoveSeenBy { scope, principal } => {
                    let kind = self.kind_of(&scope);
                    let seen = principal_term(&scope.prefix(), &principal);
                    self.remove_all(kind, scope.tenant, &term("principals", &seen), position).await?;
                }
                Change::RemoveTenant { tenant } => {
                    let [from, to] = tenant_range(tenant);
                    let of_tenant = json!({"range": {"scope": {"gte": from, "lt": to}}});
                    for kind in self.engine.layout().kinds {
                        self.remove_all(kind, tenant, &of_tenant, position).await?;
                    }
                }
            }
        }
        self.flush().await
    }

    /// Makes all changes visible, then stores the checkpoint.
    ///
    /// # Errors
    /// Another replica has committed since this one opened the index.
    pub async fn commit(&mut self, checkpoint: &Checkpoint, note: Option<String>) -> Result<(), Failure> {
        self.refresh().await?;
        let state = State { checkpoint: Some(checkpoint.clone()), note };
        let parameters = match self.revision {
            Some(Revision { number, term }) => format!("if_seq_no={number}&if_primary_term={term}"),
            None => "op_type=create".to_owned(),
        };
        let path = format!("{}/_doc/g{}?{parameters}", self.engine.layout().state(), self.generation);
        let body = serde_json::to_value(&state).map_err(|error| Failure::Failed(error.to_string()))?;
        let answer =
            self.engine.client().send(Call::write(Method::PUT, &path, Some(Body::Json(body)))).await?;
        if answer.status == StatusCode::CONFLICT {
            return Err(Failure::Failed("another replica writes the index".to_owned()));
        }
        self.revision = revision(&answer.success()?);
        self.state = state;
        self.engine.note_commit();
        Ok(())
    }

    /// Has searches answered by this generation, and deletes all others.
    pub async fn take_place(&self) -> Result<(), Failure> {
        let (client, layout) = (self.engine.client(), self.engine.layout());
        let mut actions = Vec::new();
        for kind in layout.kinds {
            let alias = layout.alias(kind);
            let of_kind = format!("{alias}-g*");
            actions.push(json!({"remove": {"index": of_kind, "alias": alias, "must_exist": false}}));
            actions.push(json!({"add": {"index": layout.index(kind, self.generation), "alias": alias}}));
        }
        let body = Body::Json(json!({"actions": actions}));
        client.call(Call::write(Method::POST, "_aliases", Some(body))).await?;
        self.engine.note_commit();
        let path = format!("_alias/{}", layout.aliases());
        drop(client.send(Call::get(&path)).await?);
        for generation in self.other_generations().await? {
            self.delete_indexes(generation).await?;
        }
        Ok(())
    }

    /// Deletes all generations and their checkpoints.
    pub async fn delete(self) -> Result<(), Failure> {
        for generation in self.other_generations().await? {
            self.delete_indexes(generation).await?;
        }
        self.delete_indexes(self.generation).await?;
        self.delete_index(&self.engine.layout().state()).await
    }

    async fn at(engine: OpenSearch, generation: u64) -> Result<Self, Failure> {
        let path = format!("{}/_doc/g{generation}", engine.layout().state());
        let answer = engine.client().send(Call::get(&path)).await?;
        let (state, revision) = if answer.status == StatusCode::NOT_FOUND {
            (State::default(), None)
        } else {
            let mut body = answer.success()?;
            let state = serde_json::from_value(body["_source"].take());
            (state.map_err(|error| Failure::Failed(error.to_string()))?, revision(&body))
        };
        let (bulk, changed) = (Vec::new(), BTreeSet::new());
        Ok(Self { engine, generation, state, revision, bulk, changed })
    }

    async fn create_missing(&self) -> Result<(), Failure> {
        let layout = self.engine.layout();
        let mut indexes = vec![(layout.state(), layout.state_body())];
        for kind in layout.kinds {
            indexes.push((layout.index(kind, self.generation), layout.index_body()));
        }
        for (index, body) in indexes {
            let created = Call::write(Method::PUT, &index, Some(Body::Json(body)));
            let answer = self.engine.client().send(created).await?;
            let is_there = answer.body["error"]["type"] == "resource_already_exists_exception";
            if !is_there {
                answer.success()?;
            }
        }
        Ok(())
    }

    async fn other_generations(&self) -> Result<Vec<u64>, Failure> {
        let layout = self.engine.layout();
        let path = format!("{}-*-g*/_alias", layout.index_prefix);
        let found = self.engine.client().call(Call::get(&path)).await?;
        let generations: BTreeSet<u64> = found
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(index, _)| layout.generation_of(index))
            .filter(|generation| *generation != self.generation)
            .collect();
        Ok(generations.into_iter().collect())
    }

    async fn delete_indexes(&self, generation: u64) -> Result<(), Failure> {
        let layout = self.engine.layout();
        for kind in layout.kinds {
            self.delete_index(&layout.index(kind, generation)).await?;
        }
        let path = format!("{}/_doc/g{generation}", layout.state());
        let answer = self.engine.client().send(Call::write(Method::DELETE, &path, None)).await?;
        if answer.status == StatusCode::NOT_FOUND { Ok(()) } else { answer.success().map(drop) }
    }

    async fn delete_index(&self, index: &str) -> Result<(), Failure> {
        let answer = self.engine.client().send(Call::write(Method::DELETE, index, None)).await?;
        if answer.status == StatusCode::NOT_FOUND { Ok(()) } else { answer.success().map(drop) }
    }

    fn kind_of(&self, scope: &Scope) -> &'static str {
        (self.engine.layout().kind_of)(&scope.module)
    }

    async fn write(&mut self, scope: &Scope, id: &str, version: i64, body: &Value) -> Result<(), Failure> {
        let kind = self.kind_of(scope);
        self.write_to(kind, scope.tenant, id, version, body).await
    }

    async fn write_to(
        &mut self,
        kind: &'static str,
        tenant: i64,
        id: &str,
        version: i64,
        body: &Value,
    ) -> Result<(), Failure> {
        let action = json!({"index": {
            "_index": self.engine.layout().index(kind, self.generation),
            "_id": id,
            "routing": tenant.to_string(),
            "version": version,
            // Changes read together share a position, and the last one holds.
            "version_type": "external_gte",
        }});
        let lines = format!("{action}\n{body}\n");
        if self.bulk.len() + lines.len() > MAX_BULK_BYTES {
            self.flush().await?;
        }
        self.bulk.extend_from_slice(lines.as_bytes());
        self.changed.insert(kind);
        Ok(())
    }

    /// Removes what a query finds, also what is not visible yet.
    async fn remove_all(
        &mut self,
        kind: &'static str,
        tenant: i64,
        query: &Value,
        position: i64,
    ) -> Result<(), Failure> {
        self.flush().await?;
        self.refresh().await?;
        let index = self.engine.layout().index(kind, self.generation);
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
            let mut answer = self.engine.client().call(Call::search(&path, Body::Json(search))).await?;
            let Value::Array(found) = answer["hits"]["hits"].take() else { return Ok(()) };
            let Some(last) = found.last() else { return Ok(()) };
            after = last["sort"].clone();
            for hit in &found {
                let id = hit["_id"].as_str().unwrap_or_default();
                self.write_to(kind, tenant, id, position, &removed(now())).await?;
            }
            self.flush().await?;
        }
    }

    async fn refresh(&mut self) -> Result<(), Failure> {
        if self.changed.is_empty() {
            return Ok(());
        }
        let layout = self.engine.layout();
        let indexes: Vec<String> =
            self.changed.iter().map(|kind| layout.index(kind, self.generation)).collect();
        let path = format!("{}/_refresh", indexes.join(","));
        let answer = self.engine.client().call(Call::write(Method::POST, &path, None)).await?;
        if answer["_shards"]["failed"] != 0 {
            return Err(Failure::Unavailable("OpenSearch could not make changes visible".to_owned()));
        }
        self.changed.clear();
        Ok(())
    }

    /// Sends the bulk; one is in flight at a time.
    async fn flush(&mut self) -> Result<(), Failure> {
        let mut lines = std::mem::take(&mut self.bulk);
        let mut pause = FIRST_PAUSE;
        for _ in 0..MAX_TRIES {
            if lines.is_empty() {
                return Ok(());
            }
            let call = Call::write(Method::POST, "_bulk", Some(Body::Lines(lines.clone())));
            let answer = self.engine.client().call(call).await?;
            if answer["errors"] == false {
                return Ok(());
            }
            lines = refused(&lines, &answer)?;
            if !lines.is_empty() {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
        }
        if lines.is_empty() {
            Ok(())
        } else {
            Err(Failure::Unavailable("OpenSearch is overloaded".to_owned()))
        }
    }
}

/// The lines of a bulk that are to be sent again.
fn refused(lines: &[u8], answer: &Value) -> Result<Vec<u8>, Failure> {
    let items = answer["items"].as_array();
    let items =
        items.ok_or_else(|| Failure::Failed("OpenSearch answered a bulk without items".to_owned()))?;
    let mut lines = lines.split_inclusive(|byte| *byte == b'\n');
    let mut again = Vec::new();
    for item in items {
        let (Some(action), Some(document)) = (lines.next(), lines.next()) else { break };
        let item = &item["index"];
        match item["status"].as_u64().unwrap_or(500) {
            // A newer state is there.
            200..=299 | 409 => {}
            429 | 500..=599 => again.extend([action, document].concat()),
            status => {
                let reason = item["error"]["reason"].as_str().unwrap_or("no reason is given");
                let (index, id) = (item["_index"].as_str(), item["_id"].as_str());
                tracing::error!(
                    index,
                    id,
                    status,
                    reason,
                    "OpenSearch refused a document; it cannot be found"
                );
            }
        }
    }
    Ok(again)
}

fn revision(answer: &Value) -> Option<Revision> {
    Some(Revision { number: answer["_seq_no"].as_u64()?, term: answer["_primary_term"].as_u64()? })
}

/// Epoch milliseconds.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
