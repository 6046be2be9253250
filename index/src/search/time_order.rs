//! Time order: segments are sorted, sought, and read as far as the page goes.
//!
//! A segment is opened only when nothing newer is left elsewhere. Documents of one time (a tie) are ordered by id, so a tie is read from
//! all segments.

use tantivy::columnar::TermOrdHit;
use tantivy::{DocId, DocSet, TERMINATED};
use trawl_engine::{Request, TimePosition};

use super::budget::{SearchError, StepBudget};
use super::matches::{Matches, SegmentMatches};
use super::plan::Plan;
use super::readers::Intersection;
use super::stored::Match;
use super::viewer_scope::ViewerScope;
use crate::Error;
use crate::view::{IndexView, OpenedSegment};

const TIE_CHUNK: usize = 256;

pub(super) struct TimePage {
    pub(super) found: Vec<Match>,
    pub(super) more: bool,
    pub(super) cut: bool,
}

pub(super) fn collect(
    view: &IndexView,
    matches: &Matches<'_>,
    after: Option<&TimePosition>,
    whole_ties: Option<usize>,
    limit: usize,
    budget: &mut StepBudget,
) -> Result<TimePage, SearchError> {
    let mut cursors: Vec<SegmentCursor<'_>> =
        matches.parts.iter().map(|part| SegmentCursor::new(part, after)).collect();
    let mut page = TimePage { found: Vec::with_capacity(limit.min(1_024)), more: false, cut: false };
    while let Some(time) = next_time(view, &mut cursors, budget)? {
        if page.found.len() >= limit {
            page.more = true;
            break;
        }
        let left = limit - page.found.len();
        let quota = whole_ties.map_or(left, |cap| cap.max(left));
        let after_id = after.filter(|after| after.display_time == time).and_then(|after| after.id.as_deref());
        // One more shows whether the tie continues.
        let tie = read_tie(view, &mut cursors, time, after_id, quota.saturating_add(1), budget)?;
        let goes_on = tie.len() > quota;
        page.found.extend(tie.into_iter().take(quota));
        if goes_on {
            page.more = true;
            page.cut = whole_ties.is_some();
            break;
        }
    }
    Ok(page)
}

/// The newest matches of a request.
pub(super) fn newest(
    view: &IndexView,
    request: &Request,
    budget: &mut StepBudget,
) -> Result<Vec<Match>, SearchError> {
    let scope = ViewerScope::new(view, &request.scope, &request.principals)?;
    let plan = Plan::new(&scope, request, None, budget)?;
    let matches = Matches::new(view, &plan, request.from, request.to, budget)?;
    Ok(collect(view, &matches, None, None, request.limit, budget)?.found)
}

fn next_time(
    view: &IndexView,
    cursors: &mut [SegmentCursor<'_>],
    budget: &mut StepBudget,
) -> Result<Option<i64>, SearchError> {
    loop {
        let Some(newest) =
            cursors.iter_mut().filter(|cursor| cursor.time.is_some()).max_by_key(|cursor| cursor.time)
        else {
            return Ok(None);
        };
        let time = newest.time;
        // Others of this time may be closed.
        let mut closed =
            cursors.iter_mut().filter(|cursor| cursor.time == time && cursor.documents.is_none()).peekable();
        if closed.peek().is_none() {
            return Ok(time);
        }
        for cursor in closed {
            cursor.open(view, budget)?;
        }
    }
}

struct SegmentCursor<'a> {
    part: &'a SegmentMatches<'a>,
    /// Start while closed.
    document: DocId,
    documents: Option<Intersection>,
    /// Upper bound while closed; `None` at the end.
    time: Option<i64>,
}

impl<'a> SegmentCursor<'a> {
    fn new(part: &'a SegmentMatches<'a>, after: Option<&TimePosition>) -> Self {
        let start = match after {
            None => 0,
            Some(TimePosition { display_time, id: None }) => part.segment.first_below(*display_time),
            Some(TimePosition { display_time, id: Some(_) }) => part.segment.first_at_or_below(*display_time),
        };
        let start = start.max(part.range.start);
        let time = (start < part.range.end).then(|| part.segment.opened.times.get_val(start));
        Self { part, document: start, documents: None, time }
    }

    fn open(&mut self, view: &IndexView, budget: &mut StepBudget) -> Result<(), SearchError> {
        self.documents = Some(self.part.documents(view, self.document, budget)?);
        self.settle(budget)
    }

    fn settle(&mut self, budget: &mut StepBudget) -> Result<(), SearchError> {
        let Some(documents) = &mut self.documents else { return Ok(()) };
        let mut document = documents.doc();
        while document < self.part.range.end && !self.part.is_alive(document) {
            document = documents.advance_within(budget)?;
        }
        self.document = document;
        let is_inside = document < self.part.range.end && document != TERMINATED;
        self.time = is_inside.then(|| self.part.segment.opened.times.get_val(document));
        Ok(())
    }

