//! Pseudo-relevance feedback: frequent words of the best matches raise others.
//!
//! It never adds a match.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::frequencies::{Frequencies, inverse_document_frequency};
use super::parameters::{
    FEEDBACK_CANDIDATES, FEEDBACK_CHARS, FEEDBACK_SHARE, FEEDBACK_WORDS, MAX_FEEDBACK_SHARE,
    MIN_FEEDBACK_WORDS,
};
use super::ranked_by::ExactScore;
use super::rescoring::Saturation;
use super::words::WeightedWords;
use crate::item::Texts;
use crate::text::{PositionStep, document_words, fold};

/// One of the best matches.
pub struct FeedbackDocument {
    score: f32,
    length: u32,
    words: BTreeMap<String, u32>,
}

/// A word of the best matches that may raise others.
pub struct FeedbackCandidate {
    /// The word without the scope's prefix.
    pub word: String,
    share: f32,
}

/// A word that raises the score of matches.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FeedbackTerm {
    /// The word without the scope's prefix.
    pub word: String,
    worth: ExactScore,
}

impl FeedbackDocument {
    /// Reads the words of an item, whose document has this score and length.
    pub fn read(item: &str, score: f32, length: u32) -> Self {
        let mut words = BTreeMap::new();
        for text in Texts::read(item).beginning(FEEDBACK_CHARS) {
            document_words(&fold(text), |step, _, word| {
                // A stem precedes its word; single ideographs tell little.
                let says_something = word.chars().nth(1).is_some();
                if says_something && (step == PositionStep::Next || !word.is_ascii()) {
                    *words.entry(word.to_owned()).or_insert(0) += 1;
                }
            });
        }
        Self { score, length, words }
    }
}

impl WeightedWords {
    /// Whether this many matches raise each other.
    pub fn takes_feedback(&self, matches: usize) -> bool {
        self.indexed.len() >= MIN_FEEDBACK_WORDS && matches >= 2
    }

    /// The candidates that are selective, weighed against the query. `frequencies` holds those of the candidates.
    pub fn feedback_terms(
        &self,
        candidates: Vec<FeedbackCandidate>,
        frequencies: &Frequencies,
    ) -> Vec<FeedbackTerm> {
        let total = frequencies.documents;
        let mut weighted = Vec::with_capacity(candidates.len());
        for FeedbackCandidate { word, share } in candidates {
            let documents = frequencies.of(&word);
            if documents >= 2 && documents * MAX_FEEDBACK_SHARE <= total {
                let idf = inverse_document_frequency(documents, total);
                weighted.push((word, share * idf, idf));
            }
        }
        weighted.sort_by(|(_, left, _), (_, right, _)| right.total_cmp(left));
        weighted.truncate(FEEDBACK_WORDS);

        // All weights together are [`FEEDBACK_SHARE`].
        let sum: f32 = weighted.iter().map(|(_, weight, _)| weight).sum();
        let worth: f32 = weighted.iter().map(|(_, weight, idf)| weight / sum * idf).sum();
        let query_worth: f32 = self.indexed.iter().map(|word| word.weight * word.idf).sum();
        let term = |(word, weight, idf): (String, f32, f32)| {
            let weight = weight / sum * query_worth / worth * FEEDBACK_SHARE / (1.0 - FEEDBACK_SHARE);
            FeedbackTerm { word, worth: (weight * idf).into() }
        };
        weighted.into_iter().map(term).collect()
    }
}

/// Lists the most frequent words of the best matches.
///
/// Each counts by its match's share in the sum of scores.
pub fn feedback_candidates(
    documents: &[FeedbackDocument],
    saturation: &Saturation,
) -> Vec<FeedbackCandidate> {
    let sum: f32 = documents.iter().map(|document| document.score).sum();
    let mut frequent: BTreeMap<&str, f32> = BTreeMap::new();
    for document in documents {
        for (word, &times) in &document.words {
            let saturated = saturation.of(times, document.length);
            *frequent.entry(word).or_insert(0.0) += document.score / sum * saturated;
        }
    }
    let mut candidates: Vec<(&str, f32)> = frequent.into_iter().collect();
    candidates.sort_by(|left, right| right.1.total_cmp(&left.1));
    candidates.truncate(FEEDBACK_CANDIDATES);
    candidates.into_iter().map(|(word, share)| FeedbackCandidate { word: word.to_owned(), share }).collect()
}

impl FeedbackTerm {
    /// Addition to the score of a match with the word.
    pub fn score(&self, saturated: f32) -> f32 {
        self.worth.value() * saturated
    }
}
