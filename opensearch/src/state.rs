//! The state of the indexes, a document that all replicas read and their leader writes.
//!
//! Every write is a compare-and-swap by the document's sequence number. The state alone says which generation is searched,
//! so that one write has another searched, together with its list of large tenants.
//!
//! # A leader that was replaced
//!
//! A replica may be stopped at any point, be replaced as leader, and go on. Nothing that it does then changes what is found:
//!
//! - A leader begins by raising `epoch`. Later writes of the state by an earlier leader fail: its commits, its exchanges, and
//!   its generation numbers.
//! - A number is given to one generation of one leader, and only that leader has it searched, by a write of the state. So
//!   searches never move to an older generation, nor to one that a later leader has not finished.
//! - A leader deletes only numbers up to the last one that was given when it raised `epoch`, or up to its own new one, and
//!   spares the one that is searched then. Generations of later leaders have higher numbers, and lower ones cannot come to
//!   be searched again.
//! - Versions of documents begin with the epoch, so what a later leader has written stays. An earlier one writes only what
//!   has changed since the checkpoint that the later one began with, so the later one writes it as well.
//! - A bulk creates no index (see [`layout`](crate::layout)). An index that an earlier leader creates late is never searched,
//!   and is removed by the next opening.

use std::collections::BTreeMap;
use std::sync::Arc;

use reqwest::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trawl_engine::{Checkpoint, Failure};

use crate::client::{Body, Call, SHARD_TIMEOUT, overloaded};
use crate::engine::OpenSearch;
use crate::layout::Generation;

/// Tries of a write of the state, each after another replica's.
const MAX_TRIES: u32 = 20;

/// Why indexes of another database are neither searched nor written.
const FOREIGN: &str = "the indexes belong to another database; choose another engine.opensearch.index_prefix, or have \
                       a rebuild take them over";

/// To be raised when documents are stored or analysed in another way.
pub(crate) const DOCUMENT_VERSION: u32 = 5;

/// The document.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct State {
    /// Id of the database whose rows fill the indexes.
    pub(crate) store: String,
    /// Grows with each leader.
    pub(crate) epoch: u64,
    pub(crate) last_generation: u64,
    /// The generation that is searched; `None` before the first.
    pub(crate) served: Option<u64>,
    /// The one that is searched and, during a rebuild, the one beside it.
    pub(crate) generations: BTreeMap<u64, GenerationState>,
    #[serde(default)]
    pub(crate) rebuild_wanted: bool,
}

/// The last commit of a generation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct GenerationState {
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) note: Option<String>,
    pub(crate) own_tenants: Vec<i64>,
    /// Of the documents; see [`DOCUMENT_VERSION`].
    #[serde(default)]
    pub(crate) document_version: u32,
}

/// The state as last read or written.
#[derive(Debug)]
pub(crate) struct KnownState {
    pub(crate) state: State,
    pub(crate) revision: Revision,
    served: Option<Generation>,
}

/// Identifies a write of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Revision {
    number: u64,
    term: u64,
}

/// How far the indexes are filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedProgress {
    /// Of the generation that is searched; `None` before there is one.
    pub served: Option<GenerationProgress>,
    /// Of a rebuild.
    pub beside: Option<GenerationProgress>,
    /// Whether a replica has asked for a rebuild that has not begun.
    pub rebuild_wanted: bool,
}

/// The last commit of a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenerationProgress {
    /// Later generations have higher numbers.
    pub number: u64,
    /// `None` before the first commit.
    pub checkpoint: Option<Checkpoint>,
    /// As committed.
    pub note: Option<String>,
}

impl State {
    /// Gives the next number to an empty generation.
    pub(crate) fn add_generation(&mut self, own_tenants: Vec<i64>) -> Generation {
        self.last_generation += 1;
        let added = GenerationState {
            own_tenants: own_tenants.clone(),
            document_version: DOCUMENT_VERSION,
            ..GenerationState::default()
        };
        self.generations.insert(self.last_generation, added);
        Generation { number: self.last_generation, own_tenants }
    }

    /// Has a generation searched, and forgets all others.
    pub(crate) fn serve(&mut self, number: u64) {
        self.served = Some(number);
        self.generations.retain(|other, _| *other == number);
    }

    fn served(&self) -> Option<Generation> {
        let number = self.served?;
        let GenerationState { own_tenants, .. } = self.generations.get(&number)?;
        Some(Generation { number, own_tenants: own_tenants.clone() })
    }

    fn progress(&self) -> SharedProgress {
        let progress = |(number, generation): (&u64, &GenerationState)| GenerationProgress {
            number: *number,
            checkpoint: generation.checkpoint.clone(),
            note: generation.note.clone(),
        };
        let mut beside = self.generations.iter().filter(|(number, _)| Some(**number) != self.served);
        SharedProgress {
            served: self.served.and_then(|number| self.generations.get_key_value(&number)).map(progress),
            beside: beside.next_back().map(progress),
            rebuild_wanted: self.rebuild_wanted,
        }
    }
}

