//! The matches whose words weigh most, by BM25 over the whole text and the title.

use std::cmp::Ordering;
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
use crate::search::parameters::TITLE_WEIGHT;
use crate::search::plan::{Plan, Sight};
use crate::search::work::{Stop, Work};
use crate::search::{Found, Request};
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
    let mut best = Best { view, wanted, kept: Vec::new(), threshold: Score::MIN, failure: None };
    for (texts, filters) in Plan::filters(sight, request, &ranking.words, work)? {
        let words = weighed_words(sight, ranking, texts).weight(scoring)?;
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

/// One half of the scope in one segment, within the request's times.
struct Part<'a> {
    ordinal: usize,
    segment: &'a Segment,
    range: Range<DocId>,
    texts: TextFields,
}

/// The words that find documents, each with what it weighs, in the whole text and in the title.
fn weighed_words(sight: &Sight<'_>, ranking: &Ranking<'_>, texts: TextFields) -> BooleanQuery {
    let mut clauses: Vec<(Occur, Box<dyn EngineQuery>)> = Vec::new();
    let mut add = |term: Term, weight: f32| {
        let query = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
        clauses.push((Occur::Should, Box::new(BoostQuery::new(query, weight))));
    };
    for word in ranking.words.known.iter().filter(|word| word.finds) {
        add(sight.term(texts.body, &word.term), word.weight);
        add(sight.term(texts.title, &word.term), word.weight * TITLE_WEIGHT);
    }
    if let Some(begun) = &ranking.words.begun {
        for term in &begun.terms {
            add(sight.term(texts.body, term), begun.weight);
        }
    }
    BooleanQuery::new(clauses)
}

/// Keeps the best documents, in bounded memory.
struct Best<'a> {
    view: &'a View,
    wanted: usize,
    kept: Vec<Scored>,
    /// Scores that are not above this cannot be among the best.
    threshold: Score,
    failure: Option<Error>,
}

impl Best<'_> {
    fn read(
        &mut self,
        part: &Part<'_>,
        words: &dyn Weight,
        mut passes: impl FnMut(DocId) -> bool,
    ) -> Result<(), Error> {
        words.for_each_pruning(self.threshold, &part.segment.reader, &mut |document, score| {
            if part.range.contains(&document) && part.segment.is_alive(document) && passes(document) {
                let display_time = part.segment.opened.times.get_val(document);
                let found = Found { segment: part.ordinal, document, display_time };
                self.push(Scored { score, found, texts: part.texts });
            }
            self.threshold
        })?;
        self.failure.take().map_or(Ok(()), Err)
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

/// The best first.
pub(super) fn sort(view: &View, scored: &mut [Scored]) -> Result<(), Error> {
    let mut failure = None;
    scored.sort_by(|left, right| {
        compare(view, left, right).unwrap_or_else(|error| {
            failure = Some(error);
            Ordering::Equal
        })
    });
    failure.map_or(Ok(()), Err)
}

fn compare(view: &View, left: &Scored, right: &Scored) -> Result<Ordering, Error> {
    let by_value = right
        .score
        .total_cmp(&left.score)
        .then_with(|| right.found.display_time.cmp(&left.found.display_time));
    if by_value.is_ne() {
        return Ok(by_value);
    }
    if left.found.segment == right.found.segment {
        let ordinals = &view.segments[left.found.segment].opened.id_ordinals;
        return Ok(ordinals.get_val(left.found.document).cmp(&ordinals.get_val(right.found.document)));
    }
    Ok(id(view, left.found)?.cmp(&id(view, right.found)?))
}

fn id(view: &View, found: Found) -> Result<String, Error> {
    let segment = &view.segments[found.segment].opened;
    let mut id = String::new();
    segment.ids.ord_to_str(segment.id_ordinals.get_val(found.document), &mut id)?;
    Ok(id)
}
