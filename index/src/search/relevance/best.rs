//! The matches whose words weigh most, by BM25 over the whole text and the title.

use std::ops::Range;

use tantivy::query::{
    BooleanQuery, BoostQuery, EnableScoring, Occur, Query as EngineQuery, TermQuery, Weight,
};
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocId, DocSet, Score};

use super::{Ranking, WordStatistics};
use crate::Error;
use crate::schema::TextFields;
use crate::search::lists::Lists;
use crate::search::parameters::{HEADING_WEIGHT, TITLE_WEIGHT, WHOLE_NAME_WEIGHT};
use crate::search::plan::{Plan, Sight};
use crate::search::statistics::mean;
use crate::search::work::{Stop, Work};
use crate::search::{Found, Request};
use crate::text::HEADING;
use crate::view::{Segment, View};

/// By how much, relatively, an upper bound may fall short of the score that it bounds.
const ROUNDING: Score = 1e-5;

/// A match and what it is worth.
#[derive(Clone, Copy)]
pub(super) struct Scored {
    pub(super) score: Score,
    pub(super) found: Found,
    /// The half of the scope that it is in.
    pub(super) texts: TextFields,
}

/// The best `wanted` matches, in their order.
pub(super) fn collect(
    sight: &Sight<'_>,
    ranking: &Ranking<'_>,
    request: &Request<'_>,
    wanted: usize,
    work: &mut Work,
) -> Result<Vec<Scored>, Stop> {
    let view = sight.view;
    let statistics =
        WordStatistics { scope: &ranking.statistics, words: &ranking.words, prefix: &sight.prefix };
    let scoring = EnableScoring::enabled_from_statistics_provider(&statistics, &view.searcher);
    let mean_lengths = ranking.statistics.mean_lengths();
    let mut best =
        Best { view, wanted, kept: Vec::new(), threshold: Score::MIN, mean_lengths, failure: None };
    for (texts, filters) in Plan::filters(sight, request, &ranking.words, work)? {
        let words = weighed_words(sight, ranking, texts)?.weight(scoring)?;
        for (ordinal, segment) in view.segments.iter().enumerate() {
            let Some(range) = segment.between(request.from, request.to) else { continue };
            let part = Part { ordinal, segment, range, texts };
            let Some(filters) = &filters else {
                best.read(&part, words.as_ref(), |_| true)?;
                continue;
            };
            let Some(lists) = Lists::find(view, ordinal, filters, work)? else { continue };
            let mut passing = lists.read(view, segment, part.range.start, work)?;
            best.read(&part, words.as_ref(), |document| {
                if passing.doc() < document {
                    passing.seek(document);
                }
                passing.doc() == document
            })?;
        }
    }
    Ok(best.finish()?)
}

/// A score without its last digits. The engine adds up the words of a document in an order that depends on what it skipped, and
/// equal documents are to have equal scores.
fn rounded(score: Score) -> Score {
    const KEPT: u32 = !0xfff;
    Score::from_bits(score.to_bits() & KEPT)
}

/// One half of the scope in one segment, within the request's times.
struct Part<'a> {
    ordinal: usize,
    segment: &'a Segment,
    range: Range<DocId>,
    texts: TextFields,
}

/// The words that find documents, each with what it weighs, in the whole text and in the title.
fn weighed_words(
    sight: &Sight<'_>,
    ranking: &Ranking<'_>,
    texts: TextFields,
) -> std::io::Result<BooleanQuery> {
    let mut clauses: Vec<(Occur, Box<dyn EngineQuery>)> = Vec::new();
    let mut add = |term: Term, weight: f32| {
        let query = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
        clauses.push((Occur::Should, Box::new(BoostQuery::new(query, weight))));
    };
    for word in ranking.words.known.iter().filter(|word| word.finds) {
        add(sight.term(texts.body, &word.term), word.weight);
        add(sight.term(texts.title, &word.term), word.weight * TITLE_WEIGHT);
        let heading = sight.term(texts.title, &format!("{HEADING}{}", word.term));
        // Most scopes have none.
        if sight.view.document_frequency(&heading)? > 0 {
            add(heading, word.weight * HEADING_WEIGHT);
        }
    }
    if let Some(begun) = &ranking.words.begun {
        for term in &begun.terms {
            add(sight.term(texts.body, term), begun.weight);
        }
    }
    if let Some(whole) = &ranking.words.whole {
        add(sight.term(texts.body, whole), WHOLE_NAME_WEIGHT);
    }
    Ok(BooleanQuery::new(clauses))
}

