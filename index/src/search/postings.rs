//! Posting lists of a branch in one segment.
//!
//! They are intersected from the shortest, or counted 64 documents at a time.

use std::ops::Range;
use std::sync::Arc;

use tantivy::index::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::query::Weight;
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocId, DocSet, TERMINATED};

use super::budget::{DOCUMENTS_PER_STEP, SearchError, StepBudget};
use super::plan::{Branch, Requirement};
use super::readers::{Intersection, ListReader};
use super::set_builder;
use crate::document_set::{Bitmap, DocumentSet, SPARSE_SHARE, WORD_BITS};
use crate::expansion::SegmentExpansion;
use crate::segment_cache::fingerprint;
use crate::view::{IndexView, Segment};

/// Terms above this multiple of the rarest list are sought, not turned into sets.
const SET_WORTH_RATIO: u32 = 8;
/// A cached set is cheaper than skipping postings from here on.
const DEEP_START: DocId = 32_768;

/// Documents in all of `required` and none of `excluded`.
pub(super) struct BranchPostings<'a> {
    /// Shortest first; never empty.
    pub(super) required: Vec<PostingList<'a>>,
    pub(super) excluded: Vec<PostingList<'a>>,
    /// Hash of the words of expanded prefixes.
    pub(super) fingerprint: u64,
}

