//! A page in time order: each part is sought where the page begins and read only as far as the page goes.
//!
//! Segments are sorted by time, so the parts are merged as they are read. Ids decide within one time only, so the
//! documents of one time (a tie) are read whole, from all parts, and the smallest ids are kept.

use tantivy::columnar::TermOrdHit;
use tantivy::{DocId, DocSet, TERMINATED};

use super::matches::{Matches, MatchesOfPart};
use super::readers::Documents;
use super::work::{Stop, Work};
use super::{Found, TimePosition};
use crate::Error;
use crate::view::{OpenedSegment, View};

/// Documents of a tie whose ids are looked up at once.
const TIE_CHUNK: usize = 256;

/// What a page holds.
pub(super) struct TimePage {
    pub(super) found: Vec<Found>,
    pub(super) more: bool,
    pub(super) cut: bool,
}

/// Reads the page behind `after`.
pub(super) fn collect(
    view: &View,
    matches: &Matches<'_>,
    after: Option<&TimePosition>,
    whole_ties: Option<usize>,
    limit: usize,
    work: &mut Work,
) -> Result<TimePage, Stop> {
    let mut cursors: Vec<Cursor<'_>> = matches.parts.iter().map(|part| Cursor::new(part, after)).collect();
    let mut page = TimePage { found: Vec::with_capacity(limit.min(1_024)), more: false, cut: false };
    while let Some(time) = next_time(view, &mut cursors, work)? {
        if page.found.len() >= limit {
            page.more = true;
            break;
        }
        let left = limit - page.found.len();
        let quota = whole_ties.map_or(left, |cap| cap.max(left));
        let behind = after.filter(|after| after.display_time == time).and_then(|after| after.id.as_deref());
        // One more than there is room for tells whether the tie goes on.
        let tie = read_tie(view, &mut cursors, time, behind, quota.saturating_add(1), work)?;
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

/// The greatest time that is left. Parts that have nothing as new are not even opened.
fn next_time(view: &View, cursors: &mut [Cursor<'_>], work: &mut Work) -> Result<Option<i64>, Stop> {
    loop {
        let Some(newest) =
            cursors.iter_mut().filter(|cursor| cursor.time.is_some()).max_by_key(|cursor| cursor.time)
        else {
            return Ok(None);
        };
        let time = newest.time;
        // Others of the same time may be closed yet.
        let mut closed =
            cursors.iter_mut().filter(|cursor| cursor.time == time && cursor.documents.is_none()).peekable();
        if closed.peek().is_none() {
            return Ok(time);
        }
        for cursor in closed {
            cursor.open(view, work)?;
        }
    }
}

/// The documents of one part, newest first.
struct Cursor<'a> {
    part: &'a MatchesOfPart<'a>,
    /// The current document, or while it is closed, where it begins.
    document: DocId,
    documents: Option<Documents>,
    /// The current document's time, or while it is closed, that of the newest that it may have; none at the end.
    time: Option<i64>,
}

impl<'a> Cursor<'a> {
    fn new(part: &'a MatchesOfPart<'a>, after: Option<&TimePosition>) -> Self {
        let start = match after {
            None => 0,
            Some(TimePosition { display_time, id: None }) => part.segment.first_below(*display_time),
            Some(TimePosition { display_time, id: Some(_) }) => part.segment.first_at_or_below(*display_time),
        };
        let start = start.max(part.range.start);
        let time = (start < part.range.end).then(|| part.segment.opened.times.get_val(start));
        Self { part, document: start, documents: None, time }
    }

    fn open(&mut self, view: &View, work: &mut Work) -> Result<(), Stop> {
        self.documents = Some(self.part.documents(view, self.document, work)?);
        self.settle(work)
    }

    /// Steps over deleted documents and learns the time of the one it comes to stand on.
    fn settle(&mut self, work: &mut Work) -> Result<(), Stop> {
        let Some(documents) = &mut self.documents else { return Ok(()) };
        let mut document = documents.doc();
        while document < self.part.range.end && !self.part.is_alive(document) {
            document = documents.advance_within(work)?;
        }
        self.document = document;
        let is_inside = document < self.part.range.end && document != TERMINATED;
        self.time = is_inside.then(|| self.part.segment.opened.times.get_val(document));
        Ok(())
    }

    fn advance(&mut self, work: &mut Work) -> Result<(), Stop> {
        if let Some(documents) = &mut self.documents {
            documents.advance_within(work)?;
        }
        self.settle(work)
    }
}

/// Reads all documents of one time, the greatest that is left; gives those with the smallest ids, at most `wanted`.
fn read_tie(
    view: &View,
    cursors: &mut [Cursor<'_>],
    time: i64,
    behind: Option<&str>,
    wanted: usize,
    work: &mut Work,
) -> Result<Vec<Found>, Stop> {
    let mut ties: Vec<(usize, SmallestIds<'_>)> = Vec::new();
    for cursor in cursors.iter_mut().filter(|cursor| cursor.time == Some(time)) {
        let segment = cursor.part.ordinal;
        // The parts of one segment stand beside each other.
        let mut smallest = match ties.pop_if(|(last, _)| *last == segment) {
            Some((_, smallest)) => smallest,
            None => SmallestIds::new(&view.segments[segment].opened, behind, wanted)?,
        };
        while cursor.time == Some(time) {
            smallest.push(cursor.document);
            cursor.advance(work)?;
        }
        ties.push((segment, smallest));
    }
    let found = |segment, document| Found { segment, document, display_time: time };
    if ties.len() == 1
        && let Some((segment, smallest)) = ties.pop()
    {
        return Ok(smallest.finish().into_iter().map(|(_, document)| found(segment, document)).collect());
    }
    let mut named: Vec<(Vec<u8>, Found)> = Vec::new();
    for (segment, mut smallest) in ties {
        let opened = smallest.segment;
        smallest.read();
        let (ordinals, documents): (Vec<u64>, Vec<DocId>) = smallest.finish().into_iter().unzip();
        let ids = read_ids(opened, &ordinals)?;
        named.extend(ids.into_iter().zip(documents).map(|(id, document)| (id, found(segment, document))));
    }
    named.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    named.truncate(wanted);
    Ok(named.into_iter().map(|(_, found)| found).collect())
}

/// The ids at these ordinals, which ascend.
fn read_ids(segment: &OpenedSegment, ordinals: &[u64]) -> Result<Vec<Vec<u8>>, Error> {
    let mut ids = Vec::with_capacity(ordinals.len());
    segment.ids.dictionary().sorted_ords_to_term_cb(ordinals, |id| ids.push(id.to_vec()))?;
    if ids.len() == ordinals.len() {
        Ok(ids)
    } else {
        Err(Error::Unusable("an id is missing from its dictionary".to_owned()))
    }
}

/// Keeps the documents with the smallest ids of one segment, in bounded memory.
struct SmallestIds<'a> {
    segment: &'a OpenedSegment,
    /// The least ordinal that is behind the cursor.
    least: u64,
    wanted: usize,
    unread: Vec<DocId>,
    kept: Vec<(u64, DocId)>,
    /// Ordinals from here on are not among the smallest.
    bound: u64,
}

impl<'a> SmallestIds<'a> {
    /// Of the ids behind `behind`, where it is given.
    fn new(segment: &'a OpenedSegment, behind: Option<&str>, wanted: usize) -> Result<Self, Error> {
        let least = match behind {
            None => 0,
            Some(id) => match segment.ids.dictionary().term_ord_or_next(id)? {
                TermOrdHit::Exact(ordinal) => ordinal + 1,
                TermOrdHit::Next(ordinal) => ordinal,
            },
        };
        Ok(Self { segment, least, wanted, unread: Vec::new(), kept: Vec::new(), bound: u64::MAX })
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
                self.kept.push((ordinal, document));
            }
        }
        if self.kept.len() >= self.wanted.saturating_mul(2) {
            self.kept.select_nth_unstable(self.wanted);
            self.bound = self.kept[self.wanted].0;
            self.kept.truncate(self.wanted);
        }
    }

    /// The smallest, ascending. One document alone needs no ordinal, and 0 stands for it.
    fn finish(mut self) -> Vec<(u64, DocId)> {
        if let [document] = self.unread[..]
            && self.kept.is_empty()
            && self.least == 0
        {
            return vec![(0, document)];
        }
        self.read();
        self.kept.sort_unstable();
        self.kept.truncate(self.wanted);
        self.kept
    }
}