/// Keeps the best documents, in bounded memory.
struct Best<'a> {
    view: &'a View,
    wanted: usize,
    kept: Vec<Scored>,
    /// Scores that are not above this cannot be among the best.
    threshold: Score,
    /// Of the scope: of whole texts, and of titles.
    mean_lengths: (Score, Score),
    failure: Option<Error>,
}

impl Best<'_> {
    fn read(
        &mut self,
        part: &Part<'_>,
        words: &dyn Weight,
        mut passes: impl FnMut(DocId) -> bool,
    ) -> Result<(), Error> {
        let slack = self.slack(part)?;
        words.for_each_pruning(self.threshold / slack, &part.segment.reader, &mut |document, score| {
            let score = rounded(score);
            if part.range.contains(&document) && part.segment.is_alive(document) && passes(document) {
                let display_time = part.segment.opened.times.get_val(document);
                let found = Found { segment: part.ordinal, document, display_time };
                self.push(Scored { score, found, texts: part.texts });
            }
            self.threshold / slack
        })?;
        self.failure.take().map_or(Ok(()), Err)
    }

    /// By how much a score may exceed the engine's bound for it. The bounds of a segment are made with the mean length of
    /// its texts of all scopes; here the scope's own counts, and BM25 changes by less than these differ.
    fn slack(&self, part: &Part<'_>) -> Result<Score, Error> {
        let mut slack: Score = 1.0;
        for (field, of_scope) in
            [(part.texts.body, self.mean_lengths.0), (part.texts.title, self.mean_lengths.1)]
        {
            let index = part.segment.inverted_index(field, self.view.fields)?;
            let of_segment = mean(index.total_num_tokens(), u64::from(part.segment.reader.max_doc()));
            if of_segment > 0.0 && of_scope > 0.0 {
                slack = slack.max(of_segment / of_scope).max(of_scope / of_segment);
            }
        }
        // Lengths are kept in steps, so means of them are.
        Ok(slack * (1.0 + ROUNDING))
    }

    fn push(&mut self, scored: Scored) {
        self.kept.push(scored);
        if self.kept.len() >= self.wanted.saturating_mul(2) {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        if let Err(error) = sort(self.view, &mut self.kept) {
            self.failure = Some(error);
        }
        self.kept.truncate(self.wanted);
        if let Some(worst) = self.kept.last()
            && self.kept.len() == self.wanted
        {
            // An equal score may still win by its time, and the engine's upper bounds are rounded.
            self.threshold = (worst.score - worst.score.abs() * ROUNDING).next_down();
        }
    }

    fn finish(mut self) -> Result<Vec<Scored>, Error> {
        self.shrink();
        self.failure.map_or(Ok(self.kept), Err)
    }
}

/// The best first. Ids are read only of those that are equal otherwise.
pub(super) fn sort(view: &View, scored: &mut [Scored]) -> Result<(), Error> {
    let by_value = |left: &Scored, right: &Scored| {
        let by_score = right.score.total_cmp(&left.score);
        by_score.then_with(|| right.found.display_time.cmp(&left.found.display_time))
    };
    scored.sort_by(by_value);
    for equals in scored.chunk_by_mut(|left, right| by_value(left, right).is_eq()) {
        let [first, .., _] = equals else { continue };
        let segment = first.found.segment;
        if equals.iter().all(|scored| scored.found.segment == segment) {
            let ordinals = &view.segments[segment].opened.id_ordinals;
            equals.sort_by_cached_key(|scored| ordinals.get_val(scored.found.document));
            continue;
        }
        let mut failure = None;
        equals.sort_by_cached_key(|scored| {
            id(view, scored.found).unwrap_or_else(|error| {
                failure = Some(error);
                String::new()
            })
        });
        failure.map_or(Ok(()), Err)?;
    }
    Ok(())
}

fn id(view: &View, found: Found) -> Result<String, Error> {
    let segment = &view.segments[found.segment].opened;
    let mut id = String::new();
    segment.ids.ord_to_str(segment.id_ordinals.get_val(found.document), &mut id)?;
    Ok(id)
}