impl KnownState {
    fn new(state: State, answer: &Value) -> Result<Self, Failure> {
        let revision = (answer["_seq_no"].as_u64(), answer["_primary_term"].as_u64());
        let (Some(number), Some(term)) = revision else {
            return Err(Failure::Failed("OpenSearch answered a state without its revision".to_owned()));
        };
        Ok(Self { served: state.served(), state, revision: Revision { number, term } })
    }

    /// The searched generation of a database.
    ///
    /// # Errors
    /// There is none yet, or another database has filled it.
    pub(crate) fn served_for(&self, store: &str) -> Result<&Generation, Failure> {
        self.check_store(store)?;
        self.served.as_ref().ok_or_else(not_filled)
    }

    pub(crate) fn check_store(&self, store: &str) -> Result<(), Failure> {
        if self.state.store == store { Ok(()) } else { Err(Failure::Foreign(FOREIGN.to_owned())) }
    }
}

impl OpenSearch {
    /// Reads how far the indexes are filled; `None` where they were never written.
    ///
    /// Searches go to the generation that the last call found, and cached pages are stale when it found a commit.
    ///
    /// # Errors
    /// OpenSearch cannot answer, or another database has filled the indexes.
    pub async fn progress(&self) -> Result<Option<SharedProgress>, Failure> {
        let Some(known) = self.read_state().await? else { return Ok(None) };
        known.check_store(self.store())?;
        Ok(Some(known.state.progress()))
    }

    /// Has the leader begin a rebuild.
    ///
    /// # Errors
    /// OpenSearch cannot answer, or the indexes were never written, or by another database.
    pub async fn want_rebuild(&self) -> Result<(), Failure> {
        for _ in 0..MAX_TRIES {
            let known = self.read_state().await?;
            let known = known.ok_or_else(not_filled)?;
            known.check_store(self.store())?;
            if known.state.rebuild_wanted {
                return Ok(());
            }
            let state = State { rebuild_wanted: true, ..known.state.clone() };
            if self.write_state(state, Some(known.revision)).await? {
                return Ok(());
            }
        }
        Err(overloaded())
    }

    /// Reads the state; `None` if there is none.
    pub(crate) async fn read_state(&self) -> Result<Option<Arc<KnownState>>, Failure> {
        let path = format!("{}/_doc/state", self.layout().state());
        let answer = self.client().send(Call::get(&path)).await?;
        if answer.status == StatusCode::NOT_FOUND {
            self.learn(None);
            return Ok(None);
        }
        let mut body = answer.success()?;
        let state = serde_json::from_value(body["_source"].take())
            .map_err(|error| Failure::Failed(format!("the state of the indexes cannot be read: {error}")))?;
        let known = Arc::new(KnownState::new(state, &body)?);
        self.learn(Some(Arc::clone(&known)));
        Ok(Some(known))
    }

    /// Writes the state, unless it is no longer at the revision; `None` creates it.
    pub(crate) async fn write_state(
        &self,
        state: State,
        revision: Option<Revision>,
    ) -> Result<bool, Failure> {
        let parameters = match revision {
            Some(Revision { number, term }) => format!("if_seq_no={number}&if_primary_term={term}"),
            None => "op_type=create".to_owned(),
        };
        let path = format!("{}/_doc/state?{parameters}&{SHARD_TIMEOUT}", self.layout().state());
        let body = serde_json::to_value(&state).map_err(|error| Failure::Failed(error.to_string()))?;
        let answer = self.client().send(Call::write(Method::PUT, &path, Some(Body::Json(body)))).await?;
        if answer.status == StatusCode::CONFLICT {
            return Ok(false);
        }
        let known = KnownState::new(state, &answer.success()?)?;
        self.learn(Some(Arc::new(known)));
        Ok(true)
    }

    /// Changes the state as the leader of an epoch. The change may run again, on a later state.
    ///
    /// # Errors
    /// A later leader has raised the epoch.
    pub(crate) async fn change_state<T>(
        &self,
        epoch: u64,
        change: impl Fn(&mut State) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let is_own = |known: &Arc<KnownState>| known.state.epoch == epoch;
        let mut known = self.known().filter(is_own);
        for _ in 0..MAX_TRIES {
            let current = match known.take() {
                Some(known) => known,
                // Another replica wants a rebuild, or an earlier try has succeeded without an answer.
                None => self.read_state().await?.filter(is_own).ok_or_else(replaced)?,
            };
            let mut state = current.state.clone();
            let changed = change(&mut state)?;
            if self.write_state(state, Some(current.revision)).await? {
                return Ok(changed);
            }
        }
        Err(overloaded())
    }
}

pub(crate) fn not_filled() -> Failure {
    Failure::Unavailable("the index is not filled yet".to_owned())
}

/// The failure of a leader that another replica has replaced.
pub(crate) fn replaced() -> Failure {
    Failure::Failed("another replica writes the index".to_owned())
}