/// Ascending, deleted documents included.
pub(super) enum PostingList<'a> {
    Postings(&'a Term, Arc<InvertedIndexReader>, TermInfo),
    Set(Arc<DocumentSet>),
    Phrase(&'a Arc<[(usize, Term)]>, &'a dyn Weight, u32),
    All(Vec<PostingList<'a>>),
    Any(Vec<PostingList<'a>>),
}

impl<'a> BranchPostings<'a> {
    /// `None` if a required list is empty.
    pub(super) fn find(
        view: &IndexView,
        ordinal: usize,
        branch: &'a Branch,
        budget: &mut StepBudget,
    ) -> Result<Option<Self>, SearchError> {
        let mut finder =
            PostingFinder { view, segment: &view.segments[ordinal], ordinal, fingerprint: 0, budget };
        let mut required = Vec::with_capacity(branch.required.len());
        for requirement in &branch.required {
            match finder.find(requirement)? {
                Some(list) => required.push(list),
                None => return Ok(None),
            }
        }
        required.sort_by_key(PostingList::max_len);
        let mut excluded = Vec::with_capacity(branch.excluded.len());
        for requirement in &branch.excluded {
            excluded.extend(finder.find(requirement)?);
        }
        Ok(Some(Self { required, excluded, fingerprint: finder.fingerprint }))
    }

    pub(super) fn single(&self) -> Option<&PostingList<'a>> {
        match (self.required.as_slice(), self.excluded.as_slice()) {
            ([only], []) => Some(only),
            _ => None,
        }
    }

    /// Reads from the first match at or after `from`.
    pub(super) fn read(
        &self,
        view: &IndexView,
        segment: &Segment,
        from: DocId,
        budget: &mut StepBudget,
    ) -> Result<Intersection, SearchError> {
        let read = |list: &PostingList<'a>| list.read(view, segment, from);
        let required = self.required.iter().map(read).collect::<Result<_, _>>()?;
        let excluded = self.excluded.iter().map(read).collect::<Result<_, _>>()?;
        Intersection::new(required, excluded, from, budget)
    }

    fn for_counting(
        &self,
        view: &IndexView,
        segment: &Segment,
        budget: &mut StepBudget,
    ) -> Result<Self, SearchError> {
        let rarest = self.required.iter().map(PostingList::max_len).min().unwrap_or(0);
        let mut dense = |list: &PostingList<'a>| list.for_counting(view, segment, rarest, budget);
        let mut required = self.required.iter().map(&mut dense).collect::<Result<Vec<_>, SearchError>>()?;
        required.sort_by_key(PostingList::max_len);
        let excluded = self.excluded.iter().map(dense).collect::<Result<_, SearchError>>()?;
        Ok(Self { required, excluded, fingerprint: self.fingerprint })
    }

    /// Counts live documents in the range.
    pub(super) fn count(
        &self,
        view: &IndexView,
        segment: &Segment,
        range: &Range<DocId>,
        budget: &mut StepBudget,
    ) -> Result<u32, SearchError> {
        if segment.reader.num_deleted_docs() == 0
            && let Some(count) = self.single().and_then(|only| only.count(segment, range))
        {
            budget.take(1)?;
            return Ok(count?);
        }
        let lists = self.for_counting(view, segment, budget)?;
        if let Some(count) = lists.count_bitmaps(segment, range, budget)? {
            return Ok(count);
        }
        if let Some(only @ PostingList::Postings(_, _, info)) = lists.single() {
            // Subtracting deleted matches pays if they are few.
            if segment.reader.num_deleted_docs() < info.doc_freq / 4
                && let Some(count) = only.count(segment, range)
            {
                budget.take(u64::from(segment.reader.max_doc() / DOCUMENTS_PER_STEP))?;
                return Ok(count? - lists.count_among(view, segment, segment.deleted(), range, budget)?);
            }
        }
        lists.count_each(view, segment, range, budget)
    }

    /// Counts matches in the range among ascending documents.
    pub(super) fn count_among(
        &self,
        view: &IndexView,
        segment: &Segment,
        among: &[DocId],
        range: &Range<DocId>,
        budget: &mut StepBudget,
    ) -> Result<u32, SearchError> {
        let index_of = |end: DocId| among.partition_point(|&document| document < end);
        let among = &among[index_of(range.start)..index_of(range.end)];
        let Some(&first) = among.first() else { return Ok(0) };
        budget.take(among.len() as u64 * 4)?;
        let mut documents = self.read(view, segment, first, budget)?;
        let mut count = 0;
        for &document in among {
            if documents.doc() < document {
                documents.seek_within(document, budget)?;
            }
            count += u32::from(documents.doc() == document);
        }
        Ok(count)
    }

    fn count_each(
        &self,
        view: &IndexView,
        segment: &Segment,
        range: &Range<DocId>,
        budget: &mut StepBudget,
    ) -> Result<u32, SearchError> {
        let mut documents = self.read(view, segment, range.start, budget)?;
        let mut count = 0;
        while documents.doc() < range.end && documents.doc() != TERMINATED {
            count += u32::from(segment.is_alive(documents.doc()));
            documents.advance_within(budget)?;
        }
        Ok(count)
    }

    /// Counts 64 documents at a time; `None` unless all lists are bitmaps.
    fn count_bitmaps(
        &self,
        segment: &Segment,
        range: &Range<DocId>,
        budget: &mut StepBudget,
    ) -> Result<Option<u32>, SearchError> {
        let bits = |lists: &'_ [PostingList<'a>]| {
            lists.iter().map(PostingList::bits).collect::<Option<Vec<_>>>().is_some()
        };
        if !bits(&self.required) || !bits(&self.excluded) {
            return Ok(None);
        }
        let words = (range.start / WORD_BITS) as usize..range.end.div_ceil(WORD_BITS) as usize;
        let lists = (self.required.len() + self.excluded.len() + 1) as u64;
        budget.take(words.len() as u64 * lists / 8)?;
        if segment.reader.has_deletes() {
            budget.take(u64::from(segment.reader.max_doc() / DOCUMENTS_PER_STEP))?;
        }
        let required: Vec<&Bitmap> = self.required.iter().filter_map(PostingList::bits).collect();
        let excluded: Vec<&Bitmap> = self.excluded.iter().filter_map(PostingList::bits).collect();
        let deleted = segment.deleted_words();
        let matching = |place: usize| {
            let all = required.iter().fold(u64::MAX, |all, bits| all & bits.words()[place]);
            let none = excluded.iter().fold(0, |none, bits| none | bits.words()[place]);
            all & !none & !deleted.get(place).copied().unwrap_or(0)
        };
        let mut count: u32 = words.clone().map(|place| matching(place).count_ones()).sum();
        // Subtracts bits outside the range.
        if !range.start.is_multiple_of(WORD_BITS) {
            count -= (matching(words.start) & !(u64::MAX << (range.start % WORD_BITS))).count_ones();
        }
        if !range.end.is_multiple_of(WORD_BITS) {
            count -= (matching(words.end - 1) & (u64::MAX << (range.end % WORD_BITS))).count_ones();
        }
        Ok(Some(count))
    }
}

