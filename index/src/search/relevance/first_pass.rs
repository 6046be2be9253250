use std::ops::Range;

use tantivy::query::{
    BooleanQuery, BoostQuery, EnableScoring, Occur, Query as EngineQuery, Scorer, TermQuery, Weight,
};
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocId, DocSet, Score};
use trawl_engine::relevance::parameters::{HEADING_WEIGHT, TITLE_WEIGHT};
use trawl_engine::relevance::{MatchScore, RankPosition};
use trawl_engine::text::HEADING;

use super::RankedSearch;
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
use crate::view::Segment;

/// Relative error of the engine's upper bounds.
const ROUNDING: Score = 1e-5;

/// Which matches are collected.
pub(super) enum Part<'a> {
    All,
    /// Those that were rescored, down to a place.
    Best(&'a RankPosition),
    /// Those behind the rescored ones, and behind the start of their scope.
    Others(&'a RankPosition),
}

/// The best matches of a part, sorted.
pub(super) fn collect(
    search: &RankedSearch<'_>,
    part: &Part<'_>,
    limit: usize,
    budget: &mut StepBudget,
) -> Result<Vec<Scored>, SearchError> {
    let mean_lengths = search.ranking.statistics.mean_lengths();
    let threshold = match part {
        Part::Best(to) => below(to.key.score.value()),
        Part::All | Part::Others(_) => Score::MIN,
    };
    let mut top =
        TopMatches { search, part, limit, best: Vec::new(), threshold, mean_lengths, failure: None };
    for number in 0..search.scopes.len() {
        collect_scope(number, &mut top, budget)?;
    }
    Ok(top.finish()?)
}

fn collect_scope(
    number: usize,
    top: &mut TopMatches<'_>,
    budget: &mut StepBudget,
) -> Result<(), SearchError> {
    let RankedSearch { view, request, scopes, ranking, .. } = *top.search;
    let scope = &scopes[number];
    let statistics = WordStatistics { statistics: &ranking.statistics, words: &ranking.words, scope };
    let scoring = EnableScoring::enabled_from_statistics_provider(&statistics, &view.searcher);
    for (texts, filters) in Plan::filters(scope, request, &ranking.words, budget)? {
        let query = weighted_query(scope, ranking, texts)?;
        let words = WeightedClauses { together: query.weight(scoring)?, query: &query, scoring };
        for (ordinal, segment) in view.segments.iter().enumerate() {
            let Some(range) = segment.between(request.from, request.to) else { continue };
            let half = SegmentHalf { ordinal, segment, range, texts, scope: number };
            let Some(filters) = &filters else {
                top.read(&half, &words, |_| true)?;
                continue;
            };
            let Some(lists) = BranchPostings::find(view, ordinal, filters, budget)? else { continue };
            let mut filter = lists.read(view, segment, half.range.start, budget)?;
            top.read(&half, &words, |document| {
                if filter.doc() < document {
                    filter.seek(document);
                }
                filter.doc() == document
            })?;
        }
    }
    Ok(())
}

/// A score that equal ones pass, though bounds are rounded.
fn below(score: Score) -> Score {
    (score - score.abs() * ROUNDING).next_down()
}

/// The words of a half.
struct WeightedClauses<'a> {
    together: Box<dyn Weight>,
    query: &'a BooleanQuery,
    scoring: EnableScoring<'a>,
}

/// Rounds scores, as the engine sums in any order, and a document needs the same score everywhere.
struct Rounding<'a> {
    words: &'a WeightedClauses<'a>,
    segment: &'a Segment,
    /// Opened for the first sum that another order could round otherwise.
    scorers: Vec<Box<dyn Scorer>>,
}

