use std::sync::Arc;

use rayon::prelude::*;

use tantivy::index::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::query::Weight;
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocId, DocSet};

use super::budget::{DOCUMENTS_PER_STEP, SearchError, StepBudget};
use crate::document_set::{Bitmap, DocumentSet, SPARSE_SHARE, WORD_BITS, set_bit};
use crate::expansion::SegmentExpansion;
use crate::segment_cache::{NumberedViewer, SetKey, SetSource};
use crate::view::{IndexView, Segment};

const PHRASE_CHUNK: u32 = 1_048_576;
const LOOK_UP: u64 = 40;
const READ_NEXT: u64 = 8;

pub(super) fn term_set(
    view: &IndexView,
    segment: &Segment,
    term: &Term,
    index: &InvertedIndexReader,
    info: &TermInfo,
    budget: &mut StepBudget,
) -> Result<Arc<DocumentSet>, SearchError> {
    let key = (segment.reader.segment_id(), SetSource::Term(term.clone()));
    cached_or(view, key, || gather(segment, index, std::slice::from_ref(info), budget))
}

pub(super) fn cached_term_set(
    view: &IndexView,
    segment: &Segment,
    term: &Term,
    info: &TermInfo,
) -> Option<Arc<DocumentSet>> {
    if info.doc_freq <= segment.reader.max_doc() / SPARSE_SHARE {
        return None;
    }
    view.cache.sets.get(&(segment.reader.segment_id(), SetSource::Term(term.clone())))
}

pub(super) fn cached_phrase_set(
    view: &IndexView,
    segment: &Segment,
    terms: &Arc<[(usize, Term)]>,
) -> Option<Arc<DocumentSet>> {
    view.cache.sets.get(&(segment.reader.segment_id(), SetSource::Phrase(Arc::clone(terms))))
}

/// Large segments are searched by all cores.
pub(super) fn phrase_set(
    view: &IndexView,
    segment: &Segment,
    terms: &Arc<[(usize, Term)]>,
    weight: &dyn Weight,
) -> Result<Arc<DocumentSet>, SearchError> {
    let key = (segment.reader.segment_id(), SetSource::Phrase(Arc::clone(terms)));
    cached_or(view, key, || {
        let max_document = segment.reader.max_doc();
        let of_chunk = |start: DocId| {
            let end = max_document.min(start.saturating_add(PHRASE_CHUNK));
            let mut documents = Vec::new();
            let mut scorer = weight.scorer(&segment.reader, 1.0)?;
            if scorer.doc() < start {
                scorer.seek(start);
            }
            while scorer.doc() < end {
                documents.push(scorer.doc());
                scorer.advance();
            }
            Ok(documents)
        };
        let starts: Vec<DocId> = (0..max_document).step_by(PHRASE_CHUNK as usize).collect();
        let chunks: Vec<Vec<DocId>> = match starts.as_slice() {
            [start] => vec![of_chunk(*start)?],
            starts => starts.par_iter().map(|&start| of_chunk(start)).collect::<tantivy::Result<_>>()?,
        };
        Ok(DocumentSet::from_sorted(chunks.concat(), max_document))
    })
}

/// The terms share a field.
pub(super) fn any_term_set(
    view: &IndexView,
    segment: &Segment,
    terms: &[&Term],
    infos: &[TermInfo],
    budget: &mut StepBudget,
) -> Result<Arc<DocumentSet>, SearchError> {
    let [first, ..] = terms else { return Ok(empty_set()) };
    let named: Arc<[Term]> = terms.iter().map(|&term| term.clone()).collect();
    cached_or(view, (segment.reader.segment_id(), SetSource::AnyTerm(named)), || {
        let index = segment.inverted_index(first.field(), view.fields)?;
        gather(segment, &index, infos, budget)
    })
}

pub(super) fn expansion_set(
    view: &IndexView,
    segment: &Segment,
    expansion: &SegmentExpansion,
    budget: &mut StepBudget,
) -> Result<Arc<DocumentSet>, SearchError> {
    let SetSource::Words(beginning, _) = &expansion.key.1 else { return Ok(empty_set()) };
    if expansion.infos.is_empty() {
        return Ok(empty_set());
    }
    cached_or(view, expansion.key.clone(), || {
        let index = segment.inverted_index(beginning.field(), view.fields)?;
        gather(segment, &index, &expansion.infos, budget)
    })
}

