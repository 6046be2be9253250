//! The one writer: changes in, commits that say how far the change log was followed.

mod prepared;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tantivy::indexer::{IndexWriterOptions, UserOperation};
use tantivy::query::{AllQuery, RangeQuery};
use tantivy::schema::Term;
use tantivy::{IndexWriter, TantivyError};

use crate::document::{Change, Scope, tenant_prefix};
use crate::index::{Options, Shared};
use crate::merging::Pace;
use crate::queue::{self, Queue, Queued};
use crate::schema::VERSION;
use crate::{Error, merging};

pub use self::prepared::bare_document;
use self::prepared::{Analysed, Key, Portion, Prepared, last_of_each, next_portion, principal_term};

/// What one indexing thread takes at least, in bytes, whatever the options say.
pub const LEAST_THREAD_MEMORY_BYTES: usize = 15_000_000;
/// From this many changes on, a batch is analysed on all cores; fewer are where their texts are large.
const PARALLEL_CHANGES: usize = 16;
/// Operations handed to the engine at once.
const BATCH_OPERATIONS: usize = 256;
/// Bytes of documents handed to the engine at once, from which on no more are added: it looks between two batches whether its memory
/// is used up.
const BATCH_BYTES: usize = 1 << 20;

/// What a commit says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Which store the index follows: another store's positions mean nothing.
    pub store: String,
    /// The last entry of the change log that the index holds.
    pub position: i64,
    /// False while a rebuild is under way, so that one cut short is begun anew.
    pub complete: bool,
}

/// The commit's payload as it is written.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Payload {
    version: u32,
    #[serde(flatten)]
    checkpoint: Checkpoint,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Payload {
    /// The payload of the last commit; none in an index that was never committed to.
    pub(crate) fn read(index: &tantivy::Index) -> Result<Option<Self>, Error> {
        let meta = index.load_metas()?;
        let Some(payload) = meta.payload else {
            if meta.segments.is_empty() {
                return Ok(None);
            }
            return Err(Error::Unusable("its last commit has no checkpoint".to_owned()));
        };
        let payload: Self = serde_json::from_str(&payload)
            .map_err(|error| Error::Unusable(format!("its checkpoint: {error}")))?;
        if payload.version == VERSION {
            Ok(Some(payload))
        } else {
            Err(Error::Unusable(format!("it is of version {}, this is version {VERSION}", payload.version)))
        }
    }
}

/// The only writer of an index. What it applies is visible after the next commit.
pub struct Writer {
    engine: IndexWriter<Queued>,
    /// What the engine was handed and has not taken.
    queue: Arc<Queue>,
    shared: Arc<Shared>,
    checkpoint: Option<Checkpoint>,
    note: Option<String>,
    /// Hashes of the keys put since the last commit, which the committed segments do not know yet.
    uncommitted: HashSet<u64>,
    pace: Arc<Pace>,
}

impl Writer {
    pub(crate) fn new(
        index: &tantivy::Index,
        shared: Arc<Shared>,
        options: &Options,
        payload: Option<Payload>,
    ) -> Result<Self, Error> {
        let threads = options.indexing_threads.max(1);
        let memory = (options.writer_memory_bytes / threads).max(LEAST_THREAD_MEMORY_BYTES);
        let engine_options = IndexWriterOptions::builder()
            .num_worker_threads(threads)
            .memory_budget_per_thread(memory)
            .num_merge_threads(options.merge_threads.max(1))
            .build();
        let engine: IndexWriter<Queued> = index.writer_with_options(engine_options)?;
        // Its clock would begin at the very stamp of the last commit. A merge up to that commit, begun before the next one, would
        // take a deletion of this stamp for one of the commit: done with in the segments that the commit deleted from.
        engine.run(Vec::new())?;
        let pace = Pace::new();
        engine.set_merge_policy(merging::policy(Arc::clone(&pace)));
        // What a process that was killed left, or a commit that found no room, may be what now takes the room.
        if let Err(error) = engine.garbage_collect_files().wait() {
            tracing::warn!(%error, "files that are left over could not be removed");
        }
        let (checkpoint, note) = payload.map(|payload| (payload.checkpoint, payload.note)).unzip();
        let queue = Queue::new(queue::MOST_BYTES);
        Ok(Self {
            engine,
            queue,
            shared,
            checkpoint,
            note: note.flatten(),
            uncommitted: HashSet::new(),
            pace,
        })
    }

