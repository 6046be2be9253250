use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, Term};
use trawl_engine::Request;
use trawl_engine::text::HEADING;

use super::budget::{SearchError, StepBudget};
use super::parameters::{BM25_B, BM25_K1};
use super::statistics::ScopeStatistics;
use super::viewer_scope::ViewerScope;
use super::weighted_words::WeightedWords;

pub(super) struct Ranking<'a> {
    pub(super) words: WeightedWords,
    pub(super) statistics: ScopeStatistics<'a>,
}

impl<'a> Ranking<'a> {
    pub(super) fn read(
        scope: &ViewerScope<'a>,
        request: &Request,
        budget: &mut StepBudget,
    ) -> Result<Self, SearchError> {
        let statistics = ScopeStatistics::collect(scope.view, &scope.prefix)?;
        let words = WeightedWords::read(&request.query, scope, &statistics, budget)?;
        Ok(Self { words, statistics })
    }
}

/// Document frequencies of query words, for the engine.
pub(super) struct WordStatistics<'a> {
    pub(super) scope: &'a ScopeStatistics<'a>,
    pub(super) words: &'a WeightedWords,
    pub(super) prefix: &'a str,
}

impl Bm25StatisticsProvider for WordStatistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.scope.total_num_tokens(field)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        self.scope.total_num_docs()
    }

    /// Text and title share a frequency, and so do prefix words; whole names have 1.
    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let value = term.value();
        let word = value.as_str().and_then(|text| text.strip_prefix(self.prefix)).unwrap_or_default();
        if self.words.whole_name.as_deref() == Some(word) {
            return Ok(1);
        }
        let word = word.strip_prefix(HEADING).unwrap_or(word);
        let known = self.words.indexed.iter().find(|known| known.term == word);
        let prefix_frequency =
            self.words.prefix_words.as_ref().map_or(1, |prefix_frequency| prefix_frequency.documents);
        Ok(known.map_or(prefix_frequency, |known| known.documents).min(self.scope.documents()))
    }
}

/// BM25 of occurrences: 1 for one in a text of mean length.
pub(super) struct Saturation {
    pub(super) mean_length: f32,
}

impl Saturation {
    #[expect(clippy::cast_precision_loss, reason = "lengths and counts of one document")]
    pub(super) fn of(&self, occurrences: u32, length: u32) -> f32 {
        let occurrences = occurrences as f32;
        let norm = BM25_K1 * (1.0 - BM25_B + BM25_B * length as f32 / self.mean_length);
        occurrences * (BM25_K1 + 1.0) / (occurrences + norm)
    }
}
