//! What a branch needs, found in one segment: lists of documents, to be read together or counted.

use std::ops::Range;
use std::sync::Arc;

use tantivy::index::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::query::Weight;
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocId, DocSet, TERMINATED};

use super::expansion::SegmentWords;
use super::matches::DOCUMENTS_A_STEP;
use super::plan::{Branch, Need};
use super::readers::{Documents, Reader};
use super::unions;
use super::work::{Stop, Work};
use crate::remembered::fingerprint;
use crate::sets::{Bits, DocumentSet, SPARSE};
use crate::view::{Segment, View};

/// A set of a common term is made for counting where the term has at most so many times the documents of the rarest one: to
/// seek each of those in its postings would be more work.
const WORTH: u32 = 8;
/// From this document on, a known set is read rather than postings, whose beginning would have to be skipped block by block.
const DEEP: DocId = 32_768;

/// The documents of a branch in a segment: those in all of `required` and none of `excluded`.
pub(super) struct Lists<'a> {
    /// The shortest first; never empty.
    pub(super) required: Vec<List<'a>>,
    pub(super) excluded: Vec<List<'a>>,
    /// Of the words that beginnings stood for.
    pub(super) fingerprint: u64,
}

/// Documents of a segment, ascending; those that are deleted are among them.
pub(super) enum List<'a> {
    Postings(&'a Term, Arc<InvertedIndexReader>, TermInfo),
    Set(Arc<DocumentSet>),
    /// Terms at their offsets, what finds them, and at most how many they are.
    Phrase(&'a Arc<[(usize, Term)]>, &'a dyn Weight, u32),
    Every(Vec<List<'a>>),
}

impl<'a> Lists<'a> {
    /// Finds them; `None` where the segment has no such document.
    pub(super) fn find(
        view: &View,
        ordinal: usize,
        branch: &'a Branch,
        work: &mut Work,
    ) -> Result<Option<Self>, Stop> {
        let mut finder = Finder { view, segment: &view.segments[ordinal], ordinal, fingerprint: 0, work };
        let mut required = Vec::with_capacity(branch.required.len());
        for need in &branch.required {
            match finder.find(need)? {
                Some(list) => required.push(list),
                None => return Ok(None),
            }
        }
        required.sort_by_key(List::most);
        let mut excluded = Vec::with_capacity(branch.excluded.len());
        for need in &branch.excluded {
            excluded.extend(finder.find(need)?);
        }
        Ok(Some(Self { required, excluded, fingerprint: finder.fingerprint }))
    }

    /// The one list that there is.
    pub(super) fn only(&self) -> Option<&List<'a>> {
        match (self.required.as_slice(), self.excluded.as_slice()) {
            ([only], []) => Some(only),
            _ => None,
        }
    }

    /// Reads them, from the first document at or behind `from` on.
    pub(super) fn read(
        &self,
        view: &View,
        segment: &Segment,
        from: DocId,
        work: &mut Work,
    ) -> Result<Documents, Stop> {
        let read = |list: &List<'a>| list.read(view, segment, from);
        let required = self.required.iter().map(read).collect::<Result<_, _>>()?;
        let excluded = self.excluded.iter().map(read).collect::<Result<_, _>>()?;
        Documents::new(required, excluded, from, work)
    }

    /// The same lists for counting: those of common terms as sets.
    fn for_counting(&self, view: &View, segment: &Segment, work: &mut Work) -> Result<Self, Stop> {
        let rarest = self.required.iter().map(List::most).min().unwrap_or(0);
        let mut dense = |list: &List<'a>| list.for_counting(view, segment, rarest, work);
        let mut required = self.required.iter().map(&mut dense).collect::<Result<Vec<_>, Stop>>()?;
        required.sort_by_key(List::most);
        let excluded = self.excluded.iter().map(dense).collect::<Result<_, Stop>>()?;
        Ok(Self { required, excluded, fingerprint: self.fingerprint })
    }

    /// How many of the documents in the range are not deleted.
    pub(super) fn count(
        &self,
        view: &View,
        segment: &Segment,
        range: &Range<DocId>,
        work: &mut Work,
    ) -> Result<u32, Stop> {
        if segment.reader.num_deleted_docs() == 0
            && let Some(count) = self.only().and_then(|only| only.count(segment, range))
        {
            work.take(1)?;
            return Ok(count?);
        }
        let lists = self.for_counting(view, segment, work)?;
        if let Some(count) = lists.count_by_words(segment, range, work)? {
            return Ok(count);
        }
        if let Some(only @ List::Postings(_, _, info)) = lists.only() {
            // Looking for the deleted among the matches pays where they are the fewer.
            if segment.reader.num_deleted_docs() < info.doc_freq / 4
                && let Some(count) = only.count(segment, range)
            {
                work.take(u64::from(segment.reader.max_doc() / DOCUMENTS_A_STEP))?;
                let deleted = segment.deleted();
                let first = deleted.partition_point(|&document| document < range.start);
                let last = deleted.partition_point(|&document| document < range.end);
                return Ok(count? - lists.count_among(view, segment, &deleted[first..last], work)?);
            }
        }
        lists.count_each(view, segment, range, work)
    }

    /// How many of these documents, which ascend, are in the lists.
    pub(super) fn count_among(
        &self,
        view: &View,
        segment: &Segment,
        among: &[DocId],
        work: &mut Work,
    ) -> Result<u32, Stop> {
        let Some(&first) = among.first() else { return Ok(0) };
        work.take(among.len() as u64 * 4)?;
        let mut documents = self.read(view, segment, first, work)?;
        let mut count = 0;
        for &document in among {
            if documents.doc() < document {
                documents.seek_within(document, work)?;
            }
            count += u32::from(documents.doc() == document);
        }
        Ok(count)
    }

    fn count_each(
        &self,
        view: &View,
        segment: &Segment,
        range: &Range<DocId>,
        work: &mut Work,
    ) -> Result<u32, Stop> {
        let mut documents = self.read(view, segment, range.start, work)?;
        let mut count = 0;
        while documents.doc() < range.end && documents.doc() != TERMINATED {
            count += u32::from(segment.is_alive(documents.doc()));
            documents.advance_within(work)?;
        }
        Ok(count)
    }

    /// Counts 64 documents at once, where all lists are sets of many.
    fn count_by_words(
        &self,
        segment: &Segment,
        range: &Range<DocId>,
        work: &mut Work,
    ) -> Result<Option<u32>, Stop> {
        let bits = |lists: &'_ [List<'a>]| lists.iter().map(List::bits).collect::<Option<Vec<_>>>().is_some();
        if !bits(&self.required) || !bits(&self.excluded) {
            return Ok(None);
        }
        let words = (range.start / 64) as usize..range.end.div_ceil(64) as usize;
        let lists = (self.required.len() + self.excluded.len() + 1) as u64;
        work.take(words.len() as u64 * lists / 8)?;
        if segment.reader.has_deletes() {
            work.take(u64::from(segment.reader.max_doc() / DOCUMENTS_A_STEP))?;
        }
        let required: Vec<&Bits> = self.required.iter().filter_map(List::bits).collect();
        let excluded: Vec<&Bits> = self.excluded.iter().filter_map(List::bits).collect();
        let deleted = segment.deleted_words();
        let matching = |place: usize| {
            let all = required.iter().fold(u64::MAX, |all, bits| all & bits.words()[place]);
            let none = excluded.iter().fold(0, |none, bits| none | bits.words()[place]);
            all & !none & !deleted.get(place).copied().unwrap_or(0)
        };
        let mut count: u32 = words.clone().map(|place| matching(place).count_ones()).sum();
        // What the first and the last word have outside of the range.
        if !range.start.is_multiple_of(64) {
            count -= (matching(words.start) & !(u64::MAX << (range.start % 64))).count_ones();
        }
        if !range.end.is_multiple_of(64) {
            count -= (matching(words.end - 1) & (u64::MAX << (range.end % 64))).count_ones();
        }
        Ok(Some(count))
    }
}

