//! What the last word of a query may become: the words of the scope that begin with it.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use tantivy::postings::TermInfo;
use tantivy::schema::{Field, Term};

use super::work::{Stop, Work};
use crate::remembered::{SetKey, SetOf, Word, fingerprint};
use crate::text::stem;
use crate::view::{Segment, View};

/// Words looked at, in their lexicographic order.
const MAX_LOOKED_AT: usize = 4_096;
/// Words taken: those in the most documents.
const MAX_TAKEN: usize = 128;
/// The words of a segment of so many documents at most are read even where little work is allowed.
const SMALL_SEGMENT: u32 = 4_096;

/// The words that a beginning stands for, in one view.
pub(crate) struct Expansion {
    /// Those that begin so, without the stem of the beginning itself.
    begun: Vec<Term>,
    /// By segment: where they and that stem are.
    pub(super) segments: Vec<SegmentWords>,
}

/// The words that a beginning stands for in one segment.
pub(super) struct SegmentWords {
    /// Under which the set of their documents is remembered.
    pub(super) key: SetKey,
    /// Of those words.
    pub(super) fingerprint: u64,
    pub(super) infos: Vec<TermInfo>,
}

impl Expansion {
    /// The words that begin so, without the stem of the beginning itself.
    pub(super) fn begun(&self) -> &[Term] {
        &self.begun
    }

    /// Whether its words are in this field.
    pub(super) fn is_of(&self, field: Field) -> bool {
        self.begun.iter().all(|term| term.field() == field)
    }

    /// Whether it stands for the stem of the beginning alone.
    pub(super) fn is_one(&self) -> bool {
        self.begun.is_empty()
    }
}

/// The terms of `field` under the scope's `prefix` that begin with `start`, but for those whose documents `own_stem`
/// or another of the terms holds already, and where they are; remembered for as long as the view stands.
///
/// Which words are taken is decided over all segments together, so it does not depend on how they are merged
/// (documents deleted but not merged away yet still count).
pub(super) fn words(
    view: &View,
    field: Field,
    prefix: &str,
    start: &str,
    own_stem: &str,
    work: &mut Work,
) -> Result<Arc<Expansion>, Stop> {
    let beginning = Arc::new(Term::from_field_text(field, &format!("{prefix}{start}")));
    if let Some(known) = view.expansion(&beginning) {
        return Ok(known);
    }
    let by_segment = view
        .segments
        .iter()
        .map(|segment| words_of(view, segment, &beginning, work))
        .collect::<Result<Vec<_>, _>>()?;
    work.take(by_segment.iter().map(|words| words.len() as u64).sum::<u64>() * 4)?;
    let taken = take(&by_segment, prefix.len(), own_stem);
    let own = Term::from_field_text(field, &format!("{prefix}{own_stem}"));
    let mut segments = Vec::with_capacity(view.segments.len());
    for (segment, words) in view.segments.iter().zip(&by_segment) {
        let mut there: Vec<(&[u8], TermInfo)> = Vec::new();
        // Both are in their order.
        let mut words = words.iter().peekable();
        for term in &taken {
            while words.next_if(|word| word.term.as_slice() < *term).is_some() {}
            if let Some(word) = words.next_if(|word| word.term == *term) {
                there.push((term, word.info.clone()));
            }
        }
        if let Some(info) = segment.term_info(&own, view.fields)? {
            there.push((own.serialized_value_bytes(), info));
        }
        let fingerprint = fingerprint(there.iter().map(|(term, _)| *term));
        segments.push(SegmentWords {
            key: (segment.reader.segment_id(), SetOf::Words(Arc::clone(&beginning), fingerprint)),
            fingerprint,
            infos: there.into_iter().map(|(_, info)| info).collect(),
        });
    }
    let begun = taken
        .iter()
        .filter_map(|term| Some(Term::from_field_text(field, std::str::from_utf8(term).ok()?)))
        .collect();
    let expansion = Arc::new(Expansion { begun, segments });
    view.keep_expansion(beginning, &expansion);
    Ok(expansion)
}

/// The words that are taken of those of all segments, in their order.
fn take<'a>(by_segment: &'a [Arc<Vec<Word>>], prefix_len: usize, own_stem: &str) -> Vec<&'a [u8]> {
    let mut candidates: Vec<(&[u8], u64)> = by_segment
        .iter()
        .flat_map(|words| words.iter())
        .map(|word| (word.term.as_slice(), u64::from(word.info.doc_freq)))
        .collect();
    candidates.sort_unstable_by_key(|(term, _)| *term);
    candidates.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    candidates.truncate(MAX_LOOKED_AT);
    if candidates.len() > MAX_TAKEN {
        // Candidates are in their order already, and the sort keeps it among equals.
        candidates.sort_by_key(|(_, documents)| Reverse(*documents));
        candidates.truncate(MAX_TAKEN);
        candidates.sort_unstable_by_key(|(term, _)| *term);
    }
    let word_of = |term: &'a [u8]| std::str::from_utf8(term.get(prefix_len..)?).ok();
    let words: HashSet<&str> = candidates.iter().filter_map(|(term, _)| word_of(term)).collect();
    let is_held = |word: &str| {
        let held_by = stem(word);
        let is_taken = held_by != word && words.contains(&*held_by) && stem(&held_by) == held_by;
        word == own_stem || held_by == own_stem || is_taken
    };
    let mut taken: Vec<&[u8]> = candidates.iter().map(|(term, _)| *term).collect();
    taken.retain(|term| word_of(term).is_some_and(|word| !is_held(word)));
    taken
}

/// The first [`MAX_LOOKED_AT`] words of the segment with this beginning, in their order.
fn words_of(
    view: &View,
    segment: &Segment,
    beginning: &Arc<Term>,
    work: &mut Work,
) -> Result<Arc<Vec<Word>>, Stop> {
    let key = (segment.reader.segment_id(), Arc::clone(beginning));
    if let Some(words) = view.remembered.words(&key) {
        return Ok(words);
    }
    if segment.reader.max_doc() > SMALL_SEGMENT && !work.is_unbounded() {
        return Err(Stop::TooMuch);
    }
    let start = beginning.serialized_value_bytes();
    let mut end = start.to_vec();
    // No byte of UTF-8 is 255.
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    let index = segment.inverted_index(beginning.field(), view.fields)?;
    let mut terms = index.terms().range().ge(start).lt(&end).into_stream()?;
    let mut words = Vec::new();
    while words.len() < MAX_LOOKED_AT && terms.advance() {
        words.push(Word { term: terms.key().to_vec(), info: terms.value().clone() });
    }
    work.take(words.len() as u64 * 8)?;
    let words = Arc::new(words);
    view.remembered.keep_words(key, &words);
    Ok(words)
}
