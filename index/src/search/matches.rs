//! Where a request's matches are: for each branch and segment, their documents and their number.

use std::ops::Range;

use tantivy::DocId;

use super::lists::{List, Lists};
use super::plan::Plan;
use super::readers::Documents;
use super::work::{Stop, Work};
use crate::remembered::{Asked, PartTotal, Total};
use crate::view::{Segment, View};

/// What was deleted since a total was counted is looked at one by one, where it is so much or one of so many documents.
const FEW_DELETED: u32 = 64;

/// Documents whose bits are looked at in one step.
pub(super) const DOCUMENTS_A_STEP: u32 = 512;

/// All that may hold matches, each part one branch in one segment.
pub(super) struct Matches<'a> {
    pub(super) parts: Vec<MatchesOfPart<'a>>,
}

/// The matches of one branch in one segment, within the request's times.
pub(super) struct MatchesOfPart<'a> {
    /// The segment's place in the view.
    pub(super) ordinal: usize,
    pub(super) segment: &'a Segment,
    /// The documents whose times are asked for.
    pub(super) range: Range<DocId>,
    branch: usize,
    lists: Lists<'a>,
}

impl<'a> Matches<'a> {
    /// The parts that the time filters leave.
    pub(super) fn new(
        view: &'a View,
        plan: &'a Plan,
        from: Option<i64>,
        to: Option<i64>,
        work: &mut Work,
    ) -> Result<Self, Stop> {
        let mut parts = Vec::with_capacity(view.segments.len() * plan.branches.len());
        for (ordinal, segment) in view.segments.iter().enumerate() {
            let Some(range) = segment.between(from, to) else { continue };
            for (branch, needs) in plan.branches.iter().enumerate() {
                if let Some(lists) = Lists::find(view, ordinal, needs, work)? {
                    parts.push(MatchesOfPart { ordinal, segment, range: range.clone(), branch, lists });
                }
            }
        }
        Ok(Self { parts })
    }

    /// How many matches there are: as it is remembered, or as it follows from what is remembered and what was written since,
    /// or counted.
    pub(super) fn total(&self, view: &View, asked: &Asked<'_>, work: &mut Work) -> Result<u64, Stop> {
        if self.parts.iter().all(MatchesOfPart::is_counted_at_once) {
            let counts = self.parts.iter().map(|part| part.count(view, work));
            return counts.map(|count| count.map(u64::from)).sum();
        }
        let generation = view.generation;
        let known = view.remembered.total(asked);
        if let Some(known) = &known
            && known.generation == generation
        {
            return Ok(known.sum);
        }
        let known = known.as_ref().map_or(&[][..], |known| &known.parts);
        let parts = self
            .parts
            .iter()
            .map(|part| part.count_from(view, known, work))
            .collect::<Result<Vec<_>, _>>()?;
        let sum = parts.iter().map(|part| u64::from(part.count)).sum();
        view.remembered.keep_total(asked, Total { generation, sum, parts });
        Ok(sum)
    }
}

impl MatchesOfPart<'_> {
    /// The matches from the document `from` on, deleted ones and those behind the range included.
    pub(super) fn documents(&self, view: &View, from: DocId, work: &mut Work) -> Result<Documents, Stop> {
        self.lists.read(view, self.segment, from, work)
    }

    pub(super) fn is_alive(&self, document: DocId) -> bool {
        self.segment.is_alive(document)
    }

    fn is_counted_at_once(&self) -> bool {
        self.segment.reader.num_deleted_docs() == 0 && self.lists.only().is_some_and(List::is_counted_at_once)
    }

    fn count(&self, view: &View, work: &mut Work) -> Result<u32, Stop> {
        self.lists.count(view, self.segment, &self.range, work)
    }

    /// Its total, from one of those that are known where it can be.
    fn count_from(&self, view: &View, known: &[PartTotal], work: &mut Work) -> Result<PartTotal, Stop> {
        let reader = &self.segment.reader;
        let (segment, deleted) = (reader.segment_id(), reader.num_deleted_docs());
        let known = known.iter().find(|known| {
            known.segment == segment
                && known.branch == self.branch
                && known.range == self.range
                && known.fingerprint == self.lists.fingerprint
                && known.deleted <= deleted
        });
        let count = match known {
            Some(known) if known.deleted == deleted => known.count,
            Some(known) if deleted - known.deleted <= FEW_DELETED.max(reader.max_doc() / FEW_DELETED) => {
                let since = self.segment.deleted_since(known.deleted);
                let among = since.map(|since| self.count_among(view, &since, work)).transpose()?;
                match among.and_then(|among| known.count.checked_sub(among)) {
                    Some(count) => count,
                    None => self.count(view, work)?,
                }
            }
            _ => self.count(view, work)?,
        };
        if known.is_none() {
            // Asked for now, so that what is deleted from now on is known.
            work.take(u64::from(reader.max_doc() / DOCUMENTS_A_STEP))?;
            self.segment.deleted_since(deleted);
        }
        let (branch, range, fingerprint) = (self.branch, self.range.clone(), self.lists.fingerprint);
        Ok(PartTotal { segment, branch, range, fingerprint, deleted, count })
    }

    fn count_among(&self, view: &View, deleted: &[DocId], work: &mut Work) -> Result<u32, Stop> {
        let first = deleted.partition_point(|&document| document < self.range.start);
        let last = deleted.partition_point(|&document| document < self.range.end);
        self.lists.count_among(view, self.segment, &deleted[first..last], work)
    }
}
