//! Where a request's matches are: for each branch and segment, their documents and their number.

use std::ops::Range;
use std::sync::Arc;

use tantivy::index::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::query::{EnableScoring, Weight};
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocId, DocSet, TERMINATED};

use super::compile::Compiled;
use crate::Error;
use crate::view::{Segment, View};

/// One branch of a request.
pub(super) enum Branch {
    /// A bare posting list: nothing of the engine's query machinery is needed.
    Term(Term),
    /// Anything else.
    Weight(Box<dyn Weight>),
}

impl Branch {
    pub(super) fn new(compiled: Compiled, scoring: EnableScoring<'_>) -> Result<Self, Error> {
        Ok(match compiled {
            Compiled::Term(term) => Self::Term(term),
            Compiled::Query(query) => Self::Weight(query.weight(scoring)?),
        })
    }
}

/// All that may hold matches, each part one branch in one segment.
pub(super) struct Parts<'a> {
    pub(super) parts: Vec<Part<'a>>,
}

/// The matches of one branch in one segment, within the request's times.
pub(super) struct Part<'a> {
    /// The segment's place in the view.
    pub(super) ordinal: usize,
    pub(super) segment: &'a Segment,
    /// The documents whose times are asked for.
    pub(super) range: Range<DocId>,
    source: Source<'a>,
}

enum Source<'a> {
    Postings(Arc<InvertedIndexReader>, TermInfo),
    Weight(&'a dyn Weight),
}

impl<'a> Parts<'a> {
    /// The parts that the time filters leave.
    pub(super) fn new(
        view: &'a View,
        branches: &'a [Branch],
        from: Option<i64>,
        to: Option<i64>,
    ) -> Result<Self, Error> {
        let mut parts = Vec::with_capacity(view.segments.len() * branches.len());
        for (ordinal, segment) in view.segments.iter().enumerate() {
            // Newest first: what is not before `to` comes before the range, what is before `from` behind it.
            let start = to.map_or(0, |to| segment.first_below(to));
            let end = from.map_or(segment.reader.max_doc(), |from| segment.first_below(from));
            if start >= end {
                continue;
            }
            for branch in branches {
                let source = match branch {
                    Branch::Term(term) => {
                        let index = segment.inverted_index(term.field(), view.fields)?;
                        match index.get_term_info(term)? {
                            Some(info) => Source::Postings(index, info),
                            None => continue,
                        }
                    }
                    Branch::Weight(weight) => Source::Weight(weight.as_ref()),
                };
                parts.push(Part { ordinal, segment, range: start..end, source });
            }
        }
        Ok(Self { parts })
    }

    /// How many matches there are.
    pub(super) fn count(&self) -> Result<u64, Error> {
        self.parts.iter().try_fold(0, |total, part| Ok(total + u64::from(part.count()?)))
    }
}

impl Part<'_> {
    /// The matches from the document `from` on, deleted ones and those behind the range included.
    pub(super) fn documents(&self, from: DocId) -> Result<Box<dyn DocSet>, Error> {
        let mut documents: Box<dyn DocSet> = match &self.source {
            Source::Postings(index, info) => {
                Box::new(index.read_postings_from_terminfo(info, IndexRecordOption::Basic)?)
            }
            Source::Weight(weight) => weight.scorer(&self.segment.reader, 1.0)?,
        };
        if documents.doc() < from {
            documents.seek(from);
        }
        Ok(documents)
    }

    pub(super) fn is_alive(&self, document: DocId) -> bool {
        self.segment.reader.alive_bitset().is_none_or(|alive| alive.is_alive(document))
    }

    fn count(&self) -> Result<u32, Error> {
        match &self.source {
            Source::Postings(index, info) => {
                let deleted = self.segment.deleted();
                // Looking for the deleted among the matches pays where they are the fewer.
                if deleted.len() < info.doc_freq as usize / 2 {
                    Ok(self.count_postings(index, info)? - self.count_deleted(deleted)?)
                } else {
                    self.count_each()
                }
            }
            Source::Weight(weight) if self.is_whole_segment() => Ok(weight.count(&self.segment.reader)?),
            Source::Weight(_) => self.count_each(),
        }
    }

    fn is_whole_segment(&self) -> bool {
        self.range == (0..self.segment.reader.max_doc())
    }

    /// The postings in the range, deleted ones included, without reading them all.
    fn count_postings(&self, index: &InvertedIndexReader, info: &TermInfo) -> Result<u32, Error> {
        if self.is_whole_segment() {
            return Ok(info.doc_freq);
        }
        let mut blocks = index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?;
        let before = blocks.rank(self.range.start);
        Ok(blocks.rank(self.range.end) - before)
    }

    fn count_deleted(&self, deleted: &[DocId]) -> Result<u32, Error> {
        let first = deleted.partition_point(|&document| document < self.range.start);
        let last = deleted.partition_point(|&document| document < self.range.end);
        let Some(&start) = deleted[first..last].first() else { return Ok(0) };
        let mut documents = self.documents(start)?;
        let mut count = 0;
        for &document in &deleted[first..last] {
            if documents.doc() < document {
                documents.seek(document);
            }
            count += u32::from(documents.doc() == document);
        }
        Ok(count)
    }

    fn count_each(&self) -> Result<u32, Error> {
        let mut documents = self.documents(self.range.start)?;
        let mut count = 0;
        while documents.doc() < self.range.end && documents.doc() != TERMINATED {
            count += u32::from(self.is_alive(documents.doc()));
            documents.advance();
        }
        Ok(count)
    }
}
