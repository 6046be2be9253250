//! Feedback: what the best matches have in common beyond the words of the question moves those up that share it.
//!
//! It never adds a match, and only what is looked at closely is moved.

use std::collections::BTreeMap;

use tantivy::postings::Postings;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED};

use super::best::Scored;
use super::{Ranking, Saturation, groups};
use crate::Error;
use crate::item::Texts;
use crate::search::parameters::{
    FEEDBACK_CANDIDATES, FEEDBACK_CHARS, FEEDBACK_COMMON_SHARE, FEEDBACK_DOCUMENTS, FEEDBACK_FROM_WORDS,
    FEEDBACK_SHARE, FEEDBACK_WORDS,
};
use crate::search::plan::Sight;
use crate::search::read_hit;
use crate::search::words::rarity;
use crate::text::{Spot, document_words, fold};
use crate::view::View;

/// One of the best documents.
struct Model {
    /// Its share of the scores of all of them.
    share: f32,
    length: u32,
    /// How often each word stands in it.
    words: BTreeMap<String, u32>,
}

/// A word to look for, and what it weighs where it stands once.
struct Hint {
    word: String,
    weight: f32,
    rarity: f32,
}

/// Adds to the scores, which are in their order, what the documents share with the best of them.
pub(super) fn add(sight: &Sight<'_>, ranking: &Ranking<'_>, scored: &mut [Scored]) -> Result<(), Error> {
    if ranking.words.known.len() < FEEDBACK_FROM_WORDS || scored.len() < 2 {
        return Ok(());
    }
    let saturation = Saturation { mean_length: ranking.statistics.mean_lengths().0 };
    let models = read_models(sight.view, scored)?;
    let hints = hints(&models, sight, ranking, &saturation)?;
    for group in groups(scored) {
        let segment = &sight.view.segments[group.segment];
        let index = segment.inverted_index(group.texts.body, sight.view.fields)?;
        let lengths = segment.reader.get_fieldnorms_reader(group.texts.body)?;
        for hint in &hints {
            let term = sight.term(group.texts.body, &hint.word);
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::WithFreqs)? else {
                continue;
            };
            for &(document, place) in &group.documents {
                if postings.doc() < document {
                    postings.seek(document);
                }
                if postings.doc() == TERMINATED {
                    break;
                }
                if postings.doc() == document {
                    let saturated = saturation.of(postings.term_freq(), lengths.fieldnorm(document));
                    scored[place].score += hint.weight * hint.rarity * saturated;
                }
            }
        }
    }
    Ok(())
}

fn read_models(view: &View, scored: &[Scored]) -> Result<Vec<Model>, Error> {
    let best = &scored[..scored.len().min(FEEDBACK_DOCUMENTS)];
    let sum: f32 = best.iter().map(|scored| scored.score).sum();
    best.iter()
        .map(|scored| {
            let lengths =
                view.segments[scored.found.segment].reader.get_fieldnorms_reader(scored.texts.body)?;
            let item = read_hit(view, scored.found)?.item;
            let mut words = BTreeMap::new();
            for text in Texts::read(&item).beginning(FEEDBACK_CHARS) {
                document_words(&fold(text), |spot, _, word| {
                    // The stem comes first, and what follows at its place is the word in full; single ideographs say little.
                    let says_something = word.chars().nth(1).is_some();
                    if says_something && (spot == Spot::Next || !word.is_ascii()) {
                        *words.entry(word.to_owned()).or_insert(0) += 1;
                    }
                });
            }
            Ok(Model { share: scored.score / sum, length: lengths.fieldnorm(scored.found.document), words })
        })
        .collect()
}

/// The words that say most about the best documents.
fn hints(
    models: &[Model],
    sight: &Sight<'_>,
    ranking: &Ranking<'_>,
    saturation: &Saturation,
) -> Result<Vec<Hint>, Error> {
    let mut frequent: BTreeMap<&str, f32> = BTreeMap::new();
    for model in models {
        for (word, &times) in &model.words {
            *frequent.entry(word).or_insert(0.0) += model.share * saturation.of(times, model.length);
        }
    }
    let mut candidates: Vec<(&str, f32)> = frequent.into_iter().collect();
    candidates.sort_by(|left, right| right.1.total_cmp(&left.1));
    candidates.truncate(FEEDBACK_CANDIDATES);

    let of = ranking.statistics.documents();
    let mut hints = Vec::with_capacity(candidates.len());
    for (word, share) in candidates {
        let documents = ranking.statistics.doc_freq(&sight.term(sight.view.fields.open.body, word))?;
        if documents >= 2 && documents * FEEDBACK_COMMON_SHARE <= of {
            let rarity = rarity(documents, of);
            hints.push(Hint { word: word.to_owned(), weight: share * rarity, rarity });
        }
    }
    hints.sort_by(|left, right| right.weight.total_cmp(&left.weight));
    hints.truncate(FEEDBACK_WORDS);

    // All hints together are worth their share of what all the words of the question are worth.
    let sum: f32 = hints.iter().map(|hint| hint.weight).sum();
    let worth: f32 = hints.iter().map(|hint| hint.weight / sum * hint.rarity).sum();
    let asked: f32 = ranking.words.known.iter().map(|word| word.weight * word.rarity).sum();
    for hint in &mut hints {
        hint.weight = hint.weight / sum * asked / worth * FEEDBACK_SHARE / (1.0 - FEEDBACK_SHARE);
    }
    Ok(hints)
}
