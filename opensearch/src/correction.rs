//! Looks words up for corrections.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use trawl_engine::correction::{
    self, Lookup, MAX_CANDIDATES, MAX_RESTRICTED_CANDIDATES, MAX_SPELLED, UnknownWords, WordPart,
};
use trawl_engine::query::{Piece, Target};
use trawl_engine::{Failure, Hit, Query, Request, Scope};

use crate::counting::Searched;
use crate::layout::{OPEN, halves};
use crate::served_indexes::ServedIndexes;
use crate::terms::TermPrefix;
use crate::time_order::newest_of_each;

/// Corrects words of a keyword that no scope shows.
pub(crate) async fn unknown_words(
    indexes: &ServedIndexes,
    scopes: &[Arc<Scope>],
    principals: &Arc<[String]>,
    keyword: &str,
) -> Result<UnknownWords, Failure> {
    correction::unknown_words(&Searched { indexes, scopes, principals }, keyword).await
}

impl Lookup for Searched<'_> {
    type Error = Failure;

    async fn find(&self, lists: Vec<Vec<Query>>) -> Result<Vec<bool>, Failure> {
        let counts = self.count(lists.into_iter(), 1).await?;
        Ok(counts.into_iter().map(|count| count > 0).collect())
    }

    async fn count_each(&self, queries: Vec<Query>) -> Result<Vec<u64>, Failure> {
        self.count(queries.into_iter().map(|query| vec![query]), i32::MAX).await
    }

    async fn newest(&self, query: Query) -> Result<Vec<Hit>, Failure> {
        let query = Arc::new(query);
        let request = |scope: &Arc<Scope>| Request {
            limit: MAX_SPELLED,
            ..Request::total_of(scope, self.principals, Arc::clone(&query))
        };
        let requests: Vec<Request> = self.scopes.iter().map(request).collect();
        Ok(newest_of_each(self.indexes, &requests).await?.concat())
    }

    async fn words_within_one_edit(&self, word: &str) -> Result<BTreeMap<String, u64>, Failure> {
        self.candidates(word, |_| true).await
    }

    async fn homophones(&self, part: &WordPart) -> Result<BTreeMap<String, u64>, Failure> {
        self.candidates(&part.text, |other| part.sounds_like(other)).await
    }
}

impl Searched<'_> {
    /// Terms that the viewer may see, with their document frequencies.
    async fn visible(&self, terms: BTreeSet<String>) -> Result<BTreeMap<String, u64>, Failure> {
        if terms.is_empty() {
            return Ok(BTreeMap::new());
        }
        let queries = terms.iter().map(|term| vec![Target::Text.query(vec![Piece::Term(term.clone())])]);
        let counts = self.count(queries, i32::MAX).await?;
        Ok(terms.into_iter().zip(counts).filter(|(_, documents)| *documents > 0).collect())
    }

    /// Words one edit away that the viewer may see, with their document frequencies.
    async fn candidates(
        &self,
        word: &str,
        is_candidate: impl Fn(&str) -> bool + Sync,
    ) -> Result<BTreeMap<String, u64>, Failure> {
        let places: Vec<(TermPrefix, &str)> = self
            .scopes
            .iter()
            .flat_map(|scope| halves(self.principals).map(|half| (TermPrefix::new(scope), half.body)))
            .collect();
        let suggestion = |(number, (prefix, field)): (usize, &(TermPrefix, &str))| {
            let suggestion = json!({
                "text": prefix.term(word),
                "term": {
                    "field": field,
                    "analyzer": "keyword",
                    "suggest_mode": "always",
                    "max_edits": 1,
                    "min_word_length": 1,
                    // Words of other scopes are never candidates.
                    "prefix_length": prefix.marker().chars().count(),
                    "string_distance": "damerau_levenshtein",
                    "accuracy": 0,
                    "max_term_freq": i32::MAX,
                    "size": MAX_CANDIDATES,
                    "shard_size": MAX_CANDIDATES,
                },
            });
            (number.to_string(), suggestion)
        };
        let suggestions: Map<String, Value> = places.iter().enumerate().map(suggestion).collect();
        let search = json!({"size": 0, "track_total_hits": false, "suggest": suggestions});
        let answers = self.indexes.search_scopes(self.scopes, self.principals, &[search]).await?;
        let mut candidates: BTreeMap<String, u64> = BTreeMap::new();
        let mut restricted: BTreeSet<String> = BTreeSet::new();
        for answer in &answers {
            for (number, (prefix, field)) in places.iter().enumerate() {
                let options = &answer["suggest"][number.to_string()][0]["options"];
                for option in options.as_array().into_iter().flatten() {
                    let candidate = option["text"].as_str().and_then(|term| prefix.word_of(term));
                    // Skips whole names.
                    if let Some(candidate) =
                        candidate.filter(|word| word.starts_with(char::is_alphanumeric) && is_candidate(word))
                    {
                        if *field == OPEN.body {
                            *candidates.entry(candidate).or_insert(0) += option["freq"].as_u64().unwrap_or(0);
                        } else if restricted.len() < MAX_RESTRICTED_CANDIDATES {
                            restricted.insert(candidate);
                        }
                    }
                }
            }
        }
        candidates.extend(self.visible(restricted).await?);
        Ok(candidates)
    }
}
