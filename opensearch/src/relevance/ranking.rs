//! Words of a request, weighed, and the scores that they give.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::{try_join, try_join_all};
use serde_json::{Value, json};
use trawl_engine::query::select_expansion;
use trawl_engine::relevance::parameters::{HEADING_WEIGHT, MAX_POSITIONS, NEAR_POSITIONS, TITLE_WEIGHT};
use trawl_engine::relevance::{
    Frequencies, PairCount, QueryStatistics, Saturation, TypedWords, WeightedWords, WholeText, WordPair,
    WordPrefix, inverse_document_frequency,
};
use trawl_engine::text::HEADING;
use trawl_engine::{Failure, Query, RankedScope, Request};

use super::clauses::{NamedClauses, ScorePart, only_counted};
use super::ranked_document::RankedDocument;
use super::statistics::{Statistics, TextLengths, VisibleDocuments};
use crate::layout::{HalfFields, halves};
use crate::query::any;
use crate::served_indexes::ServedIndexes;
use crate::terms::TermPrefix;

/// Words of a request, weighed by the frequencies of all its scopes.
pub(super) struct OpenSearchRanking {
    pub(super) words: WeightedWords,
    pub(super) typed: Frequencies,
    pub(super) body: Saturation,
    title: Saturation,
    pub(super) modules: Vec<RankedModule>,
}

/// A scope of a request.
pub(super) struct RankedModule {
    /// The request for this scope alone.
    pub(super) request: Request,
    pub(super) skip: usize,
    pub(super) prefix: TermPrefix,
    statistics: Statistics,
    restricted: VisibleDocuments,
    expansion: BTreeMap<String, u64>,
    /// Lengths of open documents, texts first.
    open_lengths: [TextLengths; 2],
}

impl RankedModule {
    async fn read(
        indexes: &ServedIndexes,
        request: Request,
        skip: usize,
        typed: &TypedWords<'_>,
    ) -> Result<Self, Failure> {
        let prefix = TermPrefix::new(&request.scope);
        let starting = match typed.prefix() {
            Some(WordPrefix { start, .. }) => words_starting_with(indexes, &request, &prefix, start).await?,
            None => Vec::new(),
        };
        let mut body = vec![prefix.marker().to_owned()];
        body.extend(typed.terms().chain(typed.whole_texts()).map(|word| prefix.term(word)));
        body.extend(starting.iter().flat_map(|(_, words)| words).map(|word| prefix.term(word)));
        let title: Vec<String> =
            typed.terms().flat_map(|word| [prefix.term(word), heading(&prefix, word)]).collect();
        let statistics = Statistics::read(indexes, &request, &body, &title);
        let (statistics, open_lengths) =
            try_join(statistics, TextLengths::open_to_all(indexes, &request)).await?;
        let starting = match typed.prefix() {
            Some(WordPrefix { stem, .. }) => expansion(&statistics, &prefix, &starting, stem),
            None => BTreeSet::new(),
        };
        let mut counted = vec![prefix.marker().to_owned()];
        let words = typed.terms().chain(typed.whole_texts()).chain(starting.iter().copied());
        counted.extend(words.map(|word| prefix.term(word)));
        let restricted = VisibleDocuments::count(indexes, &request, &statistics, &counted).await?;
        let expansion = statistics.frequencies(&restricted, &prefix, starting.into_iter()).by_term;
        let expansion = expansion.into_iter().filter(|(_, documents)| *documents > 0).collect();
        Ok(Self { request, skip, prefix, statistics, restricted, expansion, open_lengths })
    }
}

impl OpenSearchRanking {
    pub(super) async fn read(
        indexes: &ServedIndexes,
        request: &Request,
        skip: usize,
        beside: &[RankedScope],
    ) -> Result<Self, Failure> {
        let words = TypedWords::of(&request.query);
        let beside = beside.iter().map(|RankedScope { scope, start }| (scope, start.skip));
        let modules = std::iter::once((&request.scope, skip)).chain(beside).map(|(scope, skip)| {
            let request = Request { scope: Arc::clone(scope), ..request.clone() };
            RankedModule::read(indexes, request, skip, &words)
        });
        let modules = try_join_all(modules).await?;
        let mut typed = Frequencies::default();
        let mut expansion: BTreeMap<String, u64> = BTreeMap::new();
        for module in &modules {
            let words = words.terms().chain(words.whole_texts());
            typed.add(module.statistics.frequencies(&module.restricted, &module.prefix, words));
            for (word, documents) in &module.expansion {
                *expansion.entry(word.clone()).or_insert(0) += documents;
            }
        }
        let saturation = |lengths: fn(&RankedModule) -> [TextLengths; 2]| {
            let (mut words, mut documents) = (0.0, 0.0);
            for half in modules.iter().flat_map(lengths) {
                words += half.words;
                documents += half.documents;
            }
            // It is a divisor, and there may be no title.
            #[expect(clippy::cast_possible_truncation, reason = "a mean length")]
            Saturation { mean_length: (words.max(1.0) / documents.max(1.0)) as f32 }
        };
        let body = saturation(|module| [module.open_lengths[0], module.restricted.body]);
        let title = saturation(|module| [module.open_lengths[1], module.restricted.title]);
        Ok(Self { words: words.weigh(&typed, expansion), typed, body, title, modules })
    }

