//! Applies changes and commits.
//!
//! Texts are analysed 8 MiB at a time on all cores, then queued by 1 MiB. Commits take milliseconds, as they do not wait for the disk.

mod prepared;
mod small_segment;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use tantivy::indexer::{IndexWriterOptions, UserOperation};
use tantivy::query::{AllQuery, RangeQuery};
use tantivy::schema::Term;
use tantivy::{IndexWriter, TantivyError};
use trawl_engine::{Change, Checkpoint, Scope, principal_term, tenant_range};

use crate::checkpoint::Payload;
use crate::open_index::OpenIndex;
use crate::options::{MIN_THREAD_MEMORY_BYTES, Options};
use crate::queue::{self, IndexingQueue, QueuedDocument};
use crate::{Error, merge_policy};

pub use self::prepared::bare_document;
use self::prepared::{
    AnalysisBatch, DocumentKey, EngineDocument, PreparedChange, keep_last_changes, next_batch,
};
use self::small_segment::SmallSegment;

/// Smaller batches use one core, unless their texts are large.
const MIN_PARALLEL_CHANGES: usize = 16;
const MAX_BATCH_OPERATIONS: usize = 256;
/// The engine checks its memory between batches.
const MAX_BATCH_BYTES: usize = 1 << 20;

/// The only writer; changes are visible after a commit.
pub struct Writer {
    engine: IndexWriter<QueuedDocument>,
    queue: Arc<IndexingQueue>,
    open: Arc<OpenIndex>,
    checkpoint: Option<Checkpoint>,
    note: Option<String>,
    /// Keys since the last commit.
    uncommitted: HashSet<u64>,
    /// The next commit's documents, while the engine has got none of them.
    small: Option<SmallSegment>,
    small_commit_documents: usize,
    is_bulk: Arc<AtomicBool>,
}

impl Writer {
    pub(crate) fn new(
        index: &tantivy::Index,
        open: Arc<OpenIndex>,
        options: &Options,
        payload: Option<Payload>,
    ) -> Result<Self, Error> {
        let threads = options.indexing_threads.max(1);
        let memory = (options.writer_memory_bytes / threads).max(MIN_THREAD_MEMORY_BYTES);
        let engine_options = IndexWriterOptions::builder()
            .num_worker_threads(threads)
            .memory_budget_per_thread(memory)
            .num_merge_threads(options.merge_threads.max(1))
            .build();
        let engine: IndexWriter<QueuedDocument> = index.writer_with_options(engine_options)?;
        // Advances the engine's clock beyond the last commit. A merge would otherwise take the first deletion
        // for one of that commit.
        engine.run(Vec::new())?;
        let is_bulk = Arc::new(AtomicBool::new(false));
        engine.set_merge_policy(merge_policy::policy(Arc::clone(&is_bulk)));
        // Files of a killed process may fill the disk.
        if let Err(error) = engine.garbage_collect_files().wait() {
            tracing::warn!(%error, "leftover files could not be removed");
        }
        let (checkpoint, note) = payload.map(|payload| (payload.checkpoint, payload.note)).unzip();
        let queue = IndexingQueue::new(queue::MAX_QUEUED_BYTES);
        let mut writer = Self {
            engine,
            queue,
            open,
            checkpoint,
            note: note.flatten(),
            uncommitted: HashSet::new(),
            small: None,
            small_commit_documents: options.small_commit_documents,
            is_bulk,
        };
        writer.small = writer.small_segment();
        Ok(writer)
    }

    /// `None` for an empty index, where the engine keeps deletions for later segments.
    fn small_segment(&self) -> Option<SmallSegment> {
        (!self.open.view().segments.is_empty()).then(|| SmallSegment::new(&self.engine))
    }

