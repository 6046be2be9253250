use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use tantivy::postings::TermInfo;
use tantivy::schema::{Field, Term};
use trawl_engine::text::stem;

use super::budget::{SearchError, StepBudget};
use crate::expansion::{PrefixExpansion, SegmentExpansion};
use crate::segment_cache::{DictionaryTerm, SetSource, fingerprint};
use crate::view::{IndexView, Segment};

/// In lexicographic order.
const MAX_SCANNED: usize = 4_096;
/// The most frequent ones.
const MAX_EXPANDED: usize = 128;
/// Within a step budget.
const MAX_BOUNDED_SEGMENT: u32 = 4_096;

/// Words of the scope that start with `start`, cached with the view.
///
/// Skips words that `own_stem` or another word covers. The choice is over all segments, so that merges change nothing.
pub(super) fn expand(
    view: &IndexView,
    field: Field,
    prefix: &str,
    start: &str,
    own_stem: &str,
    budget: &mut StepBudget,
) -> Result<Arc<PrefixExpansion>, SearchError> {
    let beginning = Arc::new(Term::from_field_text(field, &format!("{prefix}{start}")));
    if let Some(cached) = view.cached_expansion(&beginning) {
        return Ok(cached);
    }
    let by_segment = view
        .segments
        .iter()
        .map(|segment| segment_terms(view, segment, &beginning, budget))
        .collect::<Result<Vec<_>, _>>()?;
    budget.take(by_segment.iter().map(|words| words.len() as u64).sum::<u64>() * 4)?;
    let selected = select(&by_segment, prefix.len(), own_stem);
    let own = Term::from_field_text(field, &format!("{prefix}{own_stem}"));
    let mut segments = Vec::with_capacity(view.segments.len());
    for (segment, words) in view.segments.iter().zip(&by_segment) {
        let mut present: Vec<(&[u8], TermInfo)> = Vec::new();
        // Both are sorted.
        let mut words = words.iter().peekable();
        for term in &selected {
            while words.next_if(|word| word.term.as_slice() < *term).is_some() {}
            if let Some(word) = words.next_if(|word| word.term == *term) {
                present.push((term, word.info.clone()));
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
    let terms = selected
        .iter()
        .filter_map(|term| Some(Term::from_field_text(field, std::str::from_utf8(term).ok()?)))
        .collect();
    let expansion = Arc::new(PrefixExpansion { terms, segments });
    view.cache_expansion(beginning, &expansion);
    Ok(expansion)
}

fn select<'a>(
    by_segment: &'a [Arc<Vec<DictionaryTerm>>],
    prefix_len: usize,
    own_stem: &str,
) -> Vec<&'a [u8]> {
    let mut candidates: Vec<(&[u8], u64)> = by_segment
        .iter()
        .flat_map(|words| words.iter())
        .map(|word| (word.term.as_slice(), u64::from(word.info.doc_freq)))
        .collect();
    candidates.sort_unstable_by_key(|(term, _)| *term);
    candidates.dedup_by(|next, first| {
        let same = next.0 == first.0;
        if same {
            first.1 += next.1;
        }
        same
    });
    candidates.truncate(MAX_SCANNED);
    if candidates.len() > MAX_EXPANDED {
        // The stable sort keeps the lexicographic order.
        candidates.sort_by_key(|(_, documents)| Reverse(*documents));
        candidates.truncate(MAX_EXPANDED);
        candidates.sort_unstable_by_key(|(term, _)| *term);
    }
    let word_of = |term: &'a [u8]| std::str::from_utf8(term.get(prefix_len..)?).ok();
    let words: HashSet<&str> = candidates.iter().filter_map(|(term, _)| word_of(term)).collect();
    let is_covered = |word: &str| {
        let covering_stem = stem(word);
        let is_selected =
            covering_stem != word && words.contains(&*covering_stem) && stem(&covering_stem) == covering_stem;
        word == own_stem || covering_stem == own_stem || is_selected
    };
    let mut selected: Vec<&[u8]> = candidates.iter().map(|(term, _)| *term).collect();
    selected.retain(|term| word_of(term).is_some_and(|word| !is_covered(word)));
    selected
}

fn segment_terms(
    view: &IndexView,
    segment: &Segment,
    beginning: &Arc<Term>,
    budget: &mut StepBudget,
) -> Result<Arc<Vec<DictionaryTerm>>, SearchError> {
    let key = (segment.reader.segment_id(), Arc::clone(beginning));
    if let Some(words) = view.cache.prefix(&key) {
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
    while words.len() < MAX_SCANNED && terms.advance() {
        words.push(DictionaryTerm { term: terms.key().to_vec(), info: terms.value().clone() });
    }
    budget.take(words.len() as u64 * 8)?;
    let words = Arc::new(words);
    view.cache.insert_prefix(key, &words);
    Ok(words)
}
