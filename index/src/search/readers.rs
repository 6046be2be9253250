//! Reads what several lists have in common, a document after the other.

use tantivy::postings::SegmentPostings;
use tantivy::query::EmptyScorer;
use tantivy::{DocId, DocSet, TERMINATED};

use super::work::{Stop, Work};
use crate::sets::SetReader;

/// Documents that all of some readers have and none of others.
pub(super) struct Documents {
    driver: Reader,
    others: Vec<Reader>,
    excluded: Vec<Reader>,
}

impl Documents {
    /// Reads the documents that all the first readers have, which the first of them leads, and none of the second.
    pub(super) fn new(
        mut required: Vec<Reader>,
        excluded: Vec<Reader>,
        from: DocId,
        work: &mut Work,
    ) -> Result<Self, Stop> {
        let others = required.split_off(1.min(required.len()));
        let mut driver = required.pop().unwrap_or_else(|| Reader::Other(Box::new(EmptyScorer)));
        driver.at_or_behind(from);
        let mut documents = Self { driver, others, excluded };
        documents.settle(work)?;
        Ok(documents)
    }

    /// Goes to the next one.
    pub(super) fn advance_within(&mut self, work: &mut Work) -> Result<DocId, Stop> {
        self.driver.advance();
        self.settle(work)
    }

    /// Goes to the first one at or behind `target`, which is not before the current one.
    pub(super) fn seek_within(&mut self, target: DocId, work: &mut Work) -> Result<DocId, Stop> {
        self.driver.seek(target);
        self.settle(work)
    }

    /// Goes on from where the driver is to the first document that fits.
    fn settle(&mut self, work: &mut Work) -> Result<DocId, Stop> {
        let mut document = self.driver.doc();
        'next: while document != TERMINATED {
            work.take(1)?;
            for other in &mut self.others {
                let found = other.at_or_behind(document);
                if found > document {
                    document = self.driver.at_or_behind(found);
                    continue 'next;
                }
            }
            for excluded in &mut self.excluded {
                if excluded.at_or_behind(document) == document {
                    document = self.driver.advance();
                    continue 'next;
                }
            }
            break;
        }
        Ok(document)
    }
}

impl DocSet for Documents {
    fn advance(&mut self) -> DocId {
        self.advance_within(&mut Work::unbounded()).unwrap_or(TERMINATED)
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc() < target {
            return self.seek_within(target, &mut Work::unbounded()).unwrap_or(TERMINATED);
        }
        self.doc()
    }

    fn doc(&self) -> DocId {
        self.driver.doc()
    }

    fn size_hint(&self) -> u32 {
        self.driver.size_hint()
    }
}

/// Reads one list.
pub(super) enum Reader {
    Postings(Box<SegmentPostings>),
    Set(SetReader),
    Other(Box<dyn DocSet>),
}

impl Reader {
    /// Goes to the first document at or behind `target`, unless it is there or further already.
    fn at_or_behind(&mut self, target: DocId) -> DocId {
        let document = self.doc();
        if document < target { self.seek(target) } else { document }
    }
}

impl DocSet for Reader {
    fn advance(&mut self) -> DocId {
        match self {
            Self::Postings(postings) => postings.advance(),
            Self::Set(set) => set.advance(),
            Self::Other(other) => other.advance(),
        }
    }

    fn seek(&mut self, target: DocId) -> DocId {
        match self {
            Self::Postings(postings) => postings.seek(target),
            Self::Set(set) => set.seek(target),
            Self::Other(other) => other.seek(target),
        }
    }

    fn doc(&self) -> DocId {
        match self {
            Self::Postings(postings) => postings.doc(),
            Self::Set(set) => set.doc(),
            Self::Other(other) => other.doc(),
        }
    }

    fn size_hint(&self) -> u32 {
        match self {
            Self::Postings(postings) => postings.size_hint(),
            Self::Set(set) => set.size_hint(),
            Self::Other(other) => other.size_hint(),
        }
    }
}