    /// Returns the statistics for items ranked beside those of the index.
    pub(super) fn into_statistics(self, query: &Arc<Query>) -> QueryStatistics {
        let Self { typed: frequencies, body, title, .. } = self;
        let (mean_length, mean_title_length) = (body.mean_length, title.mean_length);
        QueryStatistics { query: Arc::clone(query), frequencies, mean_length, mean_title_length }
    }

    /// Scores `matches` of a module, and names what scores; `is_counted` names what further steps count, too.
    pub(super) fn scored_matches<'a>(
        &'a self,
        module: &'a RankedModule,
        matches: &Value,
        is_counted: bool,
    ) -> (Value, NamedClauses<'a>) {
        let mut named = NamedClauses::new(&module.statistics);
        let (mut scored, mut counted) = (Vec::new(), Vec::new());
        for half in halves(&module.request.principals) {
            self.add_scored(&module.prefix, half, &mut named, &mut scored);
            if is_counted {
                self.add_counted(&module.prefix, half, &mut named, &mut counted);
            }
        }
        if !counted.is_empty() {
            scored.push(only_counted(&counted));
        }
        // Required quotes select all matches.
        let least = u8::from(!self.words.requires_quotes());
        (json!({"bool": {"filter": matches, "should": scored, "minimum_should_match": least}}), named)
    }

    /// All of `matches` that have a word of the request.
    pub(super) fn counted_matches(&self, module: &RankedModule, matches: &Value) -> Value {
        if self.words.requires_quotes() {
            return matches.clone();
        }
        let terms: Vec<String> = self.words.matching_terms().map(|word| module.prefix.term(word)).collect();
        let in_half = |half: HalfFields| json!({"terms": {half.body: terms}});
        json!({"bool": {"filter": [matches, any(&halves(&module.request.principals).map(in_half).collect::<Vec<_>>())]}})
    }

    fn add_scored(
        &self,
        prefix: &TermPrefix,
        HalfFields { body, title, .. }: HalfFields,
        named: &mut NamedClauses<'_>,
        scored: &mut Vec<Value>,
    ) {
        for (number, word) in self.words.indexed.iter().enumerate().filter(|(_, word)| word.selects) {
            let worth = word.weight * word.idf;
            let (whole, heading) = (prefix.term(&word.term), heading(prefix, &word.term));
            scored.extend(named.term(ScorePart::Body(number), body, &whole, worth));
            scored.extend(named.term(ScorePart::Title(number), title, &whole, worth * TITLE_WEIGHT));
            scored.extend(named.term(ScorePart::Heading(number), title, &heading, worth * HEADING_WEIGHT));
        }
        for (number, word) in self.words.prefix_words.iter().flat_map(|words| &words.terms).enumerate() {
            let (term, worth) = (prefix.term(word), self.prefix_worth(word));
            scored.extend(named.term(ScorePart::Prefix(number), body, &term, worth));
        }
        for (number, whole) in self.words.whole_texts.iter().enumerate() {
            let (term, worth) = (prefix.term(&whole.term), self.whole_worth(whole));
            scored.extend(named.term(ScorePart::Whole(number), body, &term, worth));
        }
    }

    fn add_counted(
        &self,
        prefix: &TermPrefix,
        HalfFields { body, .. }: HalfFields,
        named: &mut NamedClauses<'_>,
        counted: &mut Vec<Value>,
    ) {
        for (number, word) in self.words.indexed.iter().enumerate().filter(|(_, word)| !word.selects) {
            counted.extend(named.plain_term(ScorePart::Body(number), body, &prefix.term(&word.term)));
        }
        for &WordPair { first, second, distance } in &self.words.pairs {
            let [Some(word), Some(next)] = [first, second].map(|place| self.words.indexed.get(place)) else {
                continue;
            };
            let terms = [word, next].map(|word| prefix.term(&word.term));
            let terms = terms.each_ref().map(String::as_str);
            let distance = usize::try_from(distance).unwrap_or(usize::MAX);
            let phrase = prefix.phrase(&[(0, word.term.clone()), (distance, next.term.clone())]);
            counted.extend(named.phrase(ScorePart::Pair(first, second), body, terms, &phrase));
            counted.extend(named.alone(ScorePart::Alone(first, second), body, terms, NEAR_POSITIONS));
        }
    }

    /// Returns the worth of a word that begins with the last word.
    ///
    /// All share a frequency, unless typed themselves.
    fn prefix_worth(&self, word: &str) -> f32 {
        let Some(words) = &self.words.prefix_words else { return 0.0 };
        let typed = self.words.indexed.iter().find(|typed| typed.term == word);
        let documents = typed.map_or(words.documents, |typed| typed.documents).min(self.typed.documents);
        words.weight * inverse_document_frequency(documents, self.typed.documents)
    }

    fn whole_worth(&self, whole: &WholeText) -> f32 {
        whole.weight * inverse_document_frequency(1, self.typed.documents)
    }

    /// BM25 of the words in one document, by the lengths of the scope.
    pub(super) fn score(&self, document: &RankedDocument) -> f32 {
        let in_body = |part: ScorePart| self.body.of(document.count(part), document.lengths.body);
        let in_title = |part: ScorePart| self.title.of(document.count(part), document.lengths.title);
        let mut score = 0.0;
        for (number, word) in self.words.indexed.iter().enumerate().filter(|(_, word)| word.selects) {
            let of_title = TITLE_WEIGHT * in_title(ScorePart::Title(number))
                + HEADING_WEIGHT * in_title(ScorePart::Heading(number));
            score += word.weight * word.idf * (in_body(ScorePart::Body(number)) + of_title);
        }
        for (number, word) in self.words.prefix_words.iter().flat_map(|words| &words.terms).enumerate() {
            score += self.prefix_worth(word) * in_body(ScorePart::Prefix(number));
        }
        for (number, whole) in self.words.whole_texts.iter().enumerate() {
            score += self.whole_worth(whole) * in_body(ScorePart::Whole(number));
        }
        rounded(score)
    }

    /// Scores common and adjacent words, and missing ones.
    pub(super) fn rescore(&self, document: &mut RankedDocument) {
        let mut score = document.score;
        let has_positions = |number: usize| document.count(ScorePart::Body(number)) <= MAX_POSITIONS;
        let pair_count = |&WordPair { first, second, .. }: &WordPair| {
            if has_positions(first) && has_positions(second) {
                let alone = document.count(ScorePart::Alone(first, second));
                PairCount {
                    exact: document.count(ScorePart::Pair(first, second)),
                    near: document.count(ScorePart::Body(first)).saturating_sub(alone),
                }
            } else {
                PairCount::default()
            }
        };
        self.words.rescore(
            &mut score,
            |count| self.body.of(count, document.lengths.body),
            |number| document.count(ScorePart::Body(number)),
            pair_count,
        );
        document.score = score;
    }
}

