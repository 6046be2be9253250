//! Corrects unknown words by homophones, by one edit, or as pinyin of titles.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::try_join_all;
use serde_json::{Map, Value, json};
use trawl_engine::correction::{
    Context, CorrectableWord, MAX_CANDIDATES, MAX_CORRECTED, MAX_RESTRICTED_CANDIDATES, MAX_SPELLED,
    UnknownWords, by_likelihood, likeliest, places_of,
};
use trawl_engine::query::{Piece, Target};
use trawl_engine::{Failure, Query, Request, Scope};

use crate::counting::Searched;
use crate::layout::{HalfFields, OPEN, halves};
use crate::served_indexes::ServedIndexes;
use crate::terms::TermPrefix;

/// `None` if nothing changes.
pub(crate) async fn unknown_words(
    indexes: &ServedIndexes,
    scopes: &[Arc<Scope>],
    principals: &Arc<[String]>,
    keyword: &str,
) -> Result<UnknownWords, Failure> {
    let searched = Searched { indexes, scopes, principals };
    let words = CorrectableWord::all_of(keyword);
    let pieces = words.iter().flat_map(|word| &word.pieces);
    let found = searched.count(pieces.map(|piece| places_of(piece).to_vec()), 1).await?;
    let mut found = found.into_iter();
    let mut is_unknown = |place: &usize| found.by_ref().take(words[*place].pieces.len()).min() == Some(0);
    let mut unknown: Vec<usize> = (0..words.len()).filter(&mut is_unknown).collect();
    unknown.truncate(MAX_CORRECTED);
    let mut corrections: Vec<Option<String>> = vec![None; words.len()];
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
        let likeliest = self.likeliest(&word.word, homophones, context).await?;
        if likeliest.is_some() {
            return Ok(likeliest);
        }
        if word.is_short_enough_to_edit() {
            let candidates = by_likelihood(&word.word, &self.candidates(&word.word, |_| true).await?);
            let likeliest = self.likeliest(&word.word, candidates, context).await?;
            if likeliest.is_some() {
                return Ok(likeliest);
            }
        }
        self.likeliest(&word.word, self.spelled(word).await?, context).await
    }

    /// Parts of titles that the viewer may see and whose pinyin the word is.
    async fn spelled(&self, word: &CorrectableWord) -> Result<Vec<String>, Failure> {
        let Some(reading) = word.reading() else { return Ok(Vec::new()) };
        let places =
            self.scopes.iter().flat_map(|scope| halves(self.principals).map(move |half| (scope, half)));
        let terms_of = async |(scope, half): (&Arc<Scope>, HalfFields)| {
            let prefix = TermPrefix::new(scope);
            let in_scope = Request::total_of(scope, self.principals, Arc::default());
            let terms =
                self.indexes.terms_starting_with(&in_scope, half.readings, &prefix.term(&reading)).await?;
            let words = terms.iter().filter_map(|term| prefix.word_of(term)).take(MAX_SPELLED);
            Ok::<_, Failure>((half.body, words.collect::<BTreeSet<String>>()))
        };
        let (mut open, mut restricted) = (BTreeSet::new(), BTreeSet::new());
        for (body, words) in try_join_all(places.map(terms_of)).await? {
            if body == OPEN.body { open.extend(words) } else { restricted.extend(words) }
        }
        let first = |words: BTreeSet<String>| words.into_iter().take(MAX_SPELLED);
        let found = first(open).chain(first(restricted)).collect();
        let visible = self.visible(found, Target::Reading).await?;
        let spelled =
            visible.into_iter().map(|(term, documents)| (term[reading.len()..].to_owned(), documents));
        Ok(by_likelihood(&word.word, &spelled.collect()))
    }

    /// Terms that the viewer may see, with their document frequencies.
    async fn visible(
        &self,
        terms: BTreeSet<String>,
        target: Target,
    ) -> Result<BTreeMap<String, u64>, Failure> {
        if terms.is_empty() {
            return Ok(BTreeMap::new());
        }
        let queries = terms.iter().map(|term| vec![target.query(vec![Piece::Term(term.clone())])]);
        let counts = self.count(queries, i32::MAX).await?;
        Ok(terms.into_iter().zip(counts).filter(|(_, documents)| *documents > 0).collect())
    }

    async fn likeliest(
        &self,
        word: &str,
        candidates: Vec<String>,
        context: &Context<'_>,
    ) -> Result<Option<String>, Failure> {
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
        let found = self.count(parts.iter().map(|part| places_of(&part.piece).to_vec()), 1).await?;
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
        candidates.extend(self.visible(restricted, Target::Text).await?);
        Ok(candidates)
    }
}
