//! The state of the indexes, a document that all replicas read and their leader writes.
//!
//! Every write is a compare-and-swap by the document's sequence number. The state alone says which generation is searched,
//! so that one write has another searched, together with its list of large tenants.
//!
//! # A leader that was replaced
//!
//! A replica may be stopped at any point, be replaced as leader, and go on. Nothing that it does then changes what is found:
//!
//! - A leader begins by raising `epoch`. Later writes of the state by an earlier leader fail: its commits, its swaps, and
//!   its generation numbers.
//!
//! - A number is given to one generation of one leader. Only that leader has it searched, by a write of the state. So
//!   searches never move to an older generation, nor to one that a later leader has not finished.
//!
//! - A leader deletes old numbers only. These go up to the last one given when it raised `epoch`, or up to its own new
//!   one. It spares the one that is searched then. Generations of later leaders have higher numbers, and lower ones cannot
//!   come to be searched again.
//!
//! - Versions of documents begin with the epoch, so what a later leader has written stays. An earlier one writes only what
//!   has changed since the checkpoint that the later one began with, so the later one writes it as well.
//!
//! - A bulk creates no index (see [`layout`](crate::layout)). An index that an earlier leader creates late is never searched,
//!   and is removed by the next opening.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trawl_engine::{Checkpoint, Failure};

use crate::layout::IndexGeneration;

/// Why indexes of another database are neither searched nor written.
const FOREIGN: &str = "the indexes belong to another database; choose another engine.opensearch.index_prefix, or have \
                       a rebuild take them over";

/// To be raised when documents are stored or analysed in another way.
pub(crate) const DOCUMENT_VERSION: u32 = 8;

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
    /// Version of the documents; see [`DOCUMENT_VERSION`].
    #[serde(default)]
    pub(crate) document_version: u32,
}

/// The state as last read or written.
#[derive(Debug)]
pub(crate) struct KnownState {
    pub(crate) state: State,
    pub(crate) revision: Revision,
    served: Option<IndexGeneration>,
}

/// Identifies a write of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Revision {
    pub(crate) number: u64,
    pub(crate) term: u64,
}

/// How far the indexes are filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedProgress {
    /// Progress of the generation that is searched; `None` before there is one.
    pub served: Option<GenerationProgress>,
    /// Progress of a rebuild.
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
    /// The committer's note.
    pub note: Option<String>,
}

impl State {
    /// Gives the next number to an empty generation.
    pub(crate) fn add_generation(&mut self, own_tenants: Vec<i64>) -> IndexGeneration {
        self.last_generation += 1;
        let added = GenerationState {
            own_tenants: own_tenants.clone(),
            document_version: DOCUMENT_VERSION,
            ..GenerationState::default()
        };
        self.generations.insert(self.last_generation, added);
        IndexGeneration { number: self.last_generation, own_tenants }
    }

    /// Has a generation searched, and forgets all others.
    pub(crate) fn serve(&mut self, number: u64) {
        self.served = Some(number);
        self.generations.retain(|other, _| *other == number);
    }

    fn served(&self) -> Option<IndexGeneration> {
        let number = self.served?;
        let GenerationState { own_tenants, .. } = self.generations.get(&number)?;
        Some(IndexGeneration { number, own_tenants: own_tenants.clone() })
    }

    pub(crate) fn progress(&self) -> SharedProgress {
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
    pub(crate) fn new(state: State, answer: &Value) -> Result<Self, Failure> {
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
    pub(crate) fn served_for(&self, store: &str) -> Result<&IndexGeneration, Failure> {
        self.check_store(store)?;
        self.served.as_ref().ok_or_else(not_filled)
    }

    pub(crate) fn check_store(&self, store: &str) -> Result<(), Failure> {
        if self.state.store == store { Ok(()) } else { Err(Failure::Foreign(FOREIGN.to_owned())) }
    }
}

pub(crate) fn not_filled() -> Failure {
    Failure::Unavailable("the index is not filled yet".to_owned())
}

/// The failure of a leader that another replica has replaced.
pub(crate) fn replaced() -> Failure {
    Failure::Failed("another replica writes the index".to_owned())
}