impl List<'_> {
    /// At most how many documents it holds.
    fn most(&self) -> u32 {
        match self {
            Self::Postings(_, _, info) => info.doc_freq,
            Self::Set(set) => set.len(),
            Self::Phrase(_, _, most) => *most,
            Self::Every(lists) => lists.iter().map(Self::most).min().unwrap_or(0),
        }
    }

    /// Whether counting it reads next to nothing, as long as nothing is deleted and all times are asked for.
    pub(super) fn is_counted_at_once(&self) -> bool {
        matches!(self, Self::Postings(..) | Self::Set(_))
    }

    fn bits(&self) -> Option<&Bits> {
        match self {
            Self::Set(set) => match &**set {
                DocumentSet::Many(bits) => Some(bits),
                DocumentSet::Few(_) => None,
            },
            _ => None,
        }
    }

    fn read(&self, view: &View, segment: &Segment, from: DocId) -> Result<Reader, Stop> {
        let known = match self {
            Self::Postings(term, _, info) if from >= DEEP => unions::known_of_term(view, segment, term, info),
            // It was counted before.
            Self::Phrase(terms, ..) => unions::known_of_phrase(view, segment, terms),
            _ => None,
        };
        if let Some(known) = known {
            return Ok(Reader::Set(known.read()));
        }
        Ok(match self {
            Self::Postings(_, index, info) => {
                Reader::Postings(Box::new(index.read_postings_from_terminfo(info, IndexRecordOption::Basic)?))
            }
            Self::Set(set) => Reader::Set(set.read()),
            Self::Phrase(_, weight, _) => Reader::Other(Box::new(weight.scorer(&segment.reader, 1.0)?)),
            Self::Every(lists) => {
                let readers =
                    lists.iter().map(|list| list.read(view, segment, from)).collect::<Result<_, _>>()?;
                let documents = Documents::new(readers, Vec::new(), 0, &mut Work::unbounded())?;
                Reader::Other(Box::new(documents))
            }
        })
    }

    /// The documents in the range, deleted ones included, where that needs no reading of all.
    fn count(&self, segment: &Segment, range: &Range<DocId>) -> Option<std::io::Result<u32>> {
        match self {
            Self::Postings(_, _, info) if *range == (0..segment.reader.max_doc()) => Some(Ok(info.doc_freq)),
            Self::Postings(_, index, info) => {
                let blocks = index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic);
                Some(blocks.map(|mut blocks| {
                    let before = blocks.rank(range.start);
                    blocks.rank(range.end) - before
                }))
            }
            Self::Set(set) => Some(Ok(set.count(range))),
            Self::Phrase(..) | Self::Every(_) => None,
        }
    }

    fn for_counting(
        &self,
        view: &View,
        segment: &Segment,
        rarest: u32,
        work: &mut Work,
    ) -> Result<Self, Stop> {
        Ok(match self {
            Self::Postings(term, index, info) => {
                let known = unions::known_of_term(view, segment, term, info);
                let is_worth_it =
                    info.doc_freq > segment.reader.max_doc() / SPARSE && info.doc_freq / WORTH <= rarest;
                match known {
                    Some(set) => Self::Set(set),
                    None if is_worth_it => {
                        Self::Set(unions::of_term(view, segment, term, index, info, work)?)
                    }
                    None => Self::Postings(term, Arc::clone(index), info.clone()),
                }
            }
            Self::Set(set) => Self::Set(Arc::clone(set)),
            Self::Phrase(terms, weight, most) => match unions::known_of_phrase(view, segment, terms) {
                Some(set) => Self::Set(set),
                None if most / WORTH <= rarest => {
                    Self::Set(unions::of_phrase(view, segment, terms, *weight)?)
                }
                None => Self::Phrase(terms, *weight, *most),
            },
            Self::Every(lists) => Self::Every(
                lists
                    .iter()
                    .map(|list| list.for_counting(view, segment, rarest, work))
                    .collect::<Result<_, Stop>>()?,
            ),
        })
    }
}

