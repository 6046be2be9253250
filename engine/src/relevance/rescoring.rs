//! Second step of relevance: missing, adjacent and common words.

use super::parameters::{BM25_B, BM25_K1, COMPLETENESS, EXACT_PAIR_WEIGHT, NEAR_PAIR_WEIGHT, NEAR_POSITIONS};
use super::score::MatchScore;
use super::words::{WeightedWords, WordPair};

/// BM25 of occurrences: 1 for one in a text of mean length.
pub struct Saturation {
    /// Mean length of texts, in words.
    pub mean_length: f32,
}

impl Saturation {
    /// Saturates occurrences in a text of this length.
    #[expect(clippy::cast_precision_loss, reason = "lengths and counts of one document")]
    pub fn of(&self, occurrences: u32, length: u32) -> f32 {
        let occurrences = occurrences as f32;
        let norm = BM25_K1 * (1.0 - BM25_B + BM25_B * length as f32 / self.mean_length);
        occurrences * (BM25_K1 + 1.0) / (occurrences + norm)
    }

    /// Occurrences that [`Self::of`] turned into this, at least one.
    ///
    /// Exact up to about a thousand; there, single precision ends.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "lengths and counts of one document"
    )]
    pub fn occurrences(&self, saturated: f32, length: u32) -> u32 {
        let norm = BM25_K1 * (1.0 - BM25_B + BM25_B * length as f32 / self.mean_length);
        let left = (BM25_K1 + 1.0 - saturated).max(f32::EPSILON);
        (saturated * norm / left).round().max(1.0) as u32
    }
}

/// Occurrences of a pair in a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PairCount {
    /// At the typed distance.
    pub exact: u32,
    /// Pairs in either order, a few positions apart.
    pub near: u32,
}

impl PairCount {
    /// Counts by the words' ascending positions.
    pub fn of(first: &[u32], second: &[u32], distance: u32) -> Self {
        let mut pairs = Self::default();
        for &place in first {
            pairs.exact += u32::from(second.binary_search(&place.saturating_add(distance)).is_ok());
            let from = second.partition_point(|&other| other < place.saturating_sub(NEAR_POSITIONS));
            let is_near = |&other: &u32| other <= place.saturating_add(NEAR_POSITIONS);
            pairs.near += u32::from(second.get(from).is_some_and(is_near));
        }
        pairs
    }
}

impl WeightedWords {
    /// Scores common, adjacent and missing words of a match.
    ///
    /// `count` takes the place of a word in [`WeightedWords::indexed`].
    pub fn rescore(
        &self,
        score: &mut MatchScore,
        saturated: impl Fn(u32) -> f32,
        count: impl Fn(usize) -> u32,
        pair_count: impl Fn(&WordPair) -> PairCount,
    ) {
        for (number, word) in self.indexed.iter().enumerate().filter(|(_, word)| !word.selects) {
            score.nearness += word.weight * word.idf * saturated(count(number));
        }
        for pair in &self.pairs {
            let PairCount { exact, near } = pair_count(pair);
            let idf = |number: usize| self.indexed.get(number).map_or(0.0, |word| word.idf);
            let both = f32::midpoint(idf(pair.first), idf(pair.second));
            score.nearness +=
                both * (EXACT_PAIR_WEIGHT * saturated(exact) + NEAR_PAIR_WEIGHT * saturated(near));
        }
        let (present, total) = self.present_worth(|number| count(number) > 0);
        let missing = if total > 0.0 { 1.0 - present / total } else { 0.0 };
        score.completeness = 1.0 - COMPLETENESS * missing;
    }

    /// Worth of a match's words, by the best alternative, and of all.
    pub(super) fn present_worth(&self, is_present: impl Fn(usize) -> bool) -> (f32, f32) {
        let worth = |number: &usize| self.indexed.get(*number).map_or(0.0, |word| word.weight * word.idf);
        let (mut present, mut total) = (0.0, 0.0);
        let is_alternative =
            |number: &usize| self.alternatives.iter().flatten().any(|words| words.contains(number));
        for number in (0..self.indexed.len()).filter(|number| !is_alternative(number)) {
            total += worth(&number);
            present += if is_present(number) { worth(&number) } else { 0.0 };
        }
        for alternatives in &self.alternatives {
            let of = |words: &Vec<usize>| words.iter().map(worth).sum::<f32>();
            let share = |words: &Vec<usize>| {
                words.iter().filter(|number| is_present(**number)).map(worth).sum::<f32>() / of(words)
            };
            let best = alternatives.iter().map(of).fold(0.0, f32::max);
            total += best;
            present += best * alternatives.iter().map(share).fold(0.0, f32::max);
        }
        (present, total)
    }
}

#[cfg(test)]
mod tests {
    use super::{PairCount, Saturation};

    #[test]
    fn occurrences_are_read_back_from_their_saturation() {
        for mean_length in [3.0, 40.0, 900.0] {
            let saturation = Saturation { mean_length };
            for occurrences in (1..60).chain([100, 300]) {
                for length in [occurrences, 2 * occurrences, 600 + occurrences] {
                    let saturated = saturation.of(occurrences, length);
                    assert_eq!(
                        saturation.occurrences(saturated, length),
                        occurrences,
                        "{length} {mean_length}"
                    );
                }
            }
        }
    }

    #[test]
    fn exact_and_near_pairs_are_counted() {
        let count = |first: &[u32], second: &[u32]| {
            let PairCount { exact, near } = PairCount::of(first, second, 1);
            (exact, near)
        };
        assert_eq!(count(&[1, 50], &[2, 40]), (1, 1));
        assert_eq!(count(&[10], &[9]), (0, 1));
        assert_eq!(count(&[10], &[2, 18]), (0, 1));
        assert_eq!(count(&[10], &[1, 19]), (0, 0));
    }
}
