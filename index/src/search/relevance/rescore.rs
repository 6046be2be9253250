//! Rescores by missing, adjacent and common words.

use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED};
use trawl_engine::relevance::parameters::MAX_POSITIONS;
use trawl_engine::relevance::{PairCount, Saturation, WeightedWords};

use super::RankedSearch;
use super::scored::{Scored, SegmentGroup, group_by_segment};
use crate::Error;
use crate::search::viewer_scope::ViewerScope;
use crate::view::IndexView;

pub(super) struct Rescorer<'a> {
    scopes: &'a [ViewerScope<'a>],
    view: &'a IndexView,
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
    pub(super) fn new(search: &'a RankedSearch<'a>) -> Self {
        let RankedSearch { view, scopes, ranking, .. } = *search;
        Self { scopes, view, words: &ranking.words, saturation: ranking.saturation() }
    }

    pub(super) fn score(&self, scored: &mut [Scored]) -> Result<(), Error> {
        for group in group_by_segment(scored) {
            let occurrences = self.read(&group)?;
            let segment = &self.view.segments[group.segment];
            let lengths = segment.reader.get_fieldnorms_reader(group.texts.body)?;
            for (row, &(document, place)) in group.documents.iter().enumerate() {
                let of_document = |word: usize| &occurrences[word][row];
                let length = lengths.fieldnorm(document);
                self.words.rescore(
                    &mut scored[place].score,
                    |count| self.saturation.of(count, length),
                    |word| of_document(word).count,
                    |pair| {
                        let (first, second) = (of_document(pair.first), of_document(pair.second));
                        PairCount::of(&first.positions, &second.positions, pair.distance)
                    },
                );
            }
        }
        Ok(())
    }

    /// Reads occurrences by word and document.
    fn read(&self, group: &SegmentGroup) -> Result<Vec<Vec<WordOccurrences>>, Error> {
        let index = self.view.segments[group.segment].inverted_index(group.texts.body, self.view.fields)?;
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
            let term = self.scopes[group.scope].term(group.texts.body, &word.term);
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
}
