//! Relevance order: what each engine computes alike.
//!
//! An engine ranks all matches by BM25 of the [`WeightedWords`]. The best [`RESCORED_MATCHES`] are rescored, raised by
//! feedback and by [`Recency`]. Later pages are ranked by what the first one was ranked by, so pages join without gaps.

mod estimation;
mod feedback;
mod frequencies;
pub mod parameters;
mod ranked_by;
mod recency;
mod rescoring;
mod score;
mod spelling;
mod titles;
mod words;

pub use self::estimation::{QueryStatistics, ScoreEstimator};
pub use self::feedback::{FeedbackCandidate, FeedbackDocument, FeedbackTerm, feedback_candidates};
pub use self::frequencies::{Frequencies, inverse_document_frequency};
pub use self::parameters::RESCORED_MATCHES;
pub use self::ranked_by::{ExactScore, RankKey, RankPosition, RankedBy};
pub use self::recency::Recency;
pub use self::rescoring::{PairCount, Saturation};
pub use self::score::MatchScore;
pub use self::titles::WholeText;
pub(crate) use self::titles::whole_title;
pub use self::words::{PrefixWords, TypedWords, WeightedWord, WeightedWords, WordPair, WordPrefix};
