//! Scores of items, compared between sources.
//!
//! A score of the index counts as it is. An estimated one also falls with the item's rank in its source, as in reciprocal rank
//! fusion: by 61 / (60 + rank).

use std::{
    cmp::{Ordering, Reverse},
    ops::RangeInclusive,
};

/// Cormack, Clarke and Büttcher, 2009.
const DAMPING: f64 = 60.0;

/// Relevance of an item, before its source is weighed. Time order has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Relevance {
    /// Score of the index.
    ///
    /// `rank` counts from 0 over all sources that are ranked together.
    Scored { score: f32, rank: usize },
    /// Estimated for an item in its source's own order.
    Estimated(f32),
}

impl Default for Relevance {
    fn default() -> Self {
        Self::Estimated(1.0)
    }
}

/// A source's weight in relevance order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight(u32);

impl Weight {
    /// Default.
    pub const ONE: Self = Self(1_000);

    /// 0.01 to 100.
    const THOUSANDTHS: RangeInclusive<u32> = 10..=100_000;

    /// Clamps to the range.
    pub fn from_thousandths(thousandths: i64) -> Self {
        let (least, most) = (*Self::THOUSANDTHS.start(), *Self::THOUSANDTHS.end());
        let within = thousandths.clamp(i64::from(least), i64::from(most));
        Self(u32::try_from(within).unwrap_or(most))
    }

    /// 0.01 to 100 with at most three decimals.
    pub fn of(value: f64) -> Option<Self> {
        let thousandths = value * 1_000.0;
        let whole = thousandths.round();
        let is_whole = (thousandths - whole).abs() < 1e-6;
        let bounds = f64::from(*Self::THOUSANDTHS.start())..=f64::from(*Self::THOUSANDTHS.end());
        #[expect(clippy::cast_possible_truncation, reason = "it is within the bounds")]
        (is_whole && bounds.contains(&whole)).then(|| Self::from_thousandths(whole as i64))
    }

    /// Thousandths.
    pub fn thousandths(self) -> i64 {
        i64::from(self.0)
    }

    /// Number.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1_000.0
    }

    /// Score of an item with this rank in its source, from 1.
    #[expect(clippy::cast_precision_loss, reason = "a rank")]
    pub(crate) fn score(self, relevance: Relevance, rank_in_source: usize) -> Score {
        let weight = f64::from(self.0);
        match relevance {
            Relevance::Scored { score, rank } => Score { value: weight * f64::from(score), rank },
            // Only the division rounds, so equal fractions stay equal.
            Relevance::Estimated(score) => Score {
                value: weight * f64::from(score) * (DAMPING + 1.0) / (DAMPING + rank_in_source as f64),
                rank: 0,
            },
        }
    }
}

/// The greater score is more relevant; of equal ones, the lesser rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Score {
    value: f64,
    rank: usize,
}

impl Score {
    /// Score of a source that was not asked yet.
    pub(crate) const UNKNOWN: Self = Self { value: f64::INFINITY, rank: 0 };
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_value = self.value.total_cmp(&other.value);
        by_value.then_with(|| Reverse(self.rank).cmp(&Reverse(other.rank)))
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Score {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn weights_have_at_most_three_decimals() {
        for (value, thousandths) in [(1.0, 1_000), (0.01, 10), (100.0, 100_000), (2.345, 2_345), (0.3, 300)] {
            assert_eq!(Weight::of(value).map(Weight::thousandths), Some(thousandths), "{value}");
        }
        for value in [0.0, -1.0, 0.009, 0.0099, 100.001, 1e300, 1.000_5, f64::NAN, f64::INFINITY] {
            assert_eq!(Weight::of(value), None, "{value}");
        }
        assert_eq!(Weight::from_thousandths(0), Weight(10));
        assert_eq!(Weight::from_thousandths(i64::MAX), Weight(100_000));
    }

    fn score_at(weight: Weight, rank: usize) -> Score {
        weight.score(Relevance::default(), rank)
    }

    #[test]
    fn equal_fractions_are_equal_scores() {
        // 2 / (60 + 62) = 1 / (60 + 1)
        assert_eq!(score_at(Weight(2_000), 62), score_at(Weight::ONE, 1));
        assert!(score_at(Weight(2_000), 61) > score_at(Weight::ONE, 1));
        assert!(score_at(Weight(2_000), 63) < score_at(Weight::ONE, 1));
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn every_weight_survives_a_round_trip(thousandths in 10u32..=100_000) {
            let weight = Weight(thousandths);
            prop_assert_eq!(Weight::of(weight.value()), Some(weight));
            prop_assert_eq!(Weight::from_thousandths(weight.thousandths()), weight);
            let text = serde_json::to_string(&weight.value()).unwrap();
            prop_assert_eq!(Weight::of(serde_json::from_str(&text).unwrap()), Some(weight));
        }

        #[test]
        fn better_rank_or_greater_weight_scores_higher(
            left in (10u32..=100_000, 1usize..100_000), right in (10u32..=100_000, 1usize..100_000),
        ) {
            let score = |(weight, rank): (u32, usize)| score_at(Weight(weight), rank);
            let as_fraction = |(weight, rank): (u32, usize)| f64::from(weight) / (60.0 + f64::from(u32::try_from(rank).unwrap()));
            let (left_fraction, right_fraction) = (as_fraction(left), as_fraction(right));
            if (left_fraction - right_fraction).abs() > 1e-9 {
                prop_assert_eq!(score(left) > score(right), left_fraction > right_fraction);
            }
            prop_assert!(score((left.0, left.1)) > score((left.0, left.1 + 1)));
        }
    }
}
