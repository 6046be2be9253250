//! Matches and their total.

use std::ops::Range;

use tantivy::DocId;

use super::budget::{DOCUMENTS_PER_STEP, SearchError, StepBudget};
use super::plan::Plan;
use super::postings::{BranchPostings, PostingList};
use super::readers::Intersection;
use crate::segment_cache::{CachedTotal, SegmentTotal, TotalKeyRef};
use crate::view::{IndexView, Segment};

/// More deletions, absolutely and as a share of the segment, cause a new count.
const MAX_DELETED_RECOUNT: u32 = 64;

pub(super) struct Matches<'a> {
    pub(super) parts: Vec<SegmentMatches<'a>>,
}

/// Matches of one branch in one segment, within the request's times.
pub(super) struct SegmentMatches<'a> {
    pub(super) ordinal: usize,
    pub(super) segment: &'a Segment,
    pub(super) range: Range<DocId>,
    branch: usize,
    postings: BranchPostings<'a>,
}

impl<'a> Matches<'a> {
    pub(super) fn new(
        view: &'a IndexView,
        plan: &'a Plan,
        from: Option<i64>,
        to: Option<i64>,
        budget: &mut StepBudget,
    ) -> Result<Self, SearchError> {
        let mut parts = Vec::with_capacity(view.segments.len() * plan.branches.len());
        for (ordinal, segment) in view.segments.iter().enumerate() {
            let Some(range) = segment.between(from, to) else { continue };
            for (branch, requirements) in plan.branches.iter().enumerate() {
                if let Some(postings) = BranchPostings::find(view, ordinal, requirements, budget)? {
                    parts.push(SegmentMatches { ordinal, segment, range: range.clone(), branch, postings });
                }
            }
        }
        Ok(Self { parts })
    }

    /// Total: cached, corrected by later deletions, or counted.
    pub(super) fn total(
        &self,
        view: &IndexView,
        key: &TotalKeyRef<'_>,
        budget: &mut StepBudget,
    ) -> Result<u64, SearchError> {
        if self.parts.iter().all(SegmentMatches::is_cheap_to_count) {
            let counts = self.parts.iter().map(|part| part.count(view, budget));
            return counts.map(|count| count.map(u64::from)).sum();
        }
        let generation = view.generation;
        let cached = view.cache.total(key);
        if let Some(cached) = &cached
            && cached.generation == generation
        {
            return Ok(cached.sum);
        }
        let cached = cached.as_ref().map_or(&[][..], |cached| &cached.parts);
        let parts = self
            .parts
            .iter()
            .map(|part| part.count_from(view, cached, budget))
            .collect::<Result<Vec<_>, _>>()?;
        let sum = parts.iter().map(|part| u64::from(part.count)).sum();
        view.cache.insert_total(key, CachedTotal { generation, sum, parts });
        Ok(sum)
    }
}

impl SegmentMatches<'_> {
    /// Includes deleted matches and those after the range.
    pub(super) fn documents(
        &self,
        view: &IndexView,
        from: DocId,
        budget: &mut StepBudget,
    ) -> Result<Intersection, SearchError> {
        self.postings.read(view, self.segment, from, budget)
    }

    pub(super) fn is_alive(&self, document: DocId) -> bool {
        self.segment.is_alive(document)
    }

    fn is_cheap_to_count(&self) -> bool {
        self.segment.reader.num_deleted_docs() == 0
            && self.postings.single().is_some_and(PostingList::is_cheap_to_count)
    }

    fn count(&self, view: &IndexView, budget: &mut StepBudget) -> Result<u32, SearchError> {
        self.postings.count(view, self.segment, &self.range, budget)
    }

    /// Counts, from a cached count if possible.
    fn count_from(
        &self,
        view: &IndexView,
        cached: &[SegmentTotal],
        budget: &mut StepBudget,
    ) -> Result<SegmentTotal, SearchError> {
        let reader = &self.segment.reader;
        let (segment, deleted) = (reader.segment_id(), reader.num_deleted_docs());
        let cached = cached.iter().find(|cached| {
            cached.segment == segment
                && cached.branch == self.branch
                && cached.range == self.range
                && cached.fingerprint == self.postings.fingerprint
                && cached.deleted <= deleted
        });
        let count = match cached {
            Some(cached) if cached.deleted == deleted => cached.count,
            Some(cached)
                if deleted - cached.deleted
                    <= MAX_DELETED_RECOUNT.max(reader.max_doc() / MAX_DELETED_RECOUNT) =>
            {
                let since = self.segment.deleted_since(cached.deleted);
                let among = since
                    .map(|since| self.postings.count_among(view, self.segment, &since, &self.range, budget))
                    .transpose()?;
                match among.and_then(|among| cached.count.checked_sub(among)) {
                    Some(count) => count,
                    None => self.count(view, budget)?,
                }
            }
            _ => self.count(view, budget)?,
        };
        if cached.is_none() {
            // Starts recording deletions.
            budget.take(u64::from(reader.max_doc() / DOCUMENTS_PER_STEP))?;
            self.segment.deleted_since(deleted);
        }
        let (branch, range, fingerprint) = (self.branch, self.range.clone(), self.postings.fingerprint);
        Ok(SegmentTotal { segment, branch, range, fingerprint, deleted, count })
    }
}
