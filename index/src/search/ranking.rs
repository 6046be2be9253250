use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, Term};
use trawl_engine::relevance::{
    Frequencies, QueryStatistics, RankedBy, Saturation, TypedWords, WeightedWords, WordPrefix,
};
use trawl_engine::text::HEADING;
use trawl_engine::{Query, Request};

use super::budget::{SearchError, StepBudget};
use super::prefix_expansion;
use super::statistics::{ScopeStatistics, document_frequency};
use super::viewer_scope::ViewerScope;
use crate::view::IndexView;

/// Words of a request, weighed over all of its scopes.
pub(super) struct Ranking {
    pub(super) words: WeightedWords,
    pub(super) statistics: ScopeStatistics,
    typed: Frequencies,
    expansion: BTreeMap<String, u64>,
}

impl Ranking {
    pub(super) fn read(
        scopes: &[ViewerScope<'_>],
        view: &IndexView,
        request: &Request,
        budget: &mut StepBudget,
    ) -> Result<Self, SearchError> {
        let statistics = ScopeStatistics::collect(view, scopes, budget)?;
        let words = TypedWords::of(&request.query);
        let typed = frequencies(scopes, &statistics, words.terms().chain(words.whole_texts()), budget)?;
        let mut expanded = BTreeMap::new();
        if let Some(prefix) = words.prefix() {
            for scope in scopes {
                add_expansion(scope, prefix, budget, &mut expanded)?;
            }
        }
        Ok(Self { words: words.weigh(&typed, expanded.clone()), statistics, typed, expansion: expanded })
    }

    /// Weighs the words as an earlier page did.
    pub(super) fn again(request: &Request, ranked_by: &RankedBy) -> Self {
        let RankedBy { documents, body_tokens, title_tokens, .. } = *ranked_by;
        let (typed, expansion) = (ranked_by.frequencies(), ranked_by.expansion.clone());
        let words = TypedWords::of(&request.query).weigh(&typed, expansion.clone());
        let statistics = ScopeStatistics { documents, body_tokens, title_tokens };
        Self { words, statistics, typed, expansion }
    }

    /// What later pages need to weigh the words so again.
    pub(super) fn ranked_by(&self) -> RankedBy {
        let ScopeStatistics { documents, body_tokens, title_tokens } = self.statistics;
        let counted = self.words.prefix_words.iter().flat_map(|words| &words.terms);
        let expansion = counted.filter_map(|term| Some((term.clone(), *self.expansion.get(term)?)));
        let by_term = self.typed.by_term.clone().into_iter();
        RankedBy {
            documents,
            body_tokens,
            title_tokens,
            by_term: by_term.collect(),
            expansion: expansion.collect(),
            ..RankedBy::default()
        }
    }

    /// Returns the statistics for items ranked beside those of the index.
    pub(super) fn into_statistics(self, query: &Arc<Query>) -> QueryStatistics {
        let (mean_length, mean_title_length) = self.statistics.mean_lengths();
        let query = Arc::clone(query);
        QueryStatistics { query, frequencies: self.typed, mean_length, mean_title_length }
    }

    pub(super) fn saturation(&self) -> Saturation {
        Saturation { mean_length: self.statistics.mean_lengths().0 }
    }
}

/// Document frequencies of terms in all scopes, as the viewer sees them.
pub(super) fn frequencies<'t>(
    scopes: &[ViewerScope<'_>],
    statistics: &ScopeStatistics,
    terms: impl Iterator<Item = &'t str>,
    budget: &mut StepBudget,
) -> Result<Frequencies, SearchError> {
    let mut frequencies = Frequencies { documents: statistics.documents, ..Frequencies::default() };
    for term in terms {
        let mut documents = 0;
        for scope in scopes {
            documents += document_frequency(scope, term, budget)?;
        }
        frequencies.by_term.insert(term.to_owned(), documents);
    }
    Ok(frequencies)
}

/// Adds frequencies of words that begin with the prefix, as far as the viewer sees them.
fn add_expansion(
    scope: &ViewerScope<'_>,
    WordPrefix { stem, start }: WordPrefix<'_>,
    budget: &mut StepBudget,
    found: &mut BTreeMap<String, u64>,
) -> Result<(), SearchError> {
    let mut words = BTreeSet::new();
    for texts in scope.halves() {
        let expansion = prefix_expansion::expand(scope.view, texts.body, &scope.prefix, start, stem, budget)?;
        let in_scope = |term: &Term| Some(term.value().as_str()?.strip_prefix(&scope.prefix)?.to_owned());
        words.extend(expansion.terms.iter().filter_map(in_scope));
    }
    for word in words {
        let documents = document_frequency(scope, &word, budget)?;
        if documents > 0 {
            *found.entry(word).or_insert(0) += documents;
        }
    }
    Ok(())
}

/// Document frequencies of query words in the terms of one scope, for the engine.
pub(super) struct WordStatistics<'a> {
    pub(super) statistics: &'a ScopeStatistics,
    pub(super) words: &'a WeightedWords,
    pub(super) scope: &'a ViewerScope<'a>,
}

impl Bm25StatisticsProvider for WordStatistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let fields = self.scope.view.fields;
        let is_title = [fields.open.title, fields.restricted.title].contains(&field);
        let tokens = if is_title { self.statistics.title_tokens } else { self.statistics.body_tokens };
        // It is a divisor.
        Ok(tokens.max(1))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.statistics.documents.max(1))
    }

    /// Text and title share a frequency, and so do prefix words; whole texts have 1.
    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let value = term.value();
        let word = value.as_str().and_then(|text| text.strip_prefix(&self.scope.prefix)).unwrap_or_default();
        if self.words.whole_texts.iter().any(|whole| whole.term == word) {
            return Ok(1);
        }
        let word = word.strip_prefix(HEADING).unwrap_or(word);
        let known = self.words.indexed.iter().find(|known| known.term == word);
        let prefix_frequency =
            self.words.prefix_words.as_ref().map_or(1, |prefix_frequency| prefix_frequency.documents);
        Ok(known.map_or(prefix_frequency, |known| known.documents).min(self.statistics.documents))
    }
}