impl Rounding<'_> {
    /// Documents come in ascending order.
    fn round(&mut self, document: DocId, score: Score) -> tantivy::Result<Score> {
        const STEP: u32 = 1 << 12;
        /// Units in the last place by which sums in different orders may differ.
        const DOUBT: u32 = 64;
        let rest = score.to_bits() % STEP;
        let is_doubtful = self.words.query.clauses().len() > 2 && !(DOUBT..STEP - DOUBT).contains(&rest);
        let score = if is_doubtful { self.sum(document)? } else { score };
        Ok(Score::from_bits(score.to_bits() / STEP * STEP))
    }

    /// Sums in the order of the clauses.
    fn sum(&mut self, document: DocId) -> tantivy::Result<Score> {
        if self.scorers.is_empty() {
            let WeightedClauses { query, scoring, .. } = *self.words;
            let scorer = |(_, clause): &(Occur, Box<dyn EngineQuery>)| {
                clause.weight(scoring)?.scorer(&self.segment.reader, 1.0)
            };
            self.scorers = query.clauses().iter().map(scorer).collect::<tantivy::Result<_>>()?;
        }
        let mut sum = 0.0;
        for scorer in &mut self.scorers {
            if scorer.doc() < document {
                scorer.seek(document);
            }
            if scorer.doc() == document {
                sum += scorer.score();
            }
        }
        Ok(sum)
    }
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
    search: &'a RankedSearch<'a>,
    part: &'a Part<'a>,
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
        words: &WeightedClauses<'_>,
        mut passes: impl FnMut(DocId) -> bool,
    ) -> Result<(), Error> {
        let slack = self.slack(half)?;
        let mut rounding = Rounding { words, segment: half.segment, scorers: Vec::new() };
        words.together.for_each_pruning(
            self.threshold / slack,
            &half.segment.reader,
            &mut |document, score| {
                if half.range.contains(&document)
                    && half.segment.is_alive(document)
                    && passes(document)
                    && let Err(error) = self.take(half, &mut rounding, document, score)
                {
                    self.failure = Some(error);
                }
                self.threshold / slack
            },
        )?;
        self.failure.take().map_or(Ok(()), Err)
    }

    fn take(
        &mut self,
        half: &SegmentHalf<'_>,
        rounding: &mut Rounding<'_>,
        document: DocId,
        score: Score,
    ) -> Result<(), Error> {
        let display_time = half.segment.opened.times.get_val(document);
        let found = Match { segment: half.ordinal, document, display_time };
        let score = MatchScore::from_words(rounding.round(document, score)?);
        let scored = Scored { score, is_rescored: false, found, texts: half.texts, scope: half.scope };
        let view = self.search.view;
        let is_of_part = match self.part {
            Part::All => true,
            Part::Best(to) => !scored.is_behind(view, to)?,
            Part::Others(from) => {
                let after =
                    self.search.starts[half.scope].after.as_ref().filter(|after| !after.key.is_rescored);
                scored.is_behind(view, after.unwrap_or(from))?
            }
        };
        if is_of_part {
            self.best.push(scored);
            if self.best.len() >= self.limit.saturating_mul(2) {
                self.shrink()?;
            }
        }
        Ok(())
    }

    /// Factor by which a score may exceed the engine's bound.
    ///
    /// Bounds use mean lengths over all scopes, scores those of the scope.
    fn slack(&self, half: &SegmentHalf<'_>) -> Result<Score, Error> {
        let mut slack: Score = 1.0;
        for (field, of_scope) in
            [(half.texts.body, self.mean_lengths.0), (half.texts.title, self.mean_lengths.1)]
        {
            let index = half.segment.inverted_index(field, self.search.view.fields)?;
            let of_segment = mean(index.total_num_tokens(), u64::from(half.segment.reader.max_doc()));
            if of_segment > 0.0 && of_scope > 0.0 {
                slack = slack.max(of_segment / of_scope).max(of_scope / of_segment);
            }
        }
        // Lengths are stored rounded.
        Ok(slack * (1.0 + ROUNDING))
    }

    fn shrink(&mut self) -> Result<(), Error> {
        sort(self.search.view, &mut self.best)?;
        self.best.truncate(self.limit);
        if let Some(worst) = self.best.last()
            && self.best.len() == self.limit
        {
            // Equal scores may win by time.
            self.threshold = below(worst.score.total());
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Scored>, Error> {
        self.shrink()?;
        Ok(self.best)
    }
}
