//! What the pages of one list share, so that they join at whichever commit each is read.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::feedback::FeedbackTerm;
use super::frequencies::Frequencies;
use super::recency::Recency;

/// What the first page of a list was ranked by.
///
/// The places of two documents depend on it and on these documents alone, whatever else was written since.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RankedBy {
    /// Epoch milliseconds.
    pub now: i64,
    /// Gain of new documents.
    pub recency: Recency,
    /// Places in [`Query::whole_token_queries`](crate::Query::whole_token_queries) of those that nothing held.
    pub missing: Vec<usize>,
    /// Documents of the scopes.
    pub documents: u64,
    /// Words of whole texts.
    pub body_tokens: u64,
    /// Words of titles.
    pub title_tokens: u64,
    /// Document frequencies of the query's terms.
    pub by_term: BTreeMap<String, u64>,
    /// Document frequencies of words that begin with the last word.
    pub expansion: BTreeMap<String, u64>,
    /// The last of the best matches, which were rescored.
    pub rescored_to: RankPosition,
    /// The last match that a typed spelling raised.
    pub spelt_to: Option<RankPosition>,
    /// Words of the best matches that raise others.
    pub feedback: Vec<FeedbackTerm>,
    /// Score of the last rescored match, which no later one exceeds.
    pub least: ExactScore,
}

/// Place of a match in a list; a lesser one comes first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RankPosition {
    /// Its score.
    pub key: RankKey,
    /// Epoch milliseconds.
    pub display_time: i64,
    /// Document.
    pub id: String,
}

/// What orders matches before their time: the rescored ones come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RankKey {
    /// Whether the match is one of the best.
    pub is_rescored: bool,
    /// Its score, in the step that ranked it last.
    pub score: ExactScore,
}

/// A score that is compared bit by bit; never negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ExactScore(u32);

impl RankedBy {
    /// Document frequencies of the query's terms.
    pub fn frequencies(&self) -> Frequencies {
        let by_term = self.by_term.iter().map(|(term, documents)| (term.clone(), *documents)).collect();
        Frequencies { documents: self.documents, by_term }
    }
}

impl ExactScore {
    /// The score as a number.
    pub fn value(self) -> f32 {
        f32::from_bits(self.0)
    }
}

impl From<f32> for ExactScore {
    fn from(value: f32) -> Self {
        Self(value.max(0.0).to_bits())
    }
}

impl Ord for RankPosition {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = |place: &Self| (Reverse(place.key), Reverse(place.display_time));
        order(self).cmp(&order(other)).then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for RankPosition {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