    fn advance(&mut self, budget: &mut StepBudget) -> Result<(), SearchError> {
        if let Some(documents) = &mut self.documents {
            documents.advance_within(budget)?;
        }
        self.settle(budget)
    }
}

/// Reads all documents of one time; returns the `limit` smallest ids.
fn read_tie(
    view: &IndexView,
    cursors: &mut [SegmentCursor<'_>],
    time: i64,
    after_id: Option<&str>,
    limit: usize,
    budget: &mut StepBudget,
) -> Result<Vec<Match>, SearchError> {
    let mut ties: Vec<(usize, SmallestIds<'_>)> = Vec::new();
    for cursor in cursors.iter_mut().filter(|cursor| cursor.time == Some(time)) {
        let segment = cursor.part.ordinal;
        // Parts of one segment are adjacent.
        let mut smallest = match ties.pop_if(|(last, _)| *last == segment) {
            Some((_, smallest)) => smallest,
            None => SmallestIds::new(&view.segments[segment].opened, after_id, limit)?,
        };
        while cursor.time == Some(time) {
            smallest.push(cursor.document);
            cursor.advance(budget)?;
        }
        ties.push((segment, smallest));
    }
    let found = |segment, document| Match { segment, document, display_time: time };
    if ties.len() == 1
        && let Some((segment, smallest)) = ties.pop()
    {
        return Ok(smallest.finish().into_iter().map(|(_, document)| found(segment, document)).collect());
    }
    let mut named: Vec<(Vec<u8>, Match)> = Vec::new();
    for (segment, mut smallest) in ties {
        let opened = smallest.segment;
        smallest.read();
        let (ordinals, documents): (Vec<u64>, Vec<DocId>) = smallest.finish().into_iter().unzip();
        let ids = read_ids(opened, &ordinals)?;
        named.extend(ids.into_iter().zip(documents).map(|(id, document)| (id, found(segment, document))));
    }
    named.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    named.truncate(limit);
    Ok(named.into_iter().map(|(_, found)| found).collect())
}

/// Ids of ascending ordinals.
fn read_ids(segment: &OpenedSegment, ordinals: &[u64]) -> Result<Vec<Vec<u8>>, Error> {
    let mut ids = Vec::with_capacity(ordinals.len());
    segment.ids.dictionary().sorted_ords_to_term_cb(ordinals, |id| ids.push(id.to_vec()))?;
    if ids.len() == ordinals.len() {
        Ok(ids)
    } else {
        Err(Error::Unusable("an id is missing from its dictionary".to_owned()))
    }
}

/// Keeps the smallest ids of a segment in bounded memory.
struct SmallestIds<'a> {
    segment: &'a OpenedSegment,
    least: u64,
    limit: usize,
    unread: Vec<DocId>,
    candidates: Vec<(u64, DocId)>,
    bound: u64,
}

impl<'a> SmallestIds<'a> {
    fn new(segment: &'a OpenedSegment, after_id: Option<&str>, limit: usize) -> Result<Self, Error> {
        let least = match after_id {
            None => 0,
            Some(id) => match segment.ids.dictionary().term_ord_or_next(id)? {
                TermOrdHit::Exact(ordinal) => ordinal + 1,
                TermOrdHit::Next(ordinal) => ordinal,
            },
        };
        Ok(Self { segment, least, limit, unread: Vec::new(), candidates: Vec::new(), bound: u64::MAX })
    }

    fn push(&mut self, document: DocId) {
        self.unread.push(document);
        if self.unread.len() == TIE_CHUNK {
            self.read();
        }
    }

    fn read(&mut self) {
        let mut ordinals = [0; TIE_CHUNK];
        let ordinals = &mut ordinals[..self.unread.len()];
        self.segment.id_ordinals.get_vals(&self.unread, ordinals);
        for (&ordinal, document) in ordinals.iter().zip(self.unread.drain(..)) {
            if ordinal >= self.least && ordinal < self.bound {
                self.candidates.push((ordinal, document));
            }
        }
        if self.candidates.len() >= self.limit.saturating_mul(2) {
            self.candidates.select_nth_unstable(self.limit);
            self.bound = self.candidates[self.limit].0;
            self.candidates.truncate(self.limit);
        }
    }

    /// A single document needs no ordinal and gets 0.
    fn finish(mut self) -> Vec<(u64, DocId)> {
        if let [document] = self.unread[..]
            && self.candidates.is_empty()
            && self.least == 0
        {
            return vec![(0, document)];
        }
        self.read();
        self.candidates.sort_unstable();
        self.candidates.truncate(self.limit);
        self.candidates
    }
}
