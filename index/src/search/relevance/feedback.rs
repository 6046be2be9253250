//! Pseudo-relevance feedback: frequent words of the best matches raise others.
//!
//! It never adds a match.

use std::collections::BTreeMap;

use tantivy::postings::Postings;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED};
use trawl_engine::Texts;
use trawl_engine::text::{PositionStep, document_words, fold};

use super::scored::{Scored, group_by_segment};
use crate::Error;
use crate::search::parameters::{
    FEEDBACK_CANDIDATES, FEEDBACK_CHARS, FEEDBACK_DOCUMENTS, FEEDBACK_SHARE, FEEDBACK_WORDS,
    MAX_FEEDBACK_SHARE, MIN_FEEDBACK_WORDS,
};
use crate::search::ranking::{Ranking, Saturation};
use crate::search::stored::read_hit;
use crate::search::viewer_scope::ViewerScope;
use crate::search::weighted_words::idf;
use crate::view::IndexView;

struct FeedbackDocument {
    /// Share in the sum of scores.
    share: f32,
    length: u32,
    words: BTreeMap<String, u32>,
}

struct FeedbackTerm {
    word: String,
    weight: f32,
    idf: f32,
}

pub(super) fn add(
    scope: &ViewerScope<'_>,
    ranking: &Ranking<'_>,
    scored: &mut [Scored],
) -> Result<(), Error> {
    if ranking.words.indexed.len() < MIN_FEEDBACK_WORDS || scored.len() < 2 {
        return Ok(());
    }
    let saturation = Saturation { mean_length: ranking.statistics.mean_lengths().0 };
    let documents = read_documents(scope.view, scored)?;
    let terms = select_terms(&documents, scope, ranking, &saturation)?;
    for group in group_by_segment(scored) {
        let segment = &scope.view.segments[group.segment];
        let index = segment.inverted_index(group.texts.body, scope.view.fields)?;
        let lengths = segment.reader.get_fieldnorms_reader(group.texts.body)?;
        for feedback_term in &terms {
            let term = scope.term(group.texts.body, &feedback_term.word);
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
                    scored[place].score += feedback_term.weight * feedback_term.idf * saturated;
                }
            }
        }
    }
    Ok(())
}

fn read_documents(view: &IndexView, scored: &[Scored]) -> Result<Vec<FeedbackDocument>, Error> {
    let best = &scored[..scored.len().min(FEEDBACK_DOCUMENTS)];
    let sum: f32 = best.iter().map(|scored| scored.score).sum();
    best.iter()
        .map(|scored| {
            let lengths =
                view.segments[scored.found.segment].reader.get_fieldnorms_reader(scored.texts.body)?;
            let item = read_hit(view, scored.found)?.item;
            let mut words = BTreeMap::new();
            for text in Texts::read(&item).beginning(FEEDBACK_CHARS) {
                document_words(&fold(text), |step, _, word| {
                    // A stem precedes its word; single ideographs tell little.
                    let says_something = word.chars().nth(1).is_some();
                    if says_something && (step == PositionStep::Next || !word.is_ascii()) {
                        *words.entry(word.to_owned()).or_insert(0) += 1;
                    }
                });
            }
            Ok(FeedbackDocument {
                share: scored.score / sum,
                length: lengths.fieldnorm(scored.found.document),
                words,
            })
        })
        .collect()
}

fn select_terms(
    documents: &[FeedbackDocument],
    scope: &ViewerScope<'_>,
    ranking: &Ranking<'_>,
    saturation: &Saturation,
) -> Result<Vec<FeedbackTerm>, Error> {
    let mut frequent: BTreeMap<&str, f32> = BTreeMap::new();
    for document in documents {
        for (word, &times) in &document.words {
            *frequent.entry(word).or_insert(0.0) += document.share * saturation.of(times, document.length);
        }
    }
    let mut candidates: Vec<(&str, f32)> = frequent.into_iter().collect();
    candidates.sort_by(|left, right| right.1.total_cmp(&left.1));
    candidates.truncate(FEEDBACK_CANDIDATES);

    let total = ranking.statistics.documents();
    let mut terms = Vec::with_capacity(candidates.len());
    for (word, share) in candidates {
        let documents = ranking.statistics.doc_freq(&scope.term(scope.view.fields.open.body, word))?;
        if documents >= 2 && documents * MAX_FEEDBACK_SHARE <= total {
            let idf = idf(documents, total);
            terms.push(FeedbackTerm { word: word.to_owned(), weight: share * idf, idf });
        }
    }
    terms.sort_by(|left, right| right.weight.total_cmp(&left.weight));
    terms.truncate(FEEDBACK_WORDS);

    // All weights together are [`FEEDBACK_SHARE`].
    let sum: f32 = terms.iter().map(|term| term.weight).sum();
    let worth: f32 = terms.iter().map(|term| term.weight / sum * term.idf).sum();
    let query_worth: f32 = ranking.words.indexed.iter().map(|word| word.weight * word.idf).sum();
    for term in &mut terms {
        term.weight = term.weight / sum * query_worth / worth * FEEDBACK_SHARE / (1.0 - FEEDBACK_SHARE);
    }
    Ok(terms)
}
