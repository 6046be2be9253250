//! The documents of a small commit, which become a segment without the engine's threads.
//!
//! Each segment of a thread begins with a table of 4 MiB for its terms. Clearing and reading it takes longer than indexing a
//! few documents.

use std::collections::BTreeMap;

use tantivy::index::SegmentId;
use tantivy::indexer::{AddOperation, SegmentWriter};
use tantivy::query::{EmptyScorer, EnableScoring, Explanation, Query, Scorer, TermQuery, Weight};
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocId, IndexWriter, Score, Segment, SegmentReader, TantivyDocument};

use super::prepared::EngineDocument;
use crate::Error;
use crate::queue::QueuedDocument;

const MAX_BYTES: usize = 1 << 20;
/// Gives a table of 256 KiB, which grows.
const MEMORY_BYTES: usize = 1 << 20;

/// Documents by key.
pub(super) struct SmallSegment {
    segment: Segment,
    documents: BTreeMap<String, EngineDocument>,
    bytes: usize,
}

impl SmallSegment {
    pub(super) fn new(engine: &IndexWriter<QueuedDocument>) -> Self {
        Self { segment: engine.new_segment(), documents: BTreeMap::new(), bytes: 0 }
    }

    pub(super) fn is_full(&self, most_documents: usize) -> bool {
        self.documents.len() >= most_documents || self.bytes >= MAX_BYTES
    }

    /// Removes a document from here, and returns a query for those of the same key elsewhere.
    pub(super) fn remove(&mut self, key: &str, term: Term) -> OlderDocument {
        if let Some(removed) = self.documents.remove(key) {
            self.bytes -= removed.bytes;
        }
        OlderDocument { term, newer: self.segment.id() }
    }

    /// Adds a document that is not here.
    pub(super) fn insert(&mut self, key: String, document: EngineDocument) {
        self.bytes += document.bytes;
        self.documents.insert(key, document);
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn into_documents(self) -> impl Iterator<Item = EngineDocument> {
        self.documents.into_values()
    }

    /// Adds the documents to the engine's next commit.
    pub(super) fn write(self, engine: &IndexWriter<QueuedDocument>) -> Result<(), Error> {
        if self.documents.is_empty() {
            return Ok(());
        }
        let mut writer = SegmentWriter::for_segment(MEMORY_BYTES, self.segment.clone())?;
        for EngineDocument { document, .. } in self.documents.into_values() {
            // It tells which deletions came after it, of which there are none.
            let opstamp = 0;
            writer.add_document::<TantivyDocument>(AddOperation { opstamp, document })?;
        }
        let count = writer.max_doc();
        writer.finalize()?;
        let segment = self.segment.with_max_doc(count);
        segment.meta().untrack_temp_docstore();
        Ok(engine.add_segment(segment.meta().clone())?)
    }
}

/// Matches the documents of a key, except in one segment.
///
/// The engine applies deletions before a commit to all its segments.
#[derive(Clone, Debug)]
pub(super) struct OlderDocument {
    term: Term,
    newer: SegmentId,
}

impl Query for OlderDocument {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let of_key = TermQuery::new(self.term.clone(), IndexRecordOption::Basic).weight(scoring)?;
        Ok(Box::new(OlderDocumentWeight { of_key, newer: self.newer }))
    }
}

struct OlderDocumentWeight {
    of_key: Box<dyn Weight>,
    newer: SegmentId,
}

impl Weight for OlderDocumentWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        if reader.segment_id() == self.newer {
            return Ok(Box::new(EmptyScorer));
        }
        self.of_key.scorer(reader, boost)
    }

    fn explain(&self, reader: &SegmentReader, document: DocId) -> tantivy::Result<Explanation> {
        self.of_key.explain(reader, document)
    }
}
