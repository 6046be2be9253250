//! Relevance order: what each engine computes alike.
//!
//! An engine ranks all matches by BM25 of the [`WeightedWords`]. The best [`RESCORED_MATCHES`] are rescored, raised by
//! feedback and by [`freshness`]; the number is fixed, so pages join without gaps.

mod alternatives;
mod estimation;
mod feedback;
pub mod parameters;
mod rescoring;
mod score;
mod titles;
mod words;

pub use self::estimation::{QueryStatistics, ScoreEstimator};
pub use self::feedback::{FeedbackCandidate, FeedbackDocument, FeedbackTerm, feedback_candidates};
pub use self::parameters::RESCORED_MATCHES;
pub use self::rescoring::{PairCount, Saturation};
pub use self::score::MatchScore;
pub use self::titles::WholeText;
pub(crate) use self::titles::whole_title;
pub use self::words::{
    Frequencies, PrefixWords, TypedWords, WeightedWord, WeightedWords, WordPair, WordPrefix,
    inverse_document_frequency,
};

use self::parameters::{FRESHNESS_HALF_LIFE_MS, FRESHNESS_WEIGHT};

/// Factor of a score; larger for newer documents. Times are epoch milliseconds.
#[expect(clippy::cast_precision_loss, reason = "an age")]
pub fn freshness(now: i64, display_time: i64) -> f32 {
    let age = now.saturating_sub(display_time).max(0) as f32;
    1.0 + FRESHNESS_WEIGHT / (1.0 + age / FRESHNESS_HALF_LIFE_MS)
}
