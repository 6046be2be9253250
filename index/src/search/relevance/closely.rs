//! A close look at the best matches: which words they lack, which stand together, and what common words add.

use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED};

use super::best::Scored;
use super::{Group, Ranking, Saturation, groups};
use crate::Error;
use crate::search::parameters::{COMPLETENESS, EXACT_PAIR_WEIGHT, MAX_PLACES, NEAR, NEAR_PAIR_WEIGHT};
use crate::search::plan::Sight;
use crate::search::words::{Pair, Word, Words};

/// Looks at documents closely.
pub(super) struct Closely<'a> {
    sight: &'a Sight<'a>,
    words: &'a Words,
    saturation: Saturation,
}

/// One word in one document.
#[derive(Default)]
struct Occurrence {
    times: u32,
    /// Its positions, ascending, where they are of use and not too many.
    places: Vec<u32>,
}

impl<'a> Closely<'a> {
    pub(super) fn new(sight: &'a Sight<'a>, ranking: &'a Ranking<'a>) -> Self {
        let saturation = Saturation { mean_length: ranking.statistics.mean_lengths().0 };
        Self { sight, words: &ranking.words, saturation }
    }

    /// Makes the scores, which are those of the words alone, those of a close look.
    pub(super) fn score(&self, scored: &mut [Scored]) -> Result<(), Error> {
        let words = &self.words.known;
        let whole: f32 = words.iter().map(|word| word.weight * word.rarity).sum();
        for group in groups(scored) {
            let occurrences = self.read(&group)?;
            let segment = &self.sight.view.segments[group.segment];
            let lengths = segment.reader.get_fieldnorms_reader(group.texts.body)?;
            for (row, &(document, place)) in group.documents.iter().enumerate() {
                let of_document = |word: usize| &occurrences[word][row];
                let length = lengths.fieldnorm(document);
                let score = &mut scored[place].score;
                let mut there = 0.0;
                for (number, word) in words.iter().enumerate() {
                    let times = of_document(number).times;
                    if times > 0 {
                        there += word.weight * word.rarity;
                        if !word.finds {
                            *score += word.weight * word.rarity * self.saturation.of(times, length);
                        }
                    }
                }
                for pair in &self.words.pairs {
                    let (first, second) = (of_document(pair.first), of_document(pair.second));
                    *score += self.closeness(pair, &first.places, &second.places, length);
                }
                if whole > 0.0 {
                    *score *= 1.0 - COMPLETENESS * (1.0 - there / whole);
                }
            }
        }
        Ok(())
    }

    /// Each word in each document of the group.
    fn read(&self, group: &Group) -> Result<Vec<Vec<Occurrence>>, Error> {
        let index = self.sight.view.segments[group.segment]
            .inverted_index(group.texts.body, self.sight.view.fields)?;
        let is_paired =
            |number| self.words.pairs.iter().any(|pair| pair.first == number || pair.second == number);
        let mut occurrences = Vec::with_capacity(self.words.known.len());
        for (number, word) in self.words.known.iter().enumerate() {
            let mut of_word: Vec<Occurrence> = Vec::new();
            of_word.resize_with(group.documents.len(), Occurrence::default);
            let is_paired = is_paired(number);
            let record = if is_paired {
                IndexRecordOption::WithFreqsAndPositions
            } else {
                IndexRecordOption::WithFreqs
            };
            let term = self.sight.term(group.texts.body, &word.term);
            if let Some(mut postings) = index.read_postings(&term, record)? {
                for (&(document, _), occurrence) in group.documents.iter().zip(&mut of_word) {
                    if postings.doc() < document {
                        postings.seek(document);
                    }
                    if postings.doc() == TERMINATED {
                        break;
                    }
                    if postings.doc() == document {
                        occurrence.times = postings.term_freq();
                        if is_paired && occurrence.times <= MAX_PLACES {
                            postings.positions(&mut occurrence.places);
                        }
                    }
                }
            }
            occurrences.push(of_word);
        }
        Ok(occurrences)
    }

    /// What it is worth that two neighbours of the question stand near each other.
    fn closeness(&self, pair: &Pair, first: &[u32], second: &[u32], length: u32) -> f32 {
        if first.is_empty() || second.is_empty() {
            return 0.0;
        }
        let rarity = |number: usize| self.words.known.get(number).map_or(0.0, |word: &Word| word.rarity);
        let both = f32::midpoint(rarity(pair.first), rarity(pair.second));
        let (exact, near) = together(first, second, pair.distance);
        both * (EXACT_PAIR_WEIGHT * self.saturation.of(exact, length)
            + NEAR_PAIR_WEIGHT * self.saturation.of(near, length))
    }
}

/// How many of the first places have one of the second exactly so far behind, and how many have one near, on either side.
fn together(first: &[u32], second: &[u32], distance: u32) -> (u32, u32) {
    let (mut exact, mut near) = (0, 0);
    for &place in first {
        exact += u32::from(second.binary_search(&place.saturating_add(distance)).is_ok());
        let from = second.partition_point(|&other| other < place.saturating_sub(NEAR));
        near += u32::from(second.get(from).is_some_and(|&other| other <= place.saturating_add(NEAR)));
    }
    (exact, near)
}

#[cfg(test)]
mod tests {
    use super::together;

    #[test]
    fn places_are_compared_exactly_and_nearly() {
        assert_eq!(together(&[1, 50], &[2, 40], 1), (1, 1));
        assert_eq!(together(&[10], &[9], 1), (0, 1));
        assert_eq!(together(&[10], &[2, 18], 1), (0, 1));
        assert_eq!(together(&[10], &[1, 19], 1), (0, 0));
    }
}
