//! What the last word of a query may become: the words of the scope that begin with it.

use std::cmp::Reverse;
use std::collections::HashSet;

use tantivy::schema::{Field, Term};

use crate::Error;
use crate::text::stem;
use crate::view::View;

/// Words looked at, in their lexicographic order.
const MAX_LOOKED_AT: usize = 4_096;
/// Words taken: those in the most documents.
const MAX_TAKEN: usize = 128;

/// A word of the scope, whole as a term, and in how many documents it stands.
struct Candidate {
    term: Vec<u8>,
    documents: u64,
}

/// The terms of `field` under the scope's `prefix` that begin with `start`, but for those whose documents `own_stem`
/// or another of the terms holds already.
pub(super) fn expand(
    view: &View,
    field: Field,
    prefix: &str,
    start: &str,
    own_stem: &str,
) -> Result<Vec<Term>, Error> {
    let words = words(view, &[field], prefix, start, own_stem, MAX_TAKEN)?;
    let term = |(word, _): (String, u64)| Term::from_field_text(field, &format!("{prefix}{word}"));
    Ok(words.into_iter().map(term).collect())
}

/// The words of these fields that begin so, `most` at the most, and in how many documents each stands.
///
/// Which words are taken is decided over all segments together, so it does not depend on how they are merged
/// (documents deleted but not merged away yet still count).
pub(super) fn words(
    view: &View,
    fields: &[Field],
    prefix: &str,
    start: &str,
    own_stem: &str,
    most: usize,
) -> Result<Vec<(String, u64)>, Error> {
    let mut candidates = candidates(view, fields, &format!("{prefix}{start}"))?;
    if candidates.len() > most {
        let rank = |candidate: &Candidate| Reverse(candidate.documents);
        // Candidates are in their order already, and the sort keeps it among equals.
        candidates.sort_by_key(rank);
        candidates.truncate(most);
    }
    let words: Vec<(&str, u64)> = candidates
        .iter()
        .filter_map(|candidate| {
            Some((std::str::from_utf8(candidate.term.get(prefix.len()..)?).ok()?, candidate.documents))
        })
        .collect();
    let taken: HashSet<&str> = words.iter().map(|(word, _)| *word).collect();
    let is_held = |word: &str| {
        let held_by = stem(word);
        let is_taken = held_by != word && taken.contains(&*held_by) && stem(&held_by) == held_by;
        word == own_stem || held_by == own_stem || is_taken
    };
    let kept = words.into_iter().filter(|(word, _)| !is_held(word));
    Ok(kept.map(|(word, documents)| (word.to_owned(), documents)).collect())
}

/// The first [`MAX_LOOKED_AT`] terms over all segments that begin with `start`, in their order.
fn candidates(view: &View, fields: &[Field], start: &str) -> Result<Vec<Candidate>, Error> {
    let mut end = start.as_bytes().to_vec();
    // No byte of UTF-8 is 255.
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    let mut found: Vec<Candidate> = Vec::new();
    for segment in &view.segments {
        for &field in fields {
            let index = segment.inverted_index(field, view.fields)?;
            let mut terms = index.terms().range().ge(start.as_bytes()).lt(&end).into_stream()?;
            let mut looked_at = 0;
            while looked_at < MAX_LOOKED_AT && terms.advance() {
                let documents = u64::from(terms.value().doc_freq);
                found.push(Candidate { term: terms.key().to_vec(), documents });
                looked_at += 1;
            }
        }
    }
    found.sort_by(|left, right| left.term.cmp(&right.term));
    found.dedup_by(|next, kept| {
        let same = next.term == kept.term;
        if same {
            kept.documents += next.documents;
        }
        same
    });
    found.truncate(MAX_LOOKED_AT);
    Ok(found)
}