pub(super) fn viewer_set(
    view: &IndexView,
    segment: &Segment,
    viewer: &NumberedViewer,
    prefix: &Arc<str>,
    budget: &mut StepBudget,
) -> Result<Arc<DocumentSet>, SearchError> {
    let key = (segment.reader.segment_id(), SetSource::Viewer(viewer.number, Arc::clone(prefix)));
    cached_or(view, key, || {
        let index = segment.inverted_index(view.fields.principals, view.fields)?;
        let infos = principal_infos(&index, viewer, prefix, budget)?;
        gather(segment, &index, &infos, budget)
    })
}

fn empty_set() -> Arc<DocumentSet> {
    Arc::new(DocumentSet::Sparse(Box::default()))
}

fn cached_or(
    view: &IndexView,
    key: SetKey,
    gather: impl FnOnce() -> Result<DocumentSet, SearchError>,
) -> Result<Arc<DocumentSet>, SearchError> {
    if let Some(set) = view.cache.sets.get(&key) {
        return Ok(set);
    }
    let set = Arc::new(gather()?);
    view.cache.insert_set(key, &set);
    Ok(set)
}

fn principal_infos(
    index: &InvertedIndexReader,
    viewer: &NumberedViewer,
    prefix: &str,
    budget: &mut StepBudget,
) -> Result<Vec<TermInfo>, SearchError> {
    let mut infos = Vec::new();
    let (requested, present) = (viewer.principals.len() as u64, index.terms().num_terms() as u64);
    if present * READ_NEXT > requested * LOOK_UP {
        budget.take(requested * LOOK_UP)?;
        for principal in viewer.principals.iter() {
            infos.extend(index.terms().get(format!("{prefix}{principal}"))?);
        }
        return Ok(infos);
    }
    // Merges both sorted lists.
    budget.take(requested + present * READ_NEXT)?;
    let mut principals = viewer.principals.iter().peekable();
    let mut terms = index.terms().range().ge(prefix).into_stream()?;
    while terms.advance() {
        let Some(principal) = terms.key().strip_prefix(prefix.as_bytes()) else { break };
        while principals.next_if(|requested| requested.as_bytes() < principal).is_some() {}
        match principals.next_if(|requested| requested.as_bytes() == principal) {
            Some(_) => infos.push(terms.value().clone()),
            None if principals.peek().is_none() => break,
            None => {}
        }
    }
    Ok(infos)
}

fn gather(
    segment: &Segment,
    index: &InvertedIndexReader,
    infos: &[TermInfo],
    budget: &mut StepBudget,
) -> Result<DocumentSet, SearchError> {
    let postings: u64 = infos.iter().map(|info| u64::from(info.doc_freq)).sum();
    budget.take(postings / 4 + infos.len() as u64 * LOOK_UP)?;
    let max_document = segment.reader.max_doc();
    if postings < u64::from(max_document / SPARSE_SHARE) {
        let mut documents = Vec::with_capacity(usize::try_from(postings).unwrap_or_default());
        for info in infos {
            read(index, info, |documents_of_block| documents.extend_from_slice(documents_of_block))?;
        }
        documents.sort_unstable();
        documents.dedup();
        return Ok(DocumentSet::Sparse(documents.into()));
    }
    budget.take(u64::from(max_document / DOCUMENTS_PER_STEP))?;
    let mut words = vec![0_u64; max_document.div_ceil(WORD_BITS) as usize];
    for info in infos {
        read(index, info, |documents| {
            for &document in documents {
                set_bit(&mut words, document);
            }
        })?;
    }
    Ok(DocumentSet::from_bitmap(Bitmap::from_words(words)))
}

fn read(
    index: &InvertedIndexReader,
    info: &TermInfo,
    mut block: impl FnMut(&[DocId]),
) -> Result<(), SearchError> {
    let mut blocks = index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?;
    loop {
        if blocks.docs().is_empty() {
            return Ok(());
        }
        block(blocks.docs());
        blocks.advance();
    }
}
