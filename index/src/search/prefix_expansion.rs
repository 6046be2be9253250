use std::sync::Arc;

use tantivy::postings::TermInfo;
use tantivy::schema::{Field, Term};
use trawl_engine::query::{max_scanned_words, select_expansion};

use super::budget::{SearchError, StepBudget};
use crate::expansion::{PrefixExpansion, SegmentExpansion};
use crate::segment_cache::{DictionaryTerm, SetSource, fingerprint};
use crate::view::{IndexView, Segment};

/// Within a step budget.
const MAX_BOUNDED_SEGMENT: u32 = 4_096;

/// Words of the scope that start with `start`, cached with the view.
///
/// The choice is over all segments, so that merges change nothing.
pub(super) fn expand(
    view: &IndexView,
    field: Field,
    prefix: &str,
    start: &str,
    own_stem: &str,
    budget: &mut StepBudget,
) -> Result<Arc<PrefixExpansion>, SearchError> {
    let beginning = Arc::new(Term::from_field_text(field, &format!("{prefix}{start}")));
    if let Some(cached) = view.expansions.get(&beginning) {
        return Ok(cached);
    }
    let most = max_scanned_words(start);
    let by_segment = view
        .segments
        .iter()
        .map(|segment| segment_terms(view, segment, &beginning, most, budget))
        .collect::<Result<Vec<_>, _>>()?;
    budget.take(by_segment.iter().map(|words| words.len() as u64).sum::<u64>() * 4)?;
    let selected = select(&by_segment, prefix.len(), most, own_stem);
    let own = Term::from_field_text(field, &format!("{prefix}{own_stem}"));
    let mut segments = Vec::with_capacity(view.segments.len());
    for (segment, words) in view.segments.iter().zip(&by_segment) {
        let mut present: Vec<(&[u8], TermInfo)> = Vec::new();
        // Both are sorted.
        let mut words = words.iter().peekable();
        for term in &selected {
            while words.next_if(|word| word.term[prefix.len()..] < *term.as_bytes()).is_some() {}
            if let Some(word) = words.next_if(|word| word.term[prefix.len()..] == *term.as_bytes()) {
                present.push((&word.term, word.info.clone()));
            }
        }
        if let Some(info) = segment.term_info(&own, view.fields)? {
            present.push((own.serialized_value_bytes(), info));
        }
        let fingerprint = fingerprint(present.iter().map(|(term, _)| *term));
        segments.push(SegmentExpansion {
            key: (segment.reader.segment_id(), SetSource::Words(Arc::clone(&beginning), fingerprint)),
            fingerprint,
            infos: present.into_iter().map(|(_, info)| info).collect(),
        });
    }
    let terms =
        selected.iter().map(|word| Term::from_field_text(field, &format!("{prefix}{word}"))).collect();
    let expansion = Arc::new(PrefixExpansion { terms, segments });
    view.expansions.put(beginning, Arc::clone(&expansion));
    Ok(expansion)
}

fn select<'a>(
    by_segment: &'a [Arc<Vec<DictionaryTerm>>],
    prefix_len: usize,
    most: usize,
    own_stem: &str,
) -> Vec<&'a str> {
    let mut words: Vec<(&[u8], u64)> = by_segment
        .iter()
        .flat_map(|words| words.iter())
        .filter_map(|term| Some((term.term.get(prefix_len..)?, u64::from(term.info.doc_freq))))
        .collect();
    // The stable sort merges the sorted words of segments.
    words.sort_by_key(|(word, _)| *word);
    words.dedup_by(|next, first| {
        let same = next.0 == first.0;
        if same {
            first.1 += next.1;
        }
        same
    });
    words.truncate(most);
    let in_utf8 = |(word, documents)| Some((std::str::from_utf8(word).ok()?, documents));
    select_expansion(words.into_iter().filter_map(in_utf8).collect(), own_stem)
}

fn segment_terms(
    view: &IndexView,
    segment: &Segment,
    beginning: &Arc<Term>,
    most: usize,
    budget: &mut StepBudget,
) -> Result<Arc<Vec<DictionaryTerm>>, SearchError> {
    let key = (segment.reader.segment_id(), Arc::clone(beginning));
    if let Some(words) = view.cache.prefixes.get(&key) {
        return Ok(words);
    }
    if segment.reader.max_doc() > MAX_BOUNDED_SEGMENT && !budget.is_unbounded() {
        return Err(SearchError::OverBudget);
    }
    let start = beginning.serialized_value_bytes();
    let mut end = start.to_vec();
    // UTF-8 has no byte 255.
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    let index = segment.inverted_index(beginning.field(), view.fields)?;
    let mut terms = index.terms().range().ge(start).lt(&end).into_stream()?;
    let mut words = Vec::new();
    while words.len() < most && terms.advance() {
        words.push(DictionaryTerm { term: terms.key().to_vec(), info: terms.value().clone() });
    }
    budget.take(words.len() as u64 * 8)?;
    let words = Arc::new(words);
    view.cache.prefixes.insert(key, Arc::clone(&words));
    Ok(words)
}
