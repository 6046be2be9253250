//! Adds feedback of the best matches to their scores.

use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED};
use trawl_engine::relevance::parameters::FEEDBACK_DOCUMENTS;
use trawl_engine::relevance::{FeedbackDocument, FeedbackTerm, feedback_candidates};

use super::RankedSearch;
use super::scored::{Scored, group_by_segment};
use crate::Error;
use crate::search::budget::{SearchError, StepBudget};
use crate::search::ranking::frequencies;
use crate::search::stored::read_hit;
use crate::view::IndexView;

/// Frequent words of the sorted best matches.
pub(super) fn find(
    search: &RankedSearch<'_>,
    sorted: &[Scored],
    budget: &mut StepBudget,
) -> Result<Vec<FeedbackTerm>, SearchError> {
    let RankedSearch { view, scopes, ranking, .. } = *search;
    if !ranking.words.takes_feedback(sorted.len()) {
        return Ok(Vec::new());
    }
    let candidates = feedback_candidates(&read_documents(view, sorted)?, &ranking.saturation());
    let words = candidates.iter().map(|candidate| candidate.word.as_str());
    let frequencies = frequencies(scopes, &ranking.statistics, words, budget)?;
    Ok(ranking.words.feedback_terms(candidates, &frequencies))
}

pub(super) fn add(
    search: &RankedSearch<'_>,
    terms: &[FeedbackTerm],
    scored: &mut [Scored],
) -> Result<(), Error> {
    let RankedSearch { view, scopes, ranking, .. } = *search;
    if terms.is_empty() {
        return Ok(());
    }
    let saturation = ranking.saturation();
    for group in group_by_segment(scored) {
        let segment = &view.segments[group.segment];
        let index = segment.inverted_index(group.texts.body, view.fields)?;
        let lengths = segment.reader.get_fieldnorms_reader(group.texts.body)?;
        for feedback_term in terms {
            let term = scopes[group.scope].term(group.texts.body, &feedback_term.word);
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
                    scored[place].score.feedback += feedback_term.score(saturated);
                }
            }
        }
    }
    Ok(())
}

fn read_documents(view: &IndexView, scored: &[Scored]) -> Result<Vec<FeedbackDocument>, Error> {
    let best = &scored[..scored.len().min(FEEDBACK_DOCUMENTS)];
    best.iter()
        .map(|scored| {
            let lengths =
                view.segments[scored.found.segment].reader.get_fieldnorms_reader(scored.texts.body)?;
            let item = read_hit(view, scored.found)?.item;
            Ok(FeedbackDocument::read(&item, scored.score.total(), lengths.fieldnorm(scored.found.document)))
        })
        .collect()
}
