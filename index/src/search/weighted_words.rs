//! Weights of query words, and which words select matches.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tantivy::query::Bm25StatisticsProvider;
use trawl_engine::query::{Piece, Query, QueryWord};
use trawl_engine::text::{WHOLE_NAME, is_stop_word, whole_name};

use super::budget::{SearchError, StepBudget};
use super::parameters::{
    MAX_PREFIX_WORDS, MAX_WEIGHTED_WORDS, MIN_COMMON_DOCUMENTS, MIN_COMMON_SHARE, MIN_QUESTION_WORDS,
    PREFIX_WEIGHT, REPETITION_SATURATION,
};
use super::prefix_expansion;
use super::statistics::ScopeStatistics;
use super::viewer_scope::ViewerScope;

pub(super) struct WeightedWords {
    /// Distinct.
    pub(super) indexed: Vec<WeightedWord>,
    pub(super) pairs: Vec<WordPair>,
    pub(super) prefix_words: Option<PrefixWords>,
    /// The whole-name term, if indexed.
    pub(super) whole_name: Option<String>,
    /// Quoted words are required.
    requires_quotes: bool,
    has_words: bool,
}

pub(super) struct WeightedWord {
    pub(super) term: String,
    pub(super) documents: u64,
    /// Grows with repetition in the query.
    pub(super) weight: f32,
    pub(super) idf: f32,
    /// Common words only weigh, unless alone.
    pub(super) selects: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct WordPair {
    pub(super) first: usize,
    pub(super) second: usize,
    /// Positions from the first to the second.
    pub(super) distance: u32,
}

pub(super) struct PrefixWords {
    pub(super) terms: Vec<String>,
    /// Sum of frequencies.
    pub(super) documents: u64,
    pub(super) weight: f32,
}

impl WeightedWords {
    pub(super) fn read(
        query: &Query,
        scope: &ViewerScope<'_>,
        statistics: &ScopeStatistics<'_>,
        budget: &mut StepBudget,
    ) -> Result<Self, SearchError> {
        let typed = content_words(&query.words);
        let quoted = are_quotes_required(&typed);
        let mut words: Vec<WeightedWord> = Vec::new();
        for word in &typed {
            if words.iter().any(|indexed| indexed.term == word.term) {
                continue;
            }
            let is_required = quoted && typed.iter().any(|other| other.quoted && other.term == word.term);
            let documents = statistics.doc_freq(&scope.term(scope.view.fields.open.body, &word.term))?;
            if documents > 0 {
                let times = typed.iter().filter(|other| other.term == word.term).count();
                words.push(WeightedWord {
                    term: word.term.clone(),
                    documents,
                    weight: repetition_weight(times),
                    idf: idf(documents, statistics.documents()),
                    selects: is_required || !is_common(documents, statistics.documents()),
                });
            }
        }
        keep_most_informative(&mut words);
        let prefix_words = PrefixWords::read(query, &typed, scope, &words, budget)?;
        if prefix_words.is_none() && words.iter().all(|word| !word.selects) {
            for word in &mut words {
                word.selects = true;
            }
        }
        let whole_name = whole_name(query.words.iter().map(|word| word.term.as_str()));
        let whole_name = whole_name.map(|name| format!("{WHOLE_NAME}{name}"));
        let whole_name = match whole_name {
            Some(term) if statistics.doc_freq(&scope.term(scope.view.fields.open.body, &term))? > 0 => {
                Some(term)
            }
            _ => None,
        };
        let pairs = pairs(&typed, &words);
        Ok(Self {
            indexed: words,
            pairs,
            prefix_words,
            whole_name,
            requires_quotes: quoted,
            has_words: !typed.is_empty(),
        })
    }

    pub(super) fn cannot_match(&self) -> bool {
        self.has_words && self.indexed.is_empty() && self.prefix_words.is_none() && self.whole_name.is_none()
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.has_words
    }