    /// What the last commit said of itself; nothing in an index that was never committed to.
    pub fn checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref()
    }

    /// What whoever committed last noted for himself.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Applies the changes; they are visible after the next commit. Of several changes to one document the last wins.
    ///
    /// A batch is analysed on all cores (rayon's threads). Waits for the engine where much that is large is on its way to it, so
    /// that this takes no more memory than a bound, however fast changes come.
    ///
    /// # Errors
    /// [`Error::IdTooLong`] before anything is applied, or, where much is removed at once, before anything behind the last such
    /// change is. After any other one a part of it may be applied; nothing is committed.
    pub fn apply(&mut self, changes: Vec<Change>) -> Result<(), Error> {
        let mut documents = Vec::with_capacity(changes.len());
        for change in changes {
            match change {
                Change::RemoveTenant { tenant } => {
                    self.apply_to_documents(std::mem::take(&mut documents))?;
                    self.remove_tenant(tenant)?;
                }
                Change::RemoveSeenBy { scope, principal } => {
                    self.apply_to_documents(std::mem::take(&mut documents))?;
                    self.remove_seen_by(&scope, &principal);
                }
                change => documents.push(change),
            }
        }
        self.apply_to_documents(documents)
    }

    /// By the range of the tenant's keys: one operation, whose work is that of reading the tenant's own keys.
    fn remove_tenant(&mut self, tenant: i64) -> Result<(), Error> {
        let key = self.shared.fields().key;
        let first = tenant_prefix(tenant);
        // The least text behind all that begin so.
        let mut behind = first.clone();
        let end = behind.pop().map_or(char::MAX, |last| char::from_u32(last as u32 + 1).unwrap_or(char::MAX));
        behind.push(end);
        let bounds = [first, behind].map(|text| Term::from_field_text(key, &text));
        let [first, behind] = bounds;
        let of_tenant = RangeQuery::new(Bound::Included(first), Bound::Excluded(behind));
        self.engine.delete_query(Box::new(of_tenant))?;
        Ok(())
    }

    /// One operation, whose work is that of reading the principal's own postings.
    fn remove_seen_by(&mut self, scope: &Scope, principal: &str) {
        let principals = self.shared.fields().principals;
        self.engine
            .delete_term(Term::from_field_text(principals, &principal_term(&scope.prefix(), principal)));
    }

    fn apply_to_documents(&mut self, changes: Vec<Change>) -> Result<(), Error> {
        let changes = last_of_each(changes)?;
        self.pace.count(changes.len() as u64);
        let mut changes = changes.into_iter();
        loop {
            let portion = next_portion(&mut changes);
            if portion.changes.is_empty() {
                return Ok(());
            }
            let prepared = self.prepare(portion)?;
            self.hand_over(prepared)?;
        }
    }

    fn prepare(&self, Portion { changes, is_whole }: Portion) -> Result<Vec<Prepared>, Error> {
        let fields = self.shared.fields();
        let view = self.shared.view();
        let uncommitted = &self.uncommitted;
        let prepare = |(key, change): (Key, Change)| Prepared::new(&key, change, &view, fields, uncommitted);
        if changes.len() < PARALLEL_CHANGES && !is_whole {
            changes.into_iter().map(prepare).collect()
        } else {
            changes.into_par_iter().map(prepare).collect()
        }
    }

    fn hand_over(&mut self, prepared: Vec<Prepared>) -> Result<(), Error> {
        let mut operations = Vec::with_capacity(BATCH_OPERATIONS);
        let mut bytes = 0;
        for Prepared { key_hash, delete, add } in prepared {
            operations.extend(delete.map(UserOperation::Delete));
            if let Some(Analysed { document, bytes: of_document }) = add {
                self.uncommitted.insert(key_hash);
                operations.push(UserOperation::Add(document));
                bytes += of_document;
            }
            if operations.len() + 1 >= BATCH_OPERATIONS || bytes >= BATCH_BYTES {
                let batch = std::mem::replace(&mut operations, Vec::with_capacity(BATCH_OPERATIONS));
                self.run(batch, std::mem::take(&mut bytes))?;
            }
        }
        self.run(operations, bytes)
    }

    /// Has the engine run these, once there is room for the bytes of their documents.
    fn run(&self, operations: Vec<UserOperation>, bytes: usize) -> Result<(), Error> {
        let place = Arc::new(self.queue.enter(bytes, || self.check_alive())?);
        self.engine.run(operations.into_iter().map(|operation| match operation {
            UserOperation::Add(document) => UserOperation::Add(Queued::new(document, &place)),
            UserOperation::Delete(term) => UserOperation::Delete(term),
        }))?;
        Ok(())
    }

    /// Fails where the engine takes nothing any more. It says so only to who hands it something: here, to remove what no document
    /// is found by.
    fn check_alive(&self) -> Result<(), Error> {
        let nothing = Term::from_field_text(self.shared.fields().key, "");
        self.engine.run([UserOperation::Delete(nothing)])?;
        Ok(())
    }

    /// Removes every document, applied ones that are not committed included; for a rebuild.
    pub fn clear(&mut self) -> Result<(), Error> {
        // Not `delete_all_documents`: that turns the engine's clock back, and older deletions would hit newer documents.
        self.engine.delete_query(Box::new(AllQuery))?;
        Ok(())
    }

    /// Makes what was applied durable, under this checkpoint, and visible to the snapshots taken from now on.
    pub fn commit(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        self.commit_with_note(checkpoint, None)
    }

    /// The same, with a note that [`Self::note`] gives back, of the next process too.
    pub fn commit_with_note(&mut self, checkpoint: &Checkpoint, note: Option<String>) -> Result<(), Error> {
        let payload = Payload { version: VERSION, checkpoint: checkpoint.clone(), note };
        let text = serde_json::to_string(&payload).map_err(std::io::Error::from)?;
        let mut commit = self.engine.prepare_commit()?;
        commit.set_payload(&text);
        commit.commit()?;
        self.checkpoint = Some(payload.checkpoint);
        self.note = payload.note;
        self.shared.reload()?;
        self.uncommitted.clear();
        Ok(())
    }

    /// Waits for the merges under way and lets the directory go. What is not committed is lost.
    pub fn close(self) -> Result<(), Error> {
        Ok(self.engine.wait_merging_threads()?)
    }

    /// Merges all segments into one and makes that visible: after a bulk load, since it reads and writes everything.
    /// Does nothing while a background merge has one of the segments in hand.
    pub fn merge_all(&mut self) -> Result<(), Error> {
        let segments = self.engine.index().searchable_segment_ids()?;
        if segments.len() > 1 {
            match self.engine.merge(&segments).wait() {
                Ok(_) | Err(TantivyError::InvalidArgument(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.shared.reload()
    }
}
