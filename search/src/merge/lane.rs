use std::collections::{HashSet, VecDeque};

use trawl_engine::relevance::MatchScore;

use crate::{
    duplicates::{ItemPrint, SeenItems},
    source::{Position, PositionedItem, ResultItem, SourceFingerprint, SourcePage, TimeBound},
    weight::{Relevance, Score, Weight},
};

#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(super) source: SourceFingerprint,
    weight: Weight,
    /// Ids of items that the page must not show.
    left_out: HashSet<String>,
    pub(super) position: Position,
    pub(super) consumed: usize,
    pub(super) pending: VecDeque<PendingItem>,
    pub(super) next: Option<Position>,
    pub(super) bound: TimeBound,
    /// Upper bound on later items' relevance; `None` before anything is known.
    least_relevance: Option<Relevance>,
    /// Least estimate among the consumed items.
    pub(super) least_estimate: Option<f32>,
    /// Items of the last time remain.
    pub(super) tie_goes_on: bool,
    pub(super) failed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct PendingItem {
    pub(super) item: PositionedItem,
    pub(super) print: Option<ItemPrint>,
    pub(super) is_left_out: bool,
}

impl Lane {
    pub(crate) fn at(
        position: Position,
        consumed: usize,
        least_estimate: Option<f32>,
        weight: Weight,
    ) -> Self {
        let next = (position != Position::End).then(|| position.clone());
        Self {
            source: SourceFingerprint::default(),
            weight,
            left_out: HashSet::new(),
            position,
            consumed,
            pending: VecDeque::new(),
            next,
            bound: TimeBound::AtMost(i64::MAX),
            least_relevance: least_estimate.map(Relevance::Estimated),
            least_estimate,
            tie_goes_on: false,
            failed: false,
        }
    }

    pub(crate) fn of(self, source: SourceFingerprint) -> Self {
        Self { source, ..self }
    }

    pub(crate) fn leaving_out(self, left_out: HashSet<String>) -> Self {
        Self { left_out, ..self }
    }

    pub(super) fn supply(&mut self, page: SourcePage, seen: &SeenItems) {
        for mut item in page.items {
            // A source's own order stands, however its pages are cut.
            if let (Relevance::Estimated(estimate), Some(Relevance::Estimated(least))) =
                (&mut item.relevance, self.least_relevance)
            {
                *estimate = estimate.min(least);
            }
            self.least_relevance = Some(item.relevance);
            let is_left_out = self.left_out.contains(&item.item.id);
            self.pending.push_back(PendingItem { print: seen.print_of(&item.item), is_left_out, item });
        }
        self.least_relevance = page.least_relevance.or(self.least_relevance);
        self.bound = match (self.bound, page.bound) {
            // An empty page has no bound.
            (TimeBound::AtMost(earlier), TimeBound::AtMost(now)) => TimeBound::AtMost(earlier.min(now)),
            (_, now) => now,
        };
        self.next = page.next;
        self.tie_goes_on = page.tie_cut;
        if self.pending.is_empty() {
            // No item of the page matches: the lane is past it.
            self.position = self.next.clone().unwrap_or(Position::End);
        }
    }

    pub(super) fn estimate(&mut self, score: impl Fn(&ResultItem) -> f32) {
        let mut least = self.least_estimate.unwrap_or(f32::MAX);
        for PendingItem { item: PositionedItem { item, relevance, .. }, .. } in &mut self.pending {
            if let Relevance::Estimated(estimate) = relevance {
                least = least.min(score(item));
                *estimate = least;
                item.score = Some(MatchScore::from_words(least));
                self.least_relevance = Some(*relevance);
            }
        }
    }

    pub(super) fn waits(&self) -> bool {
        self.pending.is_empty() && self.next.is_some() && !self.failed
    }

    /// A source without time order never keeps a page open.
    pub(super) fn may_still_send(&self, time: i64) -> bool {
        self.next.is_some() && matches!(self.bound, TimeBound::AtMost(bound) if bound >= time)
    }

    /// Score of the item behind `ahead` pending ones, or the most that it may have.
    pub(super) fn score(&self, ahead: usize) -> Score {
        let pending = self.pending.get(ahead).map(|pending| pending.item.relevance);
        let rank_in_source = self.consumed.saturating_add(ahead).saturating_add(1);
        let relevance = pending.or(self.least_relevance);
        relevance.map_or(Score::UNKNOWN, |relevance| self.weight.score(relevance, rank_in_source))
    }

    pub(super) fn take(&mut self) -> Option<(ResultItem, Option<ItemPrint>)> {
        let PendingItem { item: PositionedItem { item, after, relevance }, print, .. } =
            self.pending.pop_front()?;
        self.position = after;
        self.consumed = self.consumed.saturating_add(1);
        if let Relevance::Estimated(estimate) = relevance {
            self.least_estimate = Some(estimate);
        }
        Some((item, print))
    }
}