/// Rounds, as equal documents need equal scores.
fn rounded(score: f32) -> f32 {
    const KEPT_BITS: u32 = !0xfff;
    f32::from_bits(score.to_bits() & KEPT_BITS)
}

fn heading(prefix: &TermPrefix, word: &str) -> String {
    prefix.term(&format!("{HEADING}{word}"))
}

/// Words of each half that the viewer may see.
async fn words_starting_with(
    indexes: &ServedIndexes,
    request: &Request,
    prefix: &TermPrefix,
    start: &str,
) -> Result<Vec<(&'static str, Vec<String>)>, Failure> {
    let start = prefix.term(start);
    let in_half = |HalfFields { body, .. }: HalfFields| {
        let terms = indexes.terms_starting_with(request, body, &start);
        async move { Ok((body, terms.await?.iter().filter_map(|term| prefix.word_of(term)).collect())) }
    };
    try_join_all(halves(&request.principals).map(in_half)).await
}

/// Words that the last word stands for, of both halves.
fn expansion<'w>(
    statistics: &Statistics,
    prefix: &TermPrefix,
    starting: &'w [(&'static str, Vec<String>)],
    own_stem: &str,
) -> BTreeSet<&'w str> {
    let of_half = |(field, words): &'w (&'static str, Vec<String>)| {
        let documents = |word: &str| statistics.documents(field, &prefix.term(word));
        select_expansion(words.iter().map(|word| (word.as_str(), documents(word))).collect(), own_stem)
    };
    starting.iter().flat_map(of_half).collect()
}
