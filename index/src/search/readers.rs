use tantivy::postings::SegmentPostings;
use tantivy::query::EmptyScorer;
use tantivy::{DocId, DocSet, TERMINATED};

use super::budget::{SearchError, StepBudget};
use crate::document_set::SetReader;

pub(super) struct Intersection {
    driver: ListReader,
    others: Vec<ListReader>,
    excluded: Vec<ListReader>,
}

impl Intersection {
    /// Starts at `from`; the first required list drives the others.
    pub(super) fn new(
        mut required: Vec<ListReader>,
        excluded: Vec<ListReader>,
        from: DocId,
        budget: &mut StepBudget,
    ) -> Result<Self, SearchError> {
        let others = required.split_off(1.min(required.len()));
        let mut driver = required.pop().unwrap_or_else(|| ListReader::Other(Box::new(EmptyScorer)));
        driver.seek_to(from);
        let mut documents = Self { driver, others, excluded };
        documents.settle(budget)?;
        Ok(documents)
    }

    pub(super) fn advance_within(&mut self, budget: &mut StepBudget) -> Result<DocId, SearchError> {
        self.driver.advance();
        self.settle(budget)
    }

    pub(super) fn seek_within(
        &mut self,
        target: DocId,
        budget: &mut StepBudget,
    ) -> Result<DocId, SearchError> {
        self.driver.seek(target);
        self.settle(budget)
    }

    fn settle(&mut self, budget: &mut StepBudget) -> Result<DocId, SearchError> {
        let mut document = self.driver.doc();
        'next: while document != TERMINATED {
            budget.take(1)?;
            for other in &mut self.others {
                let found = other.seek_to(document);
                if found > document {
                    document = self.driver.seek_to(found);
                    continue 'next;
                }
            }
            for excluded in &mut self.excluded {
                if excluded.seek_to(document) == document {
                    document = self.driver.advance();
                    continue 'next;
                }
            }
            break;
        }
        Ok(document)
    }
}

impl DocSet for Intersection {
    fn advance(&mut self) -> DocId {
        self.advance_within(&mut StepBudget::unbounded()).unwrap_or(TERMINATED)
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc() < target {
            return self.seek_within(target, &mut StepBudget::unbounded()).unwrap_or(TERMINATED);
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

pub(super) enum ListReader {
    Postings(Box<SegmentPostings>),
    Set(SetReader),
    /// Documents of any list.
    Any(Vec<ListReader>),
    Other(Box<dyn DocSet>),
}

impl ListReader {
    /// Unless it is at or after `target` already.
    fn seek_to(&mut self, target: DocId) -> DocId {
        let document = self.doc();
        if document < target { self.seek(target) } else { document }
    }
}

impl DocSet for ListReader {
    fn advance(&mut self) -> DocId {
        match self {
            Self::Postings(postings) => postings.advance(),
            Self::Set(set) => set.advance(),
            Self::Any(lists) => {
                let document = first_of(lists);
                for list in lists.iter_mut().filter(|list| list.doc() == document) {
                    list.advance();
                }
                first_of(lists)
            }
            Self::Other(other) => other.advance(),
        }
    }

    fn seek(&mut self, target: DocId) -> DocId {
        match self {
            Self::Postings(postings) => postings.seek(target),
            Self::Set(set) => set.seek(target),
            Self::Any(lists) => lists.iter_mut().map(|list| list.seek_to(target)).min().unwrap_or(TERMINATED),
            Self::Other(other) => other.seek(target),
        }
    }

    fn doc(&self) -> DocId {
        match self {
            Self::Postings(postings) => postings.doc(),
            Self::Set(set) => set.doc(),
            Self::Any(lists) => first_of(lists),
            Self::Other(other) => other.doc(),
        }
    }

    fn size_hint(&self) -> u32 {
        match self {
            Self::Postings(postings) => postings.size_hint(),
            Self::Set(set) => set.size_hint(),
            Self::Any(lists) => lists.iter().map(ListReader::size_hint).fold(0, u32::saturating_add),
            Self::Other(other) => other.size_hint(),
        }
    }
}

fn first_of(lists: &[ListReader]) -> DocId {
    lists.iter().map(ListReader::doc).min().unwrap_or(TERMINATED)
}