impl PostingList<'_> {
    fn max_len(&self) -> u32 {
        match self {
            Self::Postings(_, _, info) => info.doc_freq,
            Self::Set(set) => set.len(),
            Self::Phrase(_, _, most) => *most,
            Self::All(lists) => lists.iter().map(Self::max_len).min().unwrap_or(0),
            Self::Any(lists) => lists.iter().map(Self::max_len).fold(0, u32::saturating_add),
        }
    }

    /// Whether the count is stored, if nothing is deleted and no time excluded.
    pub(super) fn is_cheap_to_count(&self) -> bool {
        matches!(self, Self::Postings(..) | Self::Set(_))
    }

    fn bits(&self) -> Option<&Bitmap> {
        match self {
            Self::Set(set) => match &**set {
                DocumentSet::Dense(bits) => Some(bits),
                DocumentSet::Sparse(_) => None,
            },
            _ => None,
        }
    }

    fn read(&self, view: &IndexView, segment: &Segment, from: DocId) -> Result<ListReader, SearchError> {
        let cached = match self {
            Self::Postings(term, _, info) if from >= DEEP_START => {
                set_builder::cached_term_set(view, segment, term, info)
            }
            Self::Phrase(terms, ..) => set_builder::cached_phrase_set(view, segment, terms),
            _ => None,
        };
        if let Some(cached) = cached {
            return Ok(ListReader::Set(cached.read()));
        }
        Ok(match self {
            Self::Postings(_, index, info) => ListReader::Postings(Box::new(
                index.read_postings_from_terminfo(info, IndexRecordOption::Basic)?,
            )),
            Self::Set(set) => ListReader::Set(set.read()),
            Self::Phrase(_, weight, _) => ListReader::Other(Box::new(weight.scorer(&segment.reader, 1.0)?)),
            Self::All(lists) => {
                let readers =
                    lists.iter().map(|list| list.read(view, segment, from)).collect::<Result<_, _>>()?;
                let documents = Intersection::new(readers, Vec::new(), 0, &mut StepBudget::unbounded())?;
                ListReader::Other(Box::new(documents))
            }
            Self::Any(lists) => ListReader::Any(
                lists.iter().map(|list| list.read(view, segment, from)).collect::<Result<_, _>>()?,
            ),
        })
    }

    /// Deleted documents included; `None` if expensive.
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
            Self::Phrase(..) | Self::All(_) | Self::Any(_) => None,
        }
    }

    fn for_counting(
        &self,
        view: &IndexView,
        segment: &Segment,
        rarest: u32,
        budget: &mut StepBudget,
    ) -> Result<Self, SearchError> {
        Ok(match self {
            Self::Postings(term, index, info) => {
                let cached = set_builder::cached_term_set(view, segment, term, info);
                let is_worth_it = info.doc_freq > segment.reader.max_doc() / SPARSE_SHARE
                    && info.doc_freq / SET_WORTH_RATIO <= rarest;
                match cached {
                    Some(set) => Self::Set(set),
                    None if is_worth_it => {
                        Self::Set(set_builder::term_set(view, segment, term, index, info, budget)?)
                    }
                    None => Self::Postings(term, Arc::clone(index), info.clone()),
                }
            }
            Self::Set(set) => Self::Set(Arc::clone(set)),
            Self::Phrase(terms, weight, most) => match set_builder::cached_phrase_set(view, segment, terms) {
                Some(set) => Self::Set(set),
                None if most / SET_WORTH_RATIO <= rarest => {
                    Self::Set(set_builder::phrase_set(view, segment, terms, *weight)?)
                }
                None => Self::Phrase(terms, *weight, *most),
            },
            Self::All(lists) => Self::All(Self::all_for_counting(lists, view, segment, rarest, budget)?),
            Self::Any(lists) => Self::Any(Self::all_for_counting(lists, view, segment, rarest, budget)?),
        })
    }

    fn all_for_counting(
        lists: &[Self],
        view: &IndexView,
        segment: &Segment,
        rarest: u32,
        budget: &mut StepBudget,
    ) -> Result<Vec<Self>, SearchError> {
        lists.iter().map(|list| list.for_counting(view, segment, rarest, budget)).collect()
    }
}

