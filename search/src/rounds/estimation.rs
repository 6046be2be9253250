//! Scores of external items beside those of the index, which first tells its statistics.

use tokio::time::timeout_at;
use trawl_engine::relevance::{MatchScore, QueryStatistics, Recency, ScoreEstimator};

use super::SearchRounds;
use crate::{
    clock::this_hour,
    source::{PositionedItem, ResultItem, SourcePage},
    sources::builtin,
    weight::Relevance,
};

/// How items of other systems are estimated beside those of the index.
pub(super) enum Estimation {
    /// The search is in time order, or has one source.
    Unneeded,
    /// The index has not told its statistics, and has not failed.
    Waiting,
    By(Box<ScoreEstimator>),
}

impl SearchRounds {
    /// At the end of the index, its statistics are asked for alone.
    pub(super) async fn prepare_estimation(&mut self) {
        let goes_on = |(place, _): &(usize, _)| self.merge.next_position(*place).is_some();
        if matches!(self.estimation, Estimation::Unneeded) || self.together.iter().any(goes_on) {
            return;
        }
        let sources: Vec<_> = self.together.iter().map(|(_, source)| &**source).collect();
        let asking = builtin::statistics(&self.request, &sources, self.ranked_by.as_ref());
        let statistics = timeout_at(self.request.search.deadline, asking).await.ok().flatten();
        self.estimate_by(statistics.as_deref());
    }

    /// Estimates later items, and those that are pending.
    ///
    /// None was released: a source of the index without an answer holds all others up.
    pub(super) fn estimate_by(&mut self, statistics: Option<&QueryStatistics>) {
        let estimator = ScoreEstimator::new(&self.request.search.query, statistics);
        self.merge.estimate(|item| score(&estimator, self.request.recency, item));
        self.estimation = Estimation::By(Box::new(estimator));
    }

    pub(super) fn estimate(&self, place: usize, page: &mut SourcePage) {
        if let Estimation::By(estimator) = &self.estimation
            && !self.is_ranked(place)
        {
            for PositionedItem { item, relevance, .. } in &mut page.items {
                let estimate = score(estimator, self.request.recency, item);
                *relevance = Relevance::Estimated(estimate);
                item.score = Some(MatchScore::from_words(estimate));
            }
        }
    }
}

fn score(estimator: &ScoreEstimator, recency: Recency, item: &ResultItem) -> f32 {
    estimator.score(&item.json) * recency.factor(this_hour(), item.display_time)
}
