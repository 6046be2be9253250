//! A cluster, with the state of its indexes as this replica last read or wrote it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::{Method, StatusCode};
use tokio::sync::watch;
use trawl_engine::{Failure, next_generation};

use crate::client::{Call, Client, RequestBody, SHARD_TIMEOUT, overloaded};
use crate::layout::Layout;
use crate::state::{KnownState, Revision, State, replaced};

/// Tries of a write of the state, each after another replica's.
pub(crate) const MAX_TRIES: u32 = 20;

/// A cluster whose indexes hold the rows of one database.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) layout: Layout,
    /// Id of the database whose rows fill the indexes.
    pub(crate) store: String,
    generation: AtomicU64,
    state: watch::Sender<Option<Arc<KnownState>>>,
}

impl Cluster {
    /// Reads and writes nothing yet.
    pub(crate) fn new(client: Client, layout: Layout, store: String) -> Self {
        let (generation, state) = (AtomicU64::new(next_generation()), watch::Sender::new(None));
        Self { client, layout, store, generation, state }
    }

    /// A number that grows with each commit that is known.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The state as last read or written.
    pub(crate) fn known(&self) -> Option<Arc<KnownState>> {
        self.state.borrow().clone()
    }

    /// Notes the state, and that a commit is visible if it is another.
    pub(crate) fn learn(&self, state: Option<Arc<KnownState>>) {
        let revision = |state: &Option<Arc<KnownState>>| state.as_ref().map(|known| known.revision);
        let is_other = revision(&self.state.borrow()) != revision(&state);
        if is_other {
            self.state.send_replace(state);
            self.generation.store(next_generation(), Ordering::Release);
        }
    }

    /// Reads the state; `None` if there is none.
    pub(crate) async fn read_state(&self) -> Result<Option<Arc<KnownState>>, Failure> {
        let path = format!("{}/_doc/state", self.layout.state());
        let answer = self.client.send(Call::get(&path)).await?;
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
        let path = format!("{}/_doc/state?{parameters}&{SHARD_TIMEOUT}", self.layout.state());
        let body = serde_json::to_value(&state).map_err(|error| Failure::Failed(error.to_string()))?;
        let answer = self.client.send(Call::write(Method::PUT, &path, Some(RequestBody::Json(body)))).await?;
        if answer.status == StatusCode::CONFLICT {
            return Ok(false);
        }
        let known = KnownState::new(state, &answer.success()?)?;
        self.learn(Some(Arc::new(known)));
        Ok(true)
    }

    /// Changes the state as the leader of an epoch.
    ///
    /// The change may run again, on a later state.
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
