use std::collections::BTreeMap;

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, Term};
use trawl_engine::Request;
use trawl_engine::relevance::{Frequencies, Saturation, TypedWords, WeightedWords, WordPrefix};
use trawl_engine::text::HEADING;

use super::budget::{SearchError, StepBudget};
use super::prefix_expansion;
use super::statistics::ScopeStatistics;
use super::viewer_scope::ViewerScope;
use crate::Error;

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
        let typed = TypedWords::of(&request.query);
        let frequencies = frequencies(scope, &statistics, typed.terms())?;
        let expansion = match typed.prefix() {
            Some(prefix) => expansion(scope, prefix, budget)?,
            None => BTreeMap::new(),
        };
        Ok(Self { words: typed.weigh(&frequencies, expansion), statistics })
    }

    pub(super) fn saturation(&self) -> Saturation {
        Saturation { mean_length: self.statistics.mean_lengths().0 }
    }
}

/// Document frequencies of terms in both halves of the scope.
pub(super) fn frequencies<'t>(
    scope: &ViewerScope<'_>,
    statistics: &ScopeStatistics<'_>,
    terms: impl Iterator<Item = &'t str>,
) -> Result<Frequencies, Error> {
    let mut frequencies = Frequencies { documents: statistics.documents(), ..Frequencies::default() };
    for term in terms {
        let documents = statistics.doc_freq(&scope.term(scope.view.fields.open.body, term))?;
        frequencies.by_term.insert(term.to_owned(), documents);
    }
    Ok(frequencies)
}

/// Frequencies of words that begin with the prefix, in the halves that the viewer may see.
fn expansion(
    scope: &ViewerScope<'_>,
    WordPrefix { stem, start }: WordPrefix<'_>,
    budget: &mut StepBudget,
) -> Result<BTreeMap<String, u64>, SearchError> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for texts in scope.halves() {
        let expansion = prefix_expansion::expand(scope.view, texts.body, &scope.prefix, start, stem, budget)?;
        for term in &expansion.terms {
            let value = term.value();
            let prefix_word = value.as_str().and_then(|text| text.strip_prefix(&scope.prefix));
            *found.entry(prefix_word.unwrap_or_default().to_owned()).or_insert(0) +=
                scope.view.document_frequency(term)?;
        }
    }
    Ok(found)
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
