//! Alternatives of typed words: an operator's synonyms, and parts of dictionary words.

use super::parameters::{MAX_PARTED_DOCUMENTS, SYNONYM_WEIGHT};
use super::words::{Frequencies, WeightedWord, inverse_document_frequency, is_common};
use crate::query::{QueryWord, SynonymMatch};
use crate::text::{is_stop_word, parts_of_word};

/// The parts of a dictionary word such as 联通公司; `None` if it has none.
pub(super) fn parts_of(word: &QueryWord) -> Option<SynonymMatch> {
    let parts = if word.quoted || word.joined { Vec::new() } else { parts_of_word(&word.term) };
    let parts: Vec<(usize, String)> = parts.into_iter().map(|(at, part)| (at, part.to_owned())).collect();
    (!parts.is_empty()).then(|| SynonymMatch { typed: vec![word.term.clone()], synonyms: vec![parts] })
}

/// Whether hardly any document has a word, so that its parts are searched, too.
///
/// A document with the word has its parts, so the word itself is then worth less.
pub(super) fn is_parted(parts: &SynonymMatch, frequencies: &Frequencies, words: &mut [WeightedWord]) -> bool {
    let is_rare = parts.typed.iter().all(|word| frequencies.of(word) <= MAX_PARTED_DOCUMENTS);
    for word in words.iter_mut().filter(|word| is_rare && parts.typed.contains(&word.term)) {
        word.weight *= 1.0 - SYNONYM_WEIGHT;
    }
    is_rare
}

/// Adds the words of synonyms, each of which selects by its rarest word.
///
/// A synonym of several words is worth no more than the typed words.
pub(super) fn add_synonyms(found: &SynonymMatch, frequencies: &Frequencies, words: &mut Vec<WeightedWord>) {
    let idf = |term: &str| match frequencies.of(term) {
        0 => 0.0,
        documents => inverse_document_frequency(documents, frequencies.documents),
    };
    let typed: f32 = found.typed.iter().filter(|term| !is_stop_word(term)).map(|term| idf(term)).sum();
    for synonym in &found.synonyms {
        let all: f32 = synonym.iter().map(|(_, term)| idf(term)).sum();
        let share = if typed > 0.0 { (typed / all).min(1.0) } else { 1.0 };
        let rarest =
            synonym.iter().map(|(_, term)| frequencies.of(term)).filter(|documents| *documents > 0).min();
        for (_, term) in synonym {
            let documents = frequencies.of(term);
            if documents > 0 && !words.iter().any(|indexed| indexed.term == *term) {
                words.push(WeightedWord {
                    term: term.clone(),
                    documents,
                    weight: SYNONYM_WEIGHT * share,
                    idf: idf(term),
                    selects: Some(documents) == rarest && !is_common(documents, frequencies.documents),
                });
            }
        }
    }
}

/// The typed words and each synonym that are indexed whole; `None` if fewer than two are.
pub(super) fn alternatives(found: &SynonymMatch, words: &[WeightedWord]) -> Option<Vec<Vec<usize>>> {
    let place = |term: &String| words.iter().position(|word| word.term == *term);
    let typed: Option<Vec<usize>> =
        found.typed.iter().filter(|term| !is_stop_word(term)).map(place).collect();
    let synonyms = found.synonyms.iter().map(|synonym| synonym.iter().map(|(_, term)| place(term)).collect());
    let indexed: Vec<Vec<usize>> = std::iter::once(typed).chain(synonyms).flatten().collect();
    let indexed: Vec<Vec<usize>> = indexed.into_iter().filter(|places| !places.is_empty()).collect();
    (indexed.len() > 1).then_some(indexed)
}
