use std::ops::Range;

use tantivy::query::{
    BooleanQuery, BoostQuery, EnableScoring, Occur, Query as EngineQuery, TermQuery, Weight,
};
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocId, DocSet, Score};
use trawl_engine::Request;
use trawl_engine::relevance::MatchScore;
use trawl_engine::relevance::parameters::{HEADING_WEIGHT, TITLE_WEIGHT};
use trawl_engine::text::HEADING;

use super::scored::{Scored, sort};
use crate::Error;
use crate::schema::TextFields;
use crate::search::budget::{SearchError, StepBudget};
use crate::search::plan::Plan;
use crate::search::postings::BranchPostings;
use crate::search::ranking::{Ranking, WordStatistics};
use crate::search::statistics::mean;
use crate::search::stored::Match;
use crate::search::viewer_scope::ViewerScope;
use crate::view::{IndexView, Segment};

/// Relative error of the engine's upper bounds.
const ROUNDING: Score = 1e-5;

/// The best matches, sorted.
pub(super) fn collect(
    view: &IndexView,
    scopes: &[ViewerScope<'_>],
    ranking: &Ranking,
    request: &Request,
    limit: usize,
    budget: &mut StepBudget,
) -> Result<Vec<Scored>, SearchError> {
    let mean_lengths = ranking.statistics.mean_lengths();
    let mut top =
        TopMatches { view, limit, best: Vec::new(), threshold: Score::MIN, mean_lengths, failure: None };
    for number in 0..scopes.len() {
        collect_scope(scopes, number, ranking, request, &mut top, budget)?;
    }
    Ok(top.finish()?)
}

fn collect_scope(
    scopes: &[ViewerScope<'_>],
    number: usize,
    ranking: &Ranking,
    request: &Request,
    top: &mut TopMatches<'_>,
    budget: &mut StepBudget,
) -> Result<(), SearchError> {
    let (view, scope) = (top.view, &scopes[number]);
    let statistics = WordStatistics { statistics: &ranking.statistics, words: &ranking.words, scope };
    let scoring = EnableScoring::enabled_from_statistics_provider(&statistics, &view.searcher);
    for (texts, filters) in Plan::filters(scope, request, &ranking.words, budget)? {
        let words = weighted_query(scope, ranking, texts)?.weight(scoring)?;
        for (ordinal, segment) in view.segments.iter().enumerate() {
            let Some(range) = segment.between(request.from, request.to) else { continue };
            let half = SegmentHalf { ordinal, segment, range, texts, scope: number };
            let Some(filters) = &filters else {
                top.read(&half, words.as_ref(), |_| true)?;
                continue;
            };
            let Some(lists) = BranchPostings::find(view, ordinal, filters, budget)? else { continue };
            let mut filter = lists.read(view, segment, half.range.start, budget)?;
            top.read(&half, words.as_ref(), |document| {
                if filter.doc() < document {
                    filter.seek(document);
                }
                filter.doc() == document
            })?;
        }
    }
    Ok(())
}

/// Rounds, as the engine's order of summing varies, and equal documents need equal scores.
fn rounded(score: Score) -> Score {
    const KEPT_BITS: u32 = !0xfff;
    Score::from_bits(score.to_bits() & KEPT_BITS)
}

struct SegmentHalf<'a> {
    ordinal: usize,
    segment: &'a Segment,
    range: Range<DocId>,
    texts: TextFields,
    scope: usize,
}

fn weighted_query(
    scope: &ViewerScope<'_>,
    ranking: &Ranking,
    texts: TextFields,
) -> std::io::Result<BooleanQuery> {
    let mut clauses: Vec<(Occur, Box<dyn EngineQuery>)> = Vec::new();
    let mut add = |term: Term, weight: f32| {
        let query = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
        clauses.push((Occur::Should, Box::new(BoostQuery::new(query, weight))));
    };
    for word in ranking.words.indexed.iter().filter(|word| word.selects) {
        add(scope.term(texts.body, &word.term), word.weight);
        add(scope.term(texts.title, &word.term), word.weight * TITLE_WEIGHT);
        let heading = scope.term(texts.title, &format!("{HEADING}{}", word.term));
        // Most scopes have none.
        if scope.view.document_frequency(&heading)? > 0 {
            add(heading, word.weight * HEADING_WEIGHT);
        }
    }
    if let Some(prefix_words) = &ranking.words.prefix_words {
        for term in &prefix_words.terms {
            add(scope.term(texts.body, term), prefix_words.weight);
        }
    }
    for whole in &ranking.words.whole_texts {
        add(scope.term(texts.body, &whole.term), whole.weight);
    }
    Ok(BooleanQuery::new(clauses))
}

struct TopMatches<'a> {
    view: &'a IndexView,
    limit: usize,
    best: Vec<Scored>,
    /// Lower scores are skipped.
    threshold: Score,
    /// Mean lengths of whole texts, and of titles.
    mean_lengths: (Score, Score),
    failure: Option<Error>,
}

impl TopMatches<'_> {
    fn read(
        &mut self,
        half: &SegmentHalf<'_>,
        words: &dyn Weight,
        mut passes: impl FnMut(DocId) -> bool,
    ) -> Result<(), Error> {
        let slack = self.slack(half)?;
        words.for_each_pruning(self.threshold / slack, &half.segment.reader, &mut |document, score| {
            let score = rounded(score);
            if half.range.contains(&document) && half.segment.is_alive(document) && passes(document) {
                let display_time = half.segment.opened.times.get_val(document);
                let found = Match { segment: half.ordinal, document, display_time };
                let score = MatchScore::from_words(score);
                self.push(Scored { score, found, texts: half.texts, scope: half.scope });
            }
            self.threshold / slack
        })?;
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Factor by which a score may exceed the engine's bound.
    ///
    /// Bounds use mean lengths over all scopes, scores those of the scope.
    fn slack(&self, half: &SegmentHalf<'_>) -> Result<Score, Error> {
        let mut slack: Score = 1.0;
        for (field, of_scope) in
            [(half.texts.body, self.mean_lengths.0), (half.texts.title, self.mean_lengths.1)]
        {
            let index = half.segment.inverted_index(field, self.view.fields)?;
            let of_segment = mean(index.total_num_tokens(), u64::from(half.segment.reader.max_doc()));
            if of_segment > 0.0 && of_scope > 0.0 {
                slack = slack.max(of_segment / of_scope).max(of_scope / of_segment);
            }
        }
        // Lengths are stored rounded.
        Ok(slack * (1.0 + ROUNDING))
    }

    fn push(&mut self, scored: Scored) {
        self.best.push(scored);
        if self.best.len() >= self.limit.saturating_mul(2) {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        if let Err(error) = sort(self.view, &mut self.best) {
            self.failure = Some(error);
        }
        self.best.truncate(self.limit);
        if let Some(worst) = self.best.last()
            && self.best.len() == self.limit
        {
            // Equal scores may win by time, and bounds are rounded.
            let worst = worst.score.total();
            self.threshold = (worst - worst.abs() * ROUNDING).next_down();
        }
    }

    fn finish(mut self) -> Result<Vec<Scored>, Error> {
        self.shrink();
        self.failure.map_or(Ok(self.best), Err)
    }
}
