//! The documents of many terms in one segment, as a set that is remembered for as long as the segment exists.

use std::sync::Arc;

use rayon::prelude::*;

use tantivy::index::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::query::Weight;
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocId, DocSet};

use super::expansion::SegmentWords;
use super::work::{Stop, Work};
use crate::remembered::{SetKey, SetOf, Viewer};
use crate::sets::{Bits, DocumentSet, SPARSE};
use crate::view::{Segment, View};

/// Documents of a segment among which one thread looks for a phrase.
const PHRASE_CHUNK: u32 = 1_048_576;
/// The steps of looking a term up in a dictionary, and of reading the next one.
const LOOK_UP: u64 = 40;
const READ_NEXT: u64 = 8;

/// The documents of one common term.
pub(super) fn of_term(
    view: &View,
    segment: &Segment,
    term: &Term,
    index: &InvertedIndexReader,
    info: &TermInfo,
    work: &mut Work,
) -> Result<Arc<DocumentSet>, Stop> {
    let key = (segment.reader.segment_id(), SetOf::Term(term.clone()));
    remembered(view, key, || gather(segment, index, std::slice::from_ref(info), work))
}

/// The same, where it is remembered.
pub(super) fn known_of_term(
    view: &View,
    segment: &Segment,
    term: &Term,
    info: &TermInfo,
) -> Option<Arc<DocumentSet>> {
    if info.doc_freq <= segment.reader.max_doc() / SPARSE {
        return None;
    }
    view.remembered.set(&(segment.reader.segment_id(), SetOf::Term(term.clone())))
}

/// The documents that have a phrase, where they are remembered.
pub(super) fn known_of_phrase(
    view: &View,
    segment: &Segment,
    terms: &Arc<[(usize, Term)]>,
) -> Option<Arc<DocumentSet>> {
    view.remembered.set(&(segment.reader.segment_id(), SetOf::Phrase(Arc::clone(terms))))
}

/// The documents that have a phrase. All cores look for them in a large segment.
pub(super) fn of_phrase(
    view: &View,
    segment: &Segment,
    terms: &Arc<[(usize, Term)]>,
    weight: &dyn Weight,
) -> Result<Arc<DocumentSet>, Stop> {
    let key = (segment.reader.segment_id(), SetOf::Phrase(Arc::clone(terms)));
    remembered(view, key, || {
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
        Ok(DocumentSet::of_documents(chunks.concat(), max_document))
    })
}

/// The documents of any of these terms, all of one field.
pub(super) fn of_any(
    view: &View,
    segment: &Segment,
    terms: &[&Term],
    infos: &[TermInfo],
    work: &mut Work,
) -> Result<Arc<DocumentSet>, Stop> {
    let [first, ..] = terms else { return Ok(nothing()) };
    let named: Arc<[Term]> = terms.iter().map(|&term| term.clone()).collect();
    remembered(view, (segment.reader.segment_id(), SetOf::AnyTerm(named)), || {
        let index = segment.inverted_index(first.field(), view.fields)?;
        gather(segment, &index, infos, work)
    })
}

/// The documents of the words that a beginning stands for.
pub(super) fn of_words(
    view: &View,
    segment: &Segment,
    words: &SegmentWords,
    work: &mut Work,
) -> Result<Arc<DocumentSet>, Stop> {
    let SetOf::Words(beginning, _) = &words.key.1 else { return Ok(nothing()) };
    if words.infos.is_empty() {
        return Ok(nothing());
    }
    remembered(view, words.key.clone(), || {
        let index = segment.inverted_index(beginning.field(), view.fields)?;
        gather(segment, &index, &words.infos, work)
    })
}

/// The documents that a viewer sees by one of his principals, in the scope whose terms begin with `prefix`.
pub(super) fn of_viewer(
    view: &View,
    segment: &Segment,
    viewer: &Viewer,
    prefix: &Arc<str>,
    work: &mut Work,
) -> Result<Arc<DocumentSet>, Stop> {
    let key = (segment.reader.segment_id(), SetOf::Viewer(viewer.number, Arc::clone(prefix)));
    remembered(view, key, || {
        let index = segment.inverted_index(view.fields.principals, view.fields)?;
        let infos = infos_of(&index, viewer, prefix, work)?;
        gather(segment, &index, &infos, work)
    })
}

fn nothing() -> Arc<DocumentSet> {
    Arc::new(DocumentSet::Few(Box::default()))
}

fn remembered(
    view: &View,
    key: SetKey,
    gather: impl FnOnce() -> Result<DocumentSet, Stop>,
) -> Result<Arc<DocumentSet>, Stop> {
    if let Some(set) = view.remembered.set(&key) {
        return Ok(set);
    }
    let set = Arc::new(gather()?);
    view.remembered.keep_set(key, &set);
    Ok(set)
}

/// Where the viewer's principals are, those that the segment has.
fn infos_of(
    index: &InvertedIndexReader,
    viewer: &Viewer,
    prefix: &str,
    work: &mut Work,
) -> Result<Vec<TermInfo>, Stop> {
    let mut infos = Vec::new();
    let (asked, there) = (viewer.principals.len() as u64, index.terms().num_terms() as u64);
    if there * READ_NEXT > asked * LOOK_UP {
        work.take(asked * LOOK_UP)?;
        for principal in viewer.principals.iter() {
            infos.extend(index.terms().get(format!("{prefix}{principal}"))?);
        }
        return Ok(infos);
    }
    // Few are there: they are read beside those that are asked for, both in their order.
    work.take(asked + there * READ_NEXT)?;
    let mut principals = viewer.principals.iter().peekable();
    let mut terms = index.terms().range().ge(prefix).into_stream()?;
    while terms.advance() {
        let Some(principal) = terms.key().strip_prefix(prefix.as_bytes()) else { break };
        while principals.next_if(|asked| asked.as_bytes() < principal).is_some() {}
        match principals.next_if(|asked| asked.as_bytes() == principal) {
            Some(_) => infos.push(terms.value().clone()),
            None if principals.peek().is_none() => break,
            None => {}
        }
    }
    Ok(infos)
}

/// The documents of all these.
fn gather(
    segment: &Segment,
    index: &InvertedIndexReader,
    infos: &[TermInfo],
    work: &mut Work,
) -> Result<DocumentSet, Stop> {
    let postings: u64 = infos.iter().map(|info| u64::from(info.doc_freq)).sum();
    work.take(postings / 4 + infos.len() as u64 * LOOK_UP)?;
    let max_document = segment.reader.max_doc();
    if postings < u64::from(max_document / SPARSE) {
        let mut documents = Vec::with_capacity(usize::try_from(postings).unwrap_or_default());
        for info in infos {
            read(index, info, |documents_of_block| documents.extend_from_slice(documents_of_block))?;
        }
        documents.sort_unstable();
        documents.dedup();
        return Ok(DocumentSet::Few(documents.into()));
    }
    work.take(u64::from(max_document / 512))?;
    let mut words = vec![0_u64; max_document.div_ceil(u64::BITS) as usize];
    for info in infos {
        read(index, info, |documents| {
            for &document in documents {
                words[(document / u64::BITS) as usize] |= 1 << (document % u64::BITS);
            }
        })?;
    }
    Ok(DocumentSet::new(Bits::from_words(words)))
}

/// Reads the documents of a term, a block at a time.
fn read(index: &InvertedIndexReader, info: &TermInfo, mut block: impl FnMut(&[DocId])) -> Result<(), Stop> {
    let mut blocks = index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?;
    loop {
        if blocks.docs().is_empty() {
            return Ok(());
        }
        block(blocks.docs());
        blocks.advance();
    }
}
