//! A match with its score and what the score is made of.

use std::cmp::Ordering;

use serde_json::Value;
use trawl_engine::relevance::MatchScore;

use super::clauses::{Counts, Lengths, NamedClauses, ScorePart};

/// One of the best matches.
pub(super) struct RankedDocument {
    pub(super) id: String,
    /// Its place in the request.
    pub(super) module: usize,
    pub(super) display_time: i64,
    pub(super) score: MatchScore,
    pub(super) lengths: Lengths,
    pub(super) counts: Counts,
}

impl RankedDocument {
    pub(super) fn read(module: usize, found: &Value, named: &NamedClauses<'_>) -> Option<Self> {
        let [.., display_time, id] = found["sort"].as_array()?.as_slice() else { return None };
        let length = |field: &str| u32::try_from(found["fields"][field][0].as_u64()?).ok();
        let lengths = Lengths { body: length("body_length")?, title: length("title_length")? };
        Some(Self {
            id: id.as_str()?.to_owned(),
            module,
            display_time: display_time.as_i64()?,
            score: MatchScore::from_words(0.0),
            lengths,
            counts: named.counts(found, lengths),
        })
    }

    pub(super) fn count(&self, part: ScorePart) -> u32 {
        self.counts.get(&part).copied().unwrap_or(0)
    }

    /// Orders documents by score, time and id.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let by_score = self.score.descending(&other.score);
        let by_time = by_score.then_with(|| other.display_time.cmp(&self.display_time));
        by_time.then_with(|| self.id.cmp(&other.id))
    }
}
