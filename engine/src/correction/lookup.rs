//! Corrects the words of a keyword by look-ups in an engine.

use std::collections::BTreeMap;

use super::words::places_of;
use super::{Context, CorrectableWord, LikeliestWord, UnknownWords, WordPart, by_likelihood, likeliest};
use crate::{Hit, Query};

/// Words of a keyword for which others are looked for; syllables side by side are one.
const MAX_CORRECTED: usize = 4;

/// Look-ups in a tenant's scopes, as a viewer sees them.
pub trait Lookup: Sync {
    type Error: Send;

    /// Tells of each list whether any of its queries finds something.
    fn find(&self, lists: Vec<Vec<Query>>) -> impl Future<Output = Result<Vec<bool>, Self::Error>> + Send;

    /// Counts what each query finds.
    fn count_each(&self, queries: Vec<Query>) -> impl Future<Output = Result<Vec<u64>, Self::Error>> + Send;

    /// The newest [`MAX_SPELLED`](super::MAX_SPELLED) hits of each scope.
    fn newest(&self, query: Query) -> impl Future<Output = Result<Vec<Hit>, Self::Error>> + Send;

    /// Words one edit away, with their document frequencies.
    fn words_within_one_edit(
        &self,
        word: &str,
    ) -> impl Future<Output = Result<BTreeMap<String, u64>, Self::Error>> + Send;

    /// Homophones of a part, with their document frequencies.
    fn homophones(
        &self,
        part: &WordPart,
    ) -> impl Future<Output = Result<BTreeMap<String, u64>, Self::Error>> + Send;
}

/// Corrects unknown words by homophones, one edit, or pinyin of titles.
///
/// Words that consist of syllables are tried as pinyin before one edit.
///
/// # Errors
///
/// Those of the engine.
pub async fn unknown_words<L: Lookup>(engine: &L, keyword: &str) -> Result<UnknownWords, L::Error> {
    let words = CorrectableWord::all_of(keyword);
    let lists: Vec<_> = words.iter().map(CorrectableWord::places).collect();
    let mut found = engine.find(lists.concat()).await?.into_iter();
    let mut corrections: Vec<Option<String>> = vec![None; words.len()];
    let (mut unknown, mut looked_for, mut next) = (Vec::new(), 0, 0);
    for ((place, word), lists) in words.iter().enumerate().zip(&lists) {
        let is_found = found.by_ref().take(lists.len()).min() != Some(false);
        if place < next || looked_for == MAX_CORRECTED {
            continue;
        }
        looked_for += usize::from(!is_found);
        if !is_found && word.is_syllables() {
            let context = Context::new(keyword, &words, &[place], place, &corrections);
            corrections[place] = spelled(engine, word, &context).await?.map(|spelled| spelled.word);
        } else if !is_found {
            unknown.push(place);
        }
        next = word.next_place(place, is_found || corrections[place].is_some());
    }
    for &place in &unknown {
        let context = Context::new(keyword, &words, &unknown, place, &corrections);
        let is_edited =
            words[place].is_short_enough_to_edit() && !CorrectableWord::is_among_syllables(&words, place);
        corrections[place] = correction(engine, &words[place], is_edited, &context).await?;
    }
    Ok(UnknownWords::new(keyword, &unknown, &corrections))
}

async fn correction<L: Lookup>(
    engine: &L,
    word: &CorrectableWord,
    is_edited: bool,
    context: &Context<'_>,
) -> Result<Option<String>, L::Error> {
    let homophones = homophones(engine, word).await?;
    if let Some(homophone) = likeliest_of(engine, word, homophones, context).await? {
        return Ok(Some(homophone.word));
    }
    let (mut best, is_pinyin) = (None, word.has_syllables());
    for is_spelled in [is_pinyin, !is_pinyin] {
        let next = if is_spelled {
            spelled(engine, word, context).await?
        } else if is_edited {
            let candidates = engine.words_within_one_edit(&word.word).await?;
            likeliest_of(engine, word, by_likelihood(&word.word, &candidates), context).await?
        } else {
            None
        };
        best = LikeliestWord::better_of(best, next);
        if best.as_ref().is_some_and(|best| best.is_together) {
            break;
        }
    }
    Ok(best.map(|best| best.word))
}

/// Homophones of a word in the places of parts that nothing holds.
async fn homophones<L: Lookup>(engine: &L, word: &CorrectableWord) -> Result<Vec<String>, L::Error> {
    let parts = word.parts();
    let places = parts.iter().map(|part| places_of(std::slice::from_ref(&part.piece))).collect();
    let found = engine.find(places).await?;
    let mut misspelt = Vec::new();
    for (part, _) in parts.into_iter().zip(found).filter(|(_, is_found)| !is_found) {
        let homophones = engine.homophones(&part).await?;
        misspelt.push((part, homophones));
    }
    Ok(word.with_homophones(&misspelt))
}

/// The likeliest part of a title whose pinyin the word is.
async fn spelled<L: Lookup>(
    engine: &L,
    word: &CorrectableWord,
    context: &Context<'_>,
) -> Result<Option<LikeliestWord>, L::Error> {
    for spelled in word.spelled() {
        for query in spelled.queries(context) {
            let parts = spelled.parts_of(&engine.newest(query).await?);
            if !parts.is_empty() {
                return likeliest_of(engine, word, parts, context).await;
            }
        }
    }
    Ok(None)
}

async fn likeliest_of<L: Lookup>(
    engine: &L,
    word: &CorrectableWord,
    candidates: Vec<String>,
    context: &Context<'_>,
) -> Result<Option<LikeliestWord>, L::Error> {
    let queries: Vec<Vec<Query>> = candidates.iter().map(|candidate| context.queries(candidate)).collect();
    let mut counts = engine.count_each(queries.concat()).await?.into_iter();
    let found: Vec<Vec<u64>> =
        queries.iter().map(|queries| counts.by_ref().take(queries.len()).collect()).collect();
    Ok(likeliest(&word.word, candidates, &found))
}
