use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::parameters::{RECENCY_HALF_LIFE_DAYS, RECENCY_PERCENT};

const DAY_MS: f32 = 86_400_000.0;

/// How much new documents gain, as an operator sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recency {
    /// Gain of a document of this moment, as a share of its score.
    pub percent: u8,
    /// Age that halves the gain; not 0.
    pub half_life_days: u16,
}

impl Recency {
    /// Recency of modules without a setting.
    pub const DEFAULT: Self = Self { percent: RECENCY_PERCENT, half_life_days: RECENCY_HALF_LIFE_DAYS };

    /// 0 turns it off.
    pub const PERCENT: RangeInclusive<i64> = 0..=100;

    /// Ten years at most.
    pub const HALF_LIFE_DAYS: RangeInclusive<i64> = 1..=3_650;

    /// Clamps to the ranges.
    pub fn new(percent: i64, half_life_days: i64) -> Self {
        let within = |number: i64, bounds: RangeInclusive<i64>| number.clamp(*bounds.start(), *bounds.end());
        let percent = u8::try_from(within(percent, Self::PERCENT));
        let half_life_days = u16::try_from(within(half_life_days, Self::HALF_LIFE_DAYS));
        Self {
            percent: percent.unwrap_or(RECENCY_PERCENT),
            half_life_days: half_life_days.unwrap_or(RECENCY_HALF_LIFE_DAYS),
        }
    }

    /// Factor of a score; larger for newer documents. Times are epoch milliseconds.
    #[expect(clippy::cast_precision_loss, reason = "an age")]
    pub fn factor(self, now: i64, display_time: i64) -> f32 {
        let age = now.saturating_sub(display_time).max(0) as f32;
        let gain = f32::from(self.percent) / 100.0;
        1.0 + gain / (1.0 + age / (f32::from(self.half_life_days) * DAY_MS))
    }
}

impl Default for Recency {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::Recency;

    const NOW: i64 = 20_000 * DAY;
    const DAY: i64 = 86_400_000;

    #[track_caller]
    fn assert_factors(recency: Recency, expected: [(i64, f32); 4]) {
        for (days, expected) in expected {
            let factor = recency.factor(NOW, NOW - days * DAY);
            assert!((factor - expected).abs() < 1e-6, "{recency:?}, {days} days: {factor}");
        }
    }

    #[test]
    fn gain_is_halved_by_the_half_life_and_falls_slower_then() {
        assert_factors(Recency::DEFAULT, [(-1, 1.15), (0, 1.15), (90, 1.075), (270, 1.0375)]);
        assert_factors(Recency::new(100, 1), [(-9, 2.0), (0, 2.0), (1, 1.5), (9, 1.1)]);
        assert_factors(Recency::new(0, 1), [(-9, 1.0), (0, 1.0), (1, 1.0), (9, 1.0)]);
        assert!(Recency::new(100, 1).factor(i64::MAX, i64::MIN) >= 1.0);
    }

    #[test]
    fn setting_out_of_range_is_clamped() {
        assert_eq!(Recency::new(-1, 0), Recency { percent: 0, half_life_days: 1 });
        assert_eq!(Recency::new(i64::MAX, i64::MAX), Recency { percent: 100, half_life_days: 3_650 });
        assert_eq!(Recency::new(15, 90), Recency::default());
    }
}
