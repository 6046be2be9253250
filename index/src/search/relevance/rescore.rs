//! Rescores by missing, adjacent and common words.

use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED};

use super::scored::{Scored, SegmentGroup, group_by_segment};
use crate::Error;
use crate::search::parameters::{
    COMPLETENESS, EXACT_PAIR_WEIGHT, MAX_POSITIONS, NEAR_PAIR_WEIGHT, NEAR_POSITIONS,
};
use crate::search::ranking::{Ranking, Saturation};
use crate::search::viewer_scope::ViewerScope;
use crate::search::weighted_words::{WeightedWord, WeightedWords, WordPair};

pub(super) struct Rescorer<'a> {
    scope: &'a ViewerScope<'a>,
    words: &'a WeightedWords,
    saturation: Saturation,
}

#[derive(Default)]
struct WordOccurrences {
    count: u32,
    /// Empty if not needed, or too many.
    positions: Vec<u32>,
}

impl<'a> Rescorer<'a> {
    pub(super) fn new(scope: &'a ViewerScope<'a>, ranking: &'a Ranking<'a>) -> Self {
        let saturation = Saturation { mean_length: ranking.statistics.mean_lengths().0 };
        Self { scope, words: &ranking.words, saturation }
    }

    pub(super) fn score(&self, scored: &mut [Scored]) -> Result<(), Error> {
        let words = &self.words.indexed;
        let total_weight: f32 = words.iter().map(|word| word.weight * word.idf).sum();
        for group in group_by_segment(scored) {
            let occurrences = self.read(&group)?;
            let segment = &self.scope.view.segments[group.segment];
            let lengths = segment.reader.get_fieldnorms_reader(group.texts.body)?;
            for (row, &(document, place)) in group.documents.iter().enumerate() {
                let of_document = |word: usize| &occurrences[word][row];
                let length = lengths.fieldnorm(document);
                let score = &mut scored[place].score;
                let mut present_weight = 0.0;
                for (number, word) in words.iter().enumerate() {
                    let count = of_document(number).count;
                    if count > 0 {
                        present_weight += word.weight * word.idf;
                        if !word.selects {
                            *score += word.weight * word.idf * self.saturation.of(count, length);
                        }
                    }
                }
                for pair in &self.words.pairs {
                    let (first, second) = (of_document(pair.first), of_document(pair.second));
                    *score += self.proximity(pair, &first.positions, &second.positions, length);
                }
                if total_weight > 0.0 {
                    *score *= 1.0 - COMPLETENESS * (1.0 - present_weight / total_weight);
                }
            }
        }
        Ok(())
    }

    /// Reads occurrences by word and document.
    fn read(&self, group: &SegmentGroup) -> Result<Vec<Vec<WordOccurrences>>, Error> {
        let index = self.scope.view.segments[group.segment]
            .inverted_index(group.texts.body, self.scope.view.fields)?;
        let is_paired =
            |number| self.words.pairs.iter().any(|pair| pair.first == number || pair.second == number);
        let mut occurrences = Vec::with_capacity(self.words.indexed.len());
        for (number, word) in self.words.indexed.iter().enumerate() {
            let mut of_word: Vec<WordOccurrences> = Vec::new();
            of_word.resize_with(group.documents.len(), WordOccurrences::default);
            let is_paired = is_paired(number);
            let record = if is_paired {
                IndexRecordOption::WithFreqsAndPositions
            } else {
                IndexRecordOption::WithFreqs
            };
            let term = self.scope.term(group.texts.body, &word.term);
            if let Some(mut postings) = index.read_postings(&term, record)? {
                for (&(document, _), occurrence) in group.documents.iter().zip(&mut of_word) {
                    if postings.doc() < document {
                        postings.seek(document);
                    }
                    if postings.doc() == TERMINATED {
                        break;
                    }
                    if postings.doc() == document {
                        occurrence.count = postings.term_freq();
                        if is_paired && occurrence.count <= MAX_POSITIONS {
                            postings.positions(&mut occurrence.positions);
                        }
                    }
                }
            }
            occurrences.push(of_word);
        }
        Ok(occurrences)
    }

    fn proximity(&self, pair: &WordPair, first: &[u32], second: &[u32], length: u32) -> f32 {
        if first.is_empty() || second.is_empty() {
            return 0.0;
        }
        let idf = |number: usize| self.words.indexed.get(number).map_or(0.0, |word: &WeightedWord| word.idf);
        let both = f32::midpoint(idf(pair.first), idf(pair.second));
        let (exact, near) = count_pairs(first, second, pair.distance);
        both * (EXACT_PAIR_WEIGHT * self.saturation.of(exact, length)
            + NEAR_PAIR_WEIGHT * self.saturation.of(near, length))
    }
}

/// Counts pairs at the exact distance, and near ones.
fn count_pairs(first: &[u32], second: &[u32], distance: u32) -> (u32, u32) {
    let (mut exact, mut near) = (0, 0);
    for &place in first {
        exact += u32::from(second.binary_search(&place.saturating_add(distance)).is_ok());
        let from = second.partition_point(|&other| other < place.saturating_sub(NEAR_POSITIONS));
        near +=
            u32::from(second.get(from).is_some_and(|&other| other <= place.saturating_add(NEAR_POSITIONS)));
    }
    (exact, near)
}

#[cfg(test)]
mod tests {
    use super::count_pairs;

    #[test]
    fn exact_and_near_pairs_are_counted() {
        assert_eq!(count_pairs(&[1, 50], &[2, 40], 1), (1, 1));
        assert_eq!(count_pairs(&[10], &[9], 1), (0, 1));
        assert_eq!(count_pairs(&[10], &[2, 18], 1), (0, 1));
        assert_eq!(count_pairs(&[10], &[1, 19], 1), (0, 0));
    }
}