    /// Required quotes select all matches.
    pub(super) fn requires_quotes(&self) -> bool {
        self.requires_quotes
    }

    pub(super) fn matching_terms(&self) -> impl Iterator<Item = &str> {
        let prefix_word =
            self.prefix_words.iter().flat_map(|prefix_word| &prefix_word.terms).map(String::as_str);
        let indexed = self.indexed.iter().filter(|word| word.selects).map(|word| word.term.as_str());
        indexed.chain(prefix_word).chain(self.whole_name.as_deref())
    }
}

impl PrefixWords {
    fn read(
        query: &Query,
        typed: &[&QueryWord],
        scope: &ViewerScope<'_>,
        words: &[WeightedWord],
        budget: &mut StepBudget,
    ) -> Result<Option<Self>, SearchError> {
        let pieces = query.clauses.iter().filter(|clause| !clause.exclude).flat_map(|clause| &clause.pieces);
        let mut prefix = pieces.filter_map(|piece| match piece {
            Piece::Prefix { stem, start } => Some((stem, start)),
            _ => None,
        });
        let Some((stem, start)) = prefix.next_back() else { return Ok(None) };
        // Stop words are not expanded.
        if !typed.iter().any(|word| word.term == *stem) {
            return Ok(None);
        }
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for texts in scope.halves() {
            let expansion =
                prefix_expansion::expand(scope.view, texts.body, &scope.prefix, start, stem, budget)?;
            for term in &expansion.terms {
                let value = term.value();
                let prefix_word = value.as_str().and_then(|text| text.strip_prefix(&scope.prefix));
                *found.entry(prefix_word.unwrap_or_default().to_owned()).or_insert(0) +=
                    scope.view.document_frequency(term)?;
            }
        }
        if found.is_empty() {
            return Ok(None);
        }
        let mut found: Vec<(String, u64)> = found.into_iter().collect();
        // The stable sort keeps the lexicographic order.
        found.sort_by_key(|(_, documents)| Reverse(*documents));
        found.truncate(MAX_PREFIX_WORDS);
        let is_indexed = words.iter().any(|word| word.term == *stem);
        Ok(Some(Self {
            documents: found.iter().map(|(_, documents)| documents).sum(),
            terms: found.into_iter().map(|(word, _)| word).collect(),
            weight: if is_indexed { PREFIX_WEIGHT } else { 1.0 },
        }))
    }
}

/// Drops unquoted stop words, unless nothing remains.
fn content_words(typed: &[QueryWord]) -> Vec<&QueryWord> {
    let content_words: Vec<&QueryWord> =
        typed.iter().filter(|word| word.quoted || !is_stop_word(&word.term)).collect();
    if content_words.is_empty() { typed.iter().collect() } else { content_words }
}

/// Long questions only weigh quotes, such as titles.
fn are_quotes_required(content_words: &[&QueryWord]) -> bool {
    let outside = content_words.iter().filter(|word| !word.quoted).count();
    outside < MIN_QUESTION_WORDS && content_words.iter().any(|word| word.quoted)
}

/// 1 for once.
#[expect(clippy::cast_precision_loss, reason = "at most the terms of a query")]
fn repetition_weight(times: usize) -> f32 {
    let times = times as f32;
    times * (REPETITION_SATURATION + 1.0) / (times + REPETITION_SATURATION)
}

/// BM25's inverse document frequency.
#[expect(clippy::cast_precision_loss, reason = "a statistic")]
pub(super) fn idf(documents: u64, total: u64) -> f32 {
    let rest = total.saturating_sub(documents) as f32;
    (1.0 + (rest + 0.5) / (documents as f32 + 0.5)).ln()
}

fn is_common(documents: u64, total: u64) -> bool {
    documents > MIN_COMMON_DOCUMENTS && documents * MIN_COMMON_SHARE > total
}

/// Keeps the highest weights, in typed order.
fn keep_most_informative(words: &mut Vec<WeightedWord>) {
    if words.len() <= MAX_WEIGHTED_WORDS {
        return;
    }
    let worth = |word: &WeightedWord| word.weight * word.idf;
    let mut worths: Vec<f32> = words.iter().map(worth).collect();
    worths.sort_by(|left, right| right.total_cmp(left));
    let least = worths[MAX_WEIGHTED_WORDS - 1];
    words.retain(|word| worth(word) >= least);
    words.truncate(MAX_WEIGHTED_WORDS);
}

fn pairs(typed: &[&QueryWord], words: &[WeightedWord]) -> Vec<WordPair> {
    let place = |typed: &QueryWord| words.iter().position(|word| word.term == typed.term);
    let indexed: Vec<(usize, usize)> =
        typed.iter().filter_map(|typed| Some((place(typed)?, typed.position))).collect();
    let mut pairs: Vec<WordPair> = Vec::new();
    for neighbours in indexed.windows(2) {
        let [(first, at), (second, next)] = *neighbours else { continue };
        let is_new = !pairs.iter().any(|pair| (pair.first, pair.second) == (first, second));
        if first != second && is_new {
            pairs.push(WordPair { first, second, distance: u32::try_from(next - at).unwrap_or(u32::MAX) });
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content_words_of(keyword: &str) -> Vec<String> {
        let query = Query::parse(keyword);
        content_words(&query.words).into_iter().map(|word| word.term.clone()).collect()
    }

    fn word(term: &str, documents: u64) -> WeightedWord {
        WeightedWord {
            term: term.to_owned(),
            documents,
            weight: 1.0,
            idf: idf(documents, 1_000_000),
            selects: true,
        }
    }

    #[test]
    fn stop_words_have_no_weight_unless_alone() {
        assert_eq!(content_words_of("What is the cost of flight?"), ["cost", "flight"]);
        assert_eq!(content_words_of("请问北京的天气如何"), ["北京", "天气"]);
        assert_eq!(content_words_of("to be or not to be").len(), 6);
        assert_eq!(content_words_of("\"to be\" hamlet"), ["to", "be", "hamlet"]);
    }

    #[test]
    fn quotes_are_required_in_short_queries_only() {
        let required = |keyword: &str| are_quotes_required(&content_words(&Query::parse(keyword).words));
        assert!(required("\"heat flow\""));
        assert!(required("\"heat flow\" copper 1970"));
        assert!(!required("heat flow copper"));
        assert!(!required("articles describing how copper conducts heat, such as \"heat flow\" 1970"));
    }

    #[test]
    fn rarest_words_are_kept_in_typed_order() {
        let mut words: Vec<WeightedWord> = (1..=MAX_WEIGHTED_WORDS as u64 + 3)
            .map(|number| word(&number.to_string(), number * 7 % 41 + 1))
            .collect();
        let mut by_documents: Vec<u64> = words.iter().map(|word| word.documents).collect();
        by_documents.sort_unstable();
        keep_most_informative(&mut words);
        assert_eq!(words.len(), MAX_WEIGHTED_WORDS);
        assert!(words.iter().all(|word| word.documents <= by_documents[MAX_WEIGHTED_WORDS - 1]));
        assert!(words.is_sorted_by_key(|word| word.term.parse::<u64>().unwrap()));
    }

    #[test]
    fn pairs_skip_dropped_words() {
        let query = Query::parse("heat of the flow heat flow heat");
        let typed = content_words(&query.words);
        let pairs = pairs(&typed, &[word("flow", 3), word("heat", 5)]);
        let pair = |first, second, distance| WordPair { first, second, distance };
        assert_eq!(pairs, [pair(1, 0, 3), pair(0, 1, 1)]);
    }

    #[test]
    fn frequent_word_is_common_in_large_scopes_only() {
        assert!(is_common(300_000, 1_000_000));
        assert!(!is_common(200_000, 1_000_000));
        assert!(!is_common(19, 20));
    }
}