struct PostingFinder<'v, 'w> {
    view: &'v IndexView,
    segment: &'v Segment,
    ordinal: usize,
    fingerprint: u64,
    budget: &'w mut StepBudget,
}

impl PostingFinder<'_, '_> {
    fn find<'a>(&mut self, requirement: &'a Requirement) -> Result<Option<PostingList<'a>>, SearchError> {
        Ok(match requirement {
            Requirement::Term(term, term_infos) => {
                let Some(info) = &term_infos.by_segment[self.ordinal].1 else { return Ok(None) };
                let index = self.segment.inverted_index(term.field(), self.view.fields)?;
                Some(PostingList::Postings(term, index, info.clone()))
            }
            Requirement::AnyTerm(terms, term_infos) => {
                let present = terms.iter().zip(term_infos).filter_map(|(term, term_infos)| {
                    term_infos.by_segment[self.ordinal].1.as_ref().map(|info| (term, info))
                });
                let (present, infos): (Vec<&Term>, Vec<TermInfo>) =
                    present.map(|(term, info)| (term, info.clone())).unzip();
                let words = fingerprint(present.iter().map(|term| term.serialized_value_bytes()));
                self.fingerprint = self.fingerprint.rotate_left(7) ^ words;
                match (present.as_slice(), infos.as_slice()) {
                    ([], _) => None,
                    ([term], [info]) => {
                        let index = self.segment.inverted_index(term.field(), self.view.fields)?;
                        Some(PostingList::Postings(term, index, info.clone()))
                    }
                    _ => Some(PostingList::Set(set_builder::any_term_set(
                        self.view,
                        self.segment,
                        &present,
                        &infos,
                        self.budget,
                    )?)),
                }
            }
            Requirement::Phrase(terms, term_infos, weight) => {
                let mut most = u32::MAX;
                for term_infos in term_infos {
                    match &term_infos.by_segment[self.ordinal].1 {
                        Some(info) => most = most.min(info.doc_freq),
                        None => return Ok(None),
                    }
                }
                if let Some(set) = set_builder::cached_phrase_set(self.view, self.segment, terms) {
                    return Ok((set.len() > 0).then_some(PostingList::Set(set)));
                }
                // Positions cost ten times as much as documents, and cannot be interrupted.
                self.budget.take(u64::from(most) * 10 * terms.len() as u64)?;
                Some(PostingList::Phrase(terms, weight.as_ref(), most))
            }
            Requirement::Prefix(expansion) => {
                let words: &SegmentExpansion = &expansion.segments[self.ordinal];
                self.fingerprint = self.fingerprint.rotate_left(7) ^ words.fingerprint;
                let set = set_builder::expansion_set(self.view, self.segment, words, self.budget)?;
                (set.len() > 0).then_some(PostingList::Set(set))
            }
            Requirement::VisibleTo(viewer, prefix) => {
                let set = set_builder::viewer_set(self.view, self.segment, viewer, prefix, self.budget)?;
                (set.len() > 0).then_some(PostingList::Set(set))
            }
            Requirement::All(requirements) => {
                let mut lists = Vec::with_capacity(requirements.len());
                for requirement in requirements {
                    match self.find(requirement)? {
                        Some(list) => lists.push(list),
                        None => return Ok(None),
                    }
                }
                // Reading these takes no steps.
                self.budget.take(lists.iter().map(PostingList::max_len).min().map_or(0, u64::from))?;
                Some(PostingList::All(lists))
            }
            Requirement::Any(requirements) => {
                let mut lists = Vec::with_capacity(requirements.len());
                for requirement in requirements {
                    lists.extend(self.find(requirement)?);
                }
                if lists.len() < 2 {
                    return Ok(lists.pop());
                }
                self.budget.take(lists.iter().map(|list| u64::from(list.max_len())).sum())?;
                Some(PostingList::Any(lists))
            }
        })
    }
}
