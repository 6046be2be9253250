//! Corrects unknown words by homophones, by one edit, or as pinyin of titles.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use trawl_engine::correction::{
    Context, CorrectableWord, LikeliestWord, MAX_CANDIDATES, MAX_CORRECTED, MAX_RESTRICTED_CANDIDATES,
    MAX_SPELLED, UnknownWords, by_likelihood, likeliest, places_of,
};
use trawl_engine::query::{Piece, Target};
use trawl_engine::{Failure, Query, Request, Scope};

use crate::counting::Searched;
use crate::layout::{OPEN, halves};
use crate::served_indexes::ServedIndexes;
use crate::terms::TermPrefix;
use crate::time_order::newest_of_each;

/// `None` if nothing changes.
pub(crate) async fn unknown_words(
    indexes: &ServedIndexes,
    scopes: &[Arc<Scope>],
    principals: &Arc<[String]>,
    keyword: &str,
) -> Result<UnknownWords, Failure> {
    let searched = Searched { indexes, scopes, principals };
    let words = CorrectableWord::all_of(keyword);
    let mut lists = Vec::new();
    for word in &words {
        lists.extend(word.pieces.iter().map(|piece| places_of(std::slice::from_ref(piece)).to_vec()));
        lists.extend(word.is_syllables().then(|| places_of(&word.pieces).to_vec()));
    }
    let mut found = searched.count(lists.into_iter(), 1).await?.into_iter();
    let mut corrections: Vec<Option<String>> = vec![None; words.len()];
    let (mut unknown, mut looked_for, mut next) = (Vec::new(), 0, 0);
    for (place, word) in words.iter().enumerate() {
        let each_is_found = found.by_ref().take(word.pieces.len()).min() != Some(0);
        let is_together = word.is_syllables() && found.next() != Some(0);
        if place < next || looked_for == MAX_CORRECTED {
            continue;
        }
        let is_settled = if word.is_syllables() {
            let is_found = is_together || word.is_pair_of_syllables() && each_is_found;
            if !is_found {
                looked_for += 1;
                let context = Context::new(keyword, &words, &[place], place, &corrections);
                let spelled = searched.spelled(word, &context).await?;
                corrections[place] = spelled.map(|spelled| spelled.word);
            }
            is_found || corrections[place].is_some()
        } else {
            looked_for += usize::from(!each_is_found);
            unknown.extend((!each_is_found).then_some(place));
            each_is_found
        };
        next = word.next_place(place, is_settled);
    }
    for &place in &unknown {
        let context = Context::new(keyword, &words, &unknown, place, &corrections);
        corrections[place] = searched.correction(&words[place], &context).await?;
    }
    Ok(UnknownWords::new(keyword, &unknown, &corrections))
}

impl Searched<'_> {
    async fn correction(
        &self,
        word: &CorrectableWord,
        context: &Context<'_>,
    ) -> Result<Option<String>, Failure> {
        let homophones = self.homophones(word).await?;
        let homophone = self.likeliest(&word.word, homophones, context).await?;
        if let Some(homophone) = homophone {
            return Ok(Some(homophone.word));
        }
        let mut edited = None;
        if word.is_short_enough_to_edit() {
            let candidates = by_likelihood(&word.word, &self.candidates(&word.word, |_| true).await?);
            edited = self.likeliest(&word.word, candidates, context).await?;
        }
        if edited.as_ref().is_some_and(|edited| edited.is_together) {
            return Ok(edited.map(|edited| edited.word));
        }
        let spelled = self.spelled(word, context).await?;
        Ok(LikeliestWord::better_of(edited, spelled).map(|likeliest| likeliest.word))
    }

    /// Parts of titles that the viewer may see and whose pinyin the word is.
    async fn spelled(
        &self,
        word: &CorrectableWord,
        context: &Context<'_>,
    ) -> Result<Option<LikeliestWord>, Failure> {
        let Some(spelled) = word.spelled() else { return Ok(None) };
        for query in spelled.queries(context) {
            let query = Arc::new(query);
            let request = |scope: &Arc<Scope>| Request {
                limit: MAX_SPELLED,
                ..Request::total_of(scope, self.principals, Arc::clone(&query))
            };
            let requests: Vec<Request> = self.scopes.iter().map(request).collect();
            let hits = newest_of_each(self.indexes, &requests).await?;
            let parts = spelled.parts_of(hits.iter().flatten());
            if !parts.is_empty() {
                return self.likeliest(&word.word, parts, context).await;
            }
        }
        Ok(None)
    }

    /// Terms that the viewer may see, with their document frequencies.
    async fn visible(&self, terms: BTreeSet<String>) -> Result<BTreeMap<String, u64>, Failure> {
        if terms.is_empty() {
            return Ok(BTreeMap::new());
        }
        let queries = terms.iter().map(|term| vec![Target::Text.query(vec![Piece::Term(term.clone())])]);
        let counts = self.count(queries, i32::MAX).await?;
        Ok(terms.into_iter().zip(counts).filter(|(_, documents)| *documents > 0).collect())
    }

    async fn likeliest(
        &self,
        word: &str,
        candidates: Vec<String>,
        context: &Context<'_>,
    ) -> Result<Option<LikeliestWord>, Failure> {
        if candidates.is_empty() {
            return Ok(None);
        }
        let queries: Vec<Vec<Query>> =
            candidates.iter().map(|candidate| context.queries(candidate)).collect();
        let lists = queries.iter().flatten().map(|query| vec![query.clone()]);
        let mut counts = self.count(lists, i32::MAX).await?.into_iter();
        let found: Vec<Vec<u64>> =
            queries.iter().map(|queries| counts.by_ref().take(queries.len()).collect()).collect();
        Ok(likeliest(word, candidates, &found))
    }

    async fn homophones(&self, word: &CorrectableWord) -> Result<Vec<String>, Failure> {
        let parts = word.parts();
        if parts.is_empty() {
            return Ok(Vec::new());
        }
        let found = self
            .count(parts.iter().map(|part| places_of(std::slice::from_ref(&part.piece)).to_vec()), 1)
            .await?;
        let mut misspelt = Vec::new();
        for (part, _) in parts.into_iter().zip(found).filter(|(_, found)| *found == 0) {
            let homophones = self.candidates(&part.text, |other| part.sounds_like(other)).await?;
            misspelt.push((part, homophones));
        }
        Ok(word.with_homophones(&misspelt))
    }

    /// Words one edit away that the viewer may see, with their document frequencies.
    async fn candidates(
        &self,
        word: &str,
        is_candidate: impl Fn(&str) -> bool,
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