/// Finds lists in one segment.
struct Finder<'v, 'w> {
    view: &'v View,
    segment: &'v Segment,
    ordinal: usize,
    fingerprint: u64,
    work: &'w mut Work,
}

impl Finder<'_, '_> {
    fn find<'a>(&mut self, need: &'a Need) -> Result<Option<List<'a>>, Stop> {
        Ok(match need {
            Need::Term(term, places) => {
                let Some(info) = &places.by_segment[self.ordinal].1 else { return Ok(None) };
                let index = self.segment.inverted_index(term.field(), self.view.fields)?;
                Some(List::Postings(term, index, info.clone()))
            }
            Need::AnyTerm(terms, places) => {
                let there = terms.iter().zip(places).filter_map(|(term, places)| {
                    places.by_segment[self.ordinal].1.as_ref().map(|info| (term, info))
                });
                let (there, infos): (Vec<&Term>, Vec<TermInfo>) =
                    there.map(|(term, info)| (term, info.clone())).unzip();
                let words = fingerprint(there.iter().map(|term| term.serialized_value_bytes()));
                self.fingerprint = self.fingerprint.rotate_left(7) ^ words;
                match (there.as_slice(), infos.as_slice()) {
                    ([], _) => None,
                    ([term], [info]) => {
                        let index = self.segment.inverted_index(term.field(), self.view.fields)?;
                        Some(List::Postings(term, index, info.clone()))
                    }
                    _ => Some(List::Set(unions::of_any(self.view, self.segment, &there, &infos, self.work)?)),
                }
            }
            Need::Phrase(terms, places, weight) => {
                let mut most = u32::MAX;
                for places in places {
                    match &places.by_segment[self.ordinal].1 {
                        Some(info) => most = most.min(info.doc_freq),
                        None => return Ok(None),
                    }
                }
                if let Some(set) = unions::known_of_phrase(self.view, self.segment, terms) {
                    return Ok((set.len() > 0).then_some(List::Set(set)));
                }
                // Reading positions is some ten times the work of reading documents, and cannot be broken off.
                self.work.take(u64::from(most) * 10 * terms.len() as u64)?;
                Some(List::Phrase(terms, weight.as_ref(), most))
            }
            Need::Words(expansion) => {
                let words: &SegmentWords = &expansion.segments[self.ordinal];
                self.fingerprint = self.fingerprint.rotate_left(7) ^ words.fingerprint;
                let set = unions::of_words(self.view, self.segment, words, self.work)?;
                (set.len() > 0).then_some(List::Set(set))
            }
            Need::Seen(viewer, prefix) => {
                let set = unions::of_viewer(self.view, self.segment, viewer, prefix, self.work)?;
                (set.len() > 0).then_some(List::Set(set))
            }
            Need::Every(needs) => {
                let mut lists = Vec::with_capacity(needs.len());
                for need in needs {
                    match self.find(need)? {
                        Some(list) => lists.push(list),
                        None => return Ok(None),
                    }
                }
                // They are read together with no account of it.
                self.work.take(lists.iter().map(List::most).min().map_or(0, u64::from))?;
                Some(List::Every(lists))
            }
        })
    }
}
