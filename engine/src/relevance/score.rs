use std::cmp::Ordering;

use serde::Serialize;

/// Score of a match: `((words + nearness) × completeness + feedback) × recency`.
///
/// Matches after the best [`RESCORED_MATCHES`](super::RESCORED_MATCHES) only have `words`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MatchScore {
    /// BM25 of the words, by their places and weights.
    pub words: f32,
    /// Added for words close together, and for common words.
    pub nearness: f32,
    /// Factor, smaller if words are missing.
    pub completeness: f32,
    /// Added for words of the other best matches.
    pub feedback: f32,
    /// Factor, greater for new documents.
    pub recency: f32,
}

impl MatchScore {
    /// Makes the score of the first step.
    pub const fn from_words(words: f32) -> Self {
        Self { words, nearness: 0.0, completeness: 1.0, feedback: 0.0, recency: 1.0 }
    }

    /// The score.
    pub fn total(&self) -> f32 {
        ((self.words + self.nearness) * self.completeness + self.feedback) * self.recency
    }

    /// Better scores come first.
    pub fn descending(&self, other: &Self) -> Ordering {
        other.total().total_cmp(&self.total())
    }
}
