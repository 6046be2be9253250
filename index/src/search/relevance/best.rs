//! The matches whose words weigh most, by BM25 over the whole text and the title.

use std::cmp::Ordering;

use tantivy::query::{
    BooleanQuery, BoostQuery, EnableScoring, Occur, Query as EngineQuery, TermQuery, Weight,
};
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocSet, Score};

use super::{Ranking, WordStatistics};
use crate::Error;
use crate::schema::TextFields;
use crate::search::compile::{Compiled, Compiler};
use crate::search::matches::{Branch, Part, Parts};
use crate::search::parameters::TITLE_WEIGHT;
use crate::search::{Found, Request};
use crate::view::View;

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
    view: &View,
    compiler: &Compiler<'_>,
    ranking: &Ranking<'_>,
    request: &Request<'_>,
    wanted: usize,
) -> Result<Vec<Scored>, Error> {
    let statistics =
        WordStatistics { scope: &ranking.statistics, words: &ranking.words, prefix: compiler.prefix() };
    let scoring = EnableScoring::enabled_from_statistics_provider(&statistics, &view.searcher);
    let unscored = EnableScoring::disabled_from_searcher(&view.searcher);
    let mut best = Best { view, wanted, kept: Vec::new(), threshold: Score::MIN, failure: None };
    for texts in compiler.halves()? {
        let words = weighed_words(compiler, ranking, texts).weight(scoring)?;
        let filters = compiler.filters(texts, Some(&ranking.words))?;
        let everything = || Compiled::Term(compiler.term(texts.body, ""));
        if filters.is_empty() {
            let branches = [Branch::new(everything(), unscored)?];
            for part in &Parts::new(view, &branches, request.from, request.to)?.parts {
                best.read(part, words.as_ref(), texts, |_| true)?;
            }
        } else {
            let branches = [Branch::new(filters.finish(everything), unscored)?];
            for part in &Parts::new(view, &branches, request.from, request.to)?.parts {
                let mut passing = part.documents(part.range.start)?;
                best.read(part, words.as_ref(), texts, |document| {
                    if passing.doc() < document {
                        passing.seek(document);
                    }
                    passing.doc() == document
                })?;
            }
        }
    }
    best.finish()
}

/// The words that find documents, each with what it weighs, in the whole text and in the title.
fn weighed_words(compiler: &Compiler<'_>, ranking: &Ranking<'_>, texts: TextFields) -> BooleanQuery {
    let mut clauses: Vec<(Occur, Box<dyn EngineQuery>)> = Vec::new();
    let mut add = |term: Term, weight: f32| {
        let query = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
        clauses.push((Occur::Should, Box::new(BoostQuery::new(query, weight))));
    };
    for word in ranking.words.known.iter().filter(|word| word.finds) {
        add(compiler.term(texts.body, &word.term), word.weight);
        add(compiler.term(texts.title, &word.term), word.weight * TITLE_WEIGHT);
    }
    if let Some(begun) = &ranking.words.begun {
        for term in &begun.terms {
            add(compiler.term(texts.body, term), begun.weight);
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
        texts: TextFields,
        mut passes: impl FnMut(u32) -> bool,
    ) -> Result<(), Error> {
        words.for_each_pruning(self.threshold, &part.segment.reader, &mut |document, score| {
            if part.range.contains(&document) && part.is_alive(document) && passes(document) {
                let display_time = part.segment.opened.times.get_val(document);
                let found = Found { segment: part.ordinal, document, display_time };
                self.push(Scored { score, found, texts });
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