    /// Checkpoint of the last commit; `None` before the first.
    pub fn checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref()
    }

    /// Note of the last commit.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Tells whether many changes wait; merges are put off meanwhile, until the next commit after.
    pub fn set_bulk(&mut self, is_bulk: bool) {
        self.is_bulk.store(is_bulk, Ordering::Relaxed);
    }

    /// Applies changes; the last one to a document wins.
    ///
    /// Batches are analysed on rayon's threads. Waits for the engine, so that memory stays bounded.
    ///
    /// # Errors
    ///
    /// [`Error::IdTooLong`] before anything after the last bulk removal is applied. Others may leave a part
    /// applied; nothing is committed.
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
                    self.remove_seen_by(&scope, &principal)?;
                }
                change => documents.push(change),
            }
        }
        self.apply_to_documents(documents)
    }

    fn remove_tenant(&mut self, tenant: i64) -> Result<(), Error> {
        self.hand_over()?;
        let key = self.open.fields.key;
        let [first, end] = tenant_range(tenant).map(|text| Term::from_field_text(key, &text));
        let of_tenant = RangeQuery::new(Bound::Included(first), Bound::Excluded(end));
        self.engine.delete_query(Box::new(of_tenant))?;
        Ok(())
    }

    fn remove_seen_by(&mut self, scope: &Scope, principal: &str) -> Result<(), Error> {
        self.hand_over()?;
        let principals = self.open.fields.principals;
        self.engine
            .delete_term(Term::from_field_text(principals, &principal_term(&scope.prefix(), principal)));
        Ok(())
    }

    fn apply_to_documents(&mut self, changes: Vec<Change>) -> Result<(), Error> {
        let changes = keep_last_changes(changes)?;
        let mut changes = changes.into_iter();
        loop {
            let batch = next_batch(&mut changes);
            if batch.changes.is_empty() {
                return Ok(());
            }
            let prepared = self.prepare(batch)?;
            self.submit(prepared)?;
        }
    }

    fn prepare(
        &self,
        AnalysisBatch { changes, is_full }: AnalysisBatch,
    ) -> Result<Vec<PreparedChange>, Error> {
        let fields = self.open.fields;
        let view = self.open.view();
        let uncommitted = &self.uncommitted;
        let prepare = |(key, change): (DocumentKey, Change)| {
            PreparedChange::new(key, change, &view, fields, uncommitted)
        };
        if changes.len() < MIN_PARALLEL_CHANGES && !is_full {
            changes.into_iter().map(prepare).collect()
        } else {
            changes.into_par_iter().map(prepare).collect()
        }
    }

    fn submit(&mut self, prepared: Vec<PreparedChange>) -> Result<(), Error> {
        let mut operations = Vec::with_capacity(MAX_BATCH_OPERATIONS);
        let mut bytes = 0;
        for PreparedChange { key, delete, add } in prepared {
            match (&mut self.small, delete) {
                (Some(small), Some(delete)) => {
                    self.engine.delete_query(Box::new(small.remove(&key.term, delete)))?;
                }
                (None, Some(delete)) => operations.push(UserOperation::Delete(delete)),
                (_, None) => {}
            }
            let Some(document) = add else { continue };
            self.uncommitted.insert(key.hash);
            if let Some(small) =
                self.small.as_mut().filter(|small| !small.is_full(self.small_commit_documents))
            {
                small.insert(key.term, document);
                continue;
            }
            let held = self.small.take().into_iter().flat_map(SmallSegment::into_documents);
            for EngineDocument { document, bytes: of_document } in held.chain([document]) {
                operations.push(UserOperation::Add(document));
                bytes += of_document;
            }
            if operations.len() + 1 >= MAX_BATCH_OPERATIONS || bytes >= MAX_BATCH_BYTES {
                let batch = std::mem::replace(&mut operations, Vec::with_capacity(MAX_BATCH_OPERATIONS));
                self.run(batch, std::mem::take(&mut bytes))?;
            }
        }
        self.run(operations, bytes)
    }

    /// Gives the engine the documents of the next commit, so that a later deletion finds them.
    fn hand_over(&mut self) -> Result<(), Error> {
        let Some(small) = self.small.take() else { return Ok(()) };
        let bytes = small.bytes();
        self.run(small.into_documents().map(|held| UserOperation::Add(held.document)).collect(), bytes)
    }

    /// Waits until the documents fit in the queue.
    fn run(&self, operations: Vec<UserOperation>, bytes: usize) -> Result<(), Error> {
        let reservation = Arc::new(self.queue.reserve(bytes, || self.check_alive())?);
        self.engine.run(operations.into_iter().map(|operation| match operation {
            UserOperation::Add(document) => UserOperation::Add(QueuedDocument::new(document, &reservation)),
            UserOperation::Delete(term) => UserOperation::Delete(term),
        }))?;
        Ok(())
    }

    /// Fails if the engine has. It tells only operations; this one finds nothing.
    fn check_alive(&self) -> Result<(), Error> {
        let nothing = Term::from_field_text(self.open.fields.key, "");
        self.engine.run([UserOperation::Delete(nothing)])?;
        Ok(())
    }

    /// Removes all documents, uncommitted ones included.
    pub fn clear(&mut self) -> Result<(), Error> {
        // `delete_all_documents` resets the engine's clock: old deletions would hit new documents.
        self.engine.delete_query(Box::new(AllQuery))?;
        self.small = None;
        Ok(())
    }

    /// Commits, and makes changes visible to new snapshots.
    pub fn commit(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        self.commit_with_note(checkpoint, None)
    }

    /// Commits with a note, which survives reopening.
    pub fn commit_with_note(&mut self, checkpoint: &Checkpoint, note: Option<String>) -> Result<(), Error> {
        let payload = Payload::new(checkpoint.clone(), note);
        let text = serde_json::to_string(&payload).map_err(std::io::Error::from)?;
        if let Some(small) = self.small.take() {
            small.write(&self.engine)?;
        }
        let mut commit = self.engine.prepare_commit()?;
        commit.set_payload(&text);
        commit.commit()?;
        self.checkpoint = Some(payload.checkpoint);
        self.note = payload.note;
        self.open.reload()?;
        self.uncommitted.clear();
        self.small = self.small_segment();
        Ok(())
    }

    /// Waits for merges; uncommitted changes are lost.
    pub fn close(self) -> Result<(), Error> {
        Ok(self.engine.wait_merging_threads()?)
    }

    /// Merges all segments, after a bulk load.
    ///
    /// Does nothing while a background merge uses one of them.
    pub fn merge_all(&mut self) -> Result<(), Error> {
        let segments = self.engine.index().searchable_segment_ids()?;
        if segments.len() > 1 {
            match self.engine.merge(&segments).wait() {
                Ok(_) | Err(TantivyError::InvalidArgument(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.open.reload()
    }
}
