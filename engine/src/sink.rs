//! The seam between the indexer and the engine that it fills.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Change, Engine, Failure};

/// Position in the change log that a commit stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Positions of other stores mean nothing.
    pub store: String,
    /// Last indexed entry of the change log.
    pub position: i64,
    /// False during a rebuild, so that an interrupted one restarts.
    pub complete: bool,
}

/// Writes one index.
///
/// After a failure it is dropped, and the index is opened again at its last commit.
#[async_trait]
pub trait Sink: Send {
    /// Searches what was committed.
    fn engine(&self) -> Arc<dyn Engine>;

    /// The last commit; `None` for an empty index.
    fn checkpoint(&self) -> Option<&Checkpoint>;

    /// The last commit's note.
    fn note(&self) -> Option<&str>;

    /// Tells whether many changes wait, so that background work is put off; begins with `false`.
    fn set_bulk(&mut self, _is_bulk: bool) {}

    /// Applies changes in order.
    async fn apply(&mut self, changes: Vec<Change>) -> Result<(), Failure>;

    /// Makes all changes visible and durable, together with the checkpoint and the note.
    async fn commit(&mut self, checkpoint: &Checkpoint, note: Option<String>) -> Result<(), Failure>;

    /// Ends background work, such as merges.
    async fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

/// An engine's indexes: the one that is searched and, during a rebuild, one beside it.
#[async_trait]
pub trait Indexes: Send {
    /// Opens the searched index, or an empty one in its place.
    ///
    /// That is new where there was none or a damaged one. Leftovers of a rebuild beside it are removed.
    ///
    /// # Errors
    /// [`Failure::Foreign`] where another database's server fills them; nothing was changed.
    async fn open(&mut self) -> Result<OpenedIndex, Failure>;

    /// Removes all indexes, foreign ones too, and opens an empty one.
    async fn open_wiped(&mut self) -> Result<Box<dyn Sink>, Failure>;

    /// Opens an empty index beside the searched one, which is opened anew where both share memory.
    async fn open_replacement(&mut self, searched: Box<dyn Sink>) -> Result<BesideIndexes, Failure>;

    /// Has the fresh index searched instead, and removes the other. Both are to be opened again.
    async fn swap(&mut self, indexes: BesideIndexes) -> Result<(), Failure>;

    /// Whether a second index may be built beside the first.
    fn has_room_beside(&self) -> bool {
        true
    }

    /// Bytes that a second index would take on this machine.
    fn local_bytes(&self) -> u64 {
        0
    }

    /// Has the searched index verified soon.
    fn doubt(&self) {}

    /// Waits until the searched index is found to be damaged, and returns the damage.
    async fn damaged(&mut self) -> String {
        std::future::pending().await
    }
}

/// An opened index, and what its opening found.
pub struct OpenedIndex {
    /// The index.
    pub sink: Box<dyn Sink>,
    /// Whether a rebuild beside it was interrupted.
    pub was_rebuilding: bool,
    /// Why it was replaced by an empty one.
    pub damage: Option<String>,
}

/// Two indexes during a rebuild.
pub struct BesideIndexes {
    /// The one that is searched.
    pub searched: Box<dyn Sink>,
    /// The one that is filled.
    pub fresh: Box<dyn Sink>,
}
