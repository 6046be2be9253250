//! Scores items of systems outside the index, to stand beside matches of the index.
//!
//! An item is scored as a document of its title, subtitle and brief. Words weigh by the statistics of the query.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::frequencies::{Frequencies, inverse_document_frequency};
use super::parameters::{ESTIMATED_CHARS, MAX_POSITIONS, TITLE_WEIGHT, UNSEEN_SHARE};
use super::rescoring::{PairCount, Saturation};
use super::score::MatchScore;
use super::titles::whole_title;
use super::words::{TypedWords, WeightedWord, WeightedWords};
use crate::item::{Text, Texts};
use crate::query::Query;
use crate::text::{EncodedWord, EncodedWords, encoded_words};

/// Statistics of the scopes that a query was ranked over.
#[derive(Debug, Clone)]
pub struct QueryStatistics {
    /// The query, with parts of what nothing holds.
    pub query: Arc<Query>,
    /// Document frequencies of the query's words.
    pub frequencies: Frequencies,
    /// Mean length of whole texts, in words.
    pub mean_length: f32,
    /// Mean length of titles, in words.
    pub mean_title_length: f32,
}

/// Estimates the scores of items for one query.
pub struct ScoreEstimator {
    words: WeightedWords,
    /// The unfinished last word: its place among the words, and its beginning.
    prefix: Option<(usize, String)>,
    body: Saturation,
    title: Saturation,
    highest_idf: f32,
}

/// Positions of each word of the query, in one text.
struct Occurrences {
    positions: Vec<Vec<u32>>,
    length: u32,
}

impl ScoreEstimator {
    /// Makes an estimator; all words weigh alike without statistics.
    pub fn new(query: &Query, statistics: Option<&QueryStatistics>) -> Self {
        let typed = TypedWords::of(statistics.map_or(query, |known| &known.query));
        let prefix = typed.prefix().map(|prefix| (prefix.stem.to_owned(), prefix.start.to_owned()));
        // A word that the index lacks is as rare as can be.
        let documents = |term: &str| statistics.map_or(1, |known| known.frequencies.of(term).max(1));
        let terms = typed.terms().chain(typed.whole_texts());
        let by_term = terms.map(|term| (term.to_owned(), documents(term))).collect();
        let total = statistics.map_or(1, |known| known.frequencies.documents.max(1));
        let words = typed.weigh(&Frequencies { documents: total, by_term }, BTreeMap::new());
        let place = |(stem, start)| Some((words.indexed.iter().position(|word| word.term == stem)?, start));
        let prefix = prefix.and_then(place);
        let mean = |length: Option<f32>| Saturation { mean_length: length.unwrap_or(1.0).max(1.0) };
        Self {
            prefix,
            body: mean(statistics.map(|known| known.mean_length)),
            title: mean(statistics.map(|known| known.mean_title_length)),
            highest_idf: inverse_document_frequency(1, total),
            words,
        }
    }

    /// Score of an item in JSON, without its recency.
    ///
    /// Missing words may stand in a text that was not sent, so no score is 0.
    pub fn score(&self, item: &str) -> f32 {
        let texts = Texts::read(item);
        let has_title = usize::from(texts.title.is_some());
        let title = self.occurrences(texts.beginning(ESTIMATED_CHARS).take(has_title));
        let body = self.occurrences(texts.beginning(ESTIMATED_CHARS));
        // The rest of the text counts as usual: a short brief is no short text.
        let length = body.length.max(mean_length(&self.body));
        let count = |occurrences: &Occurrences, word: usize| {
            occurrences
                .positions
                .get(word)
                .map_or(0, |positions| u32::try_from(positions.len()).unwrap_or(u32::MAX))
        };
        let worth = |word: &WeightedWord| word.weight * word.idf;
        let mut score = 0.0;
        for (number, word) in self.words.indexed.iter().enumerate().filter(|(_, word)| word.selects) {
            let in_title = TITLE_WEIGHT * self.title.of(count(&title, number), title.length);
            score += worth(word) * (self.body.of(count(&body, number), length) + in_title);
        }
        let mut score = MatchScore::from_words(score);
        self.words.rescore(
            &mut score,
            |count| self.body.of(count, length),
            |number| count(&body, number),
            |pair| {
                let of = |word: usize| body.positions.get(word).map_or(&[][..], Vec::as_slice);
                PairCount::of(of(pair.first), of(pair.second), pair.distance)
            },
        );
        score.nearness += self.words.typed_spelling_score(&texts);
        score.words += self.whole_title_worth(&texts) * self.body.of(1, length);
        let (present, all) = self.words.present_worth(|number| count(&body, number) > 0);
        let unseen = UNSEEN_SHARE * (all - present);
        (score.total() + unseen).max(f32::MIN_POSITIVE)
    }

    fn whole_title_worth(&self, texts: &Texts<'_>) -> f32 {
        let title = texts.title.as_ref().and_then(|Text(title)| whole_title(title));
        let of_title = self.words.whole_texts.iter().find(|whole| Some(&whole.term) == title.as_ref());
        of_title.map_or(0.0, |whole| whole.weight * self.highest_idf)
    }

    fn occurrences<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Occurrences {
        let mut written = EncodedWords::new("");
        for text in texts {
            written.add_text(text);
        }
        let mut found = Occurrences { positions: vec![Vec::new(); self.words.indexed.len()], length: 0 };
        let mut position = 0;
        let encoded = written.finish().unwrap_or_default();
        for EncodedWord { distance, word } in encoded_words(&encoded).1 {
            position += u32::try_from(distance).unwrap_or(u32::MAX);
            found.length += 1;
            let begun = self.prefix.as_ref().filter(|(_, start)| word.starts_with(start.as_str()));
            let typed = self.words.indexed.iter().position(|typed| typed.term == word);
            if let Some(place) = typed.or(begun.map(|(place, _)| *place))
                && let Some(positions) = found.positions.get_mut(place)
                && positions.last() != Some(&position)
                && positions.len() < MAX_POSITIONS as usize
            {
                positions.push(position);
            }
        }
        found
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a length in words")]
fn mean_length(saturation: &Saturation) -> u32 {
    saturation.mean_length as u32
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;

    use super::{Frequencies, QueryStatistics, ScoreEstimator};
    use crate::query::{Query, Synonyms};

    fn statistics(query: &Query, frequencies: Frequencies) -> QueryStatistics {
        QueryStatistics {
            query: query.clone().into(),
            frequencies,
            mean_length: 60.0,
            mean_title_length: 6.0,
        }
    }

    fn score(keyword: &str, title: &str, brief: &str) -> f32 {
        let by_term = [("leav", 40), ("parent", 3), ("polici", 90)];
        let by_term: HashMap<String, u64> =
            by_term.iter().map(|(term, documents)| ((*term).to_owned(), *documents)).collect();
        let frequencies = Frequencies { documents: 1_000, by_term };
        let query = Query::parse(keyword);
        let statistics = statistics(&query, frequencies);
        let estimator = ScoreEstimator::new(&query, Some(&statistics));
        estimator.score(&json!({"title": title, "brief": brief}).to_string())
    }

    #[test]
    fn more_of_the_question_scores_higher() {
        let of = |title, brief| score("parental leave policy ", title, brief);
        let ascending = [
            of("Storm tomorrow", "Stay at home."),
            of("Holidays", "The policy of the company."),
            of("Parental guidance", "Films."),
            of("Leave", "How parents take leave."),
            of("Parental leave", "Who may take it."),
            of("Parental leave policy", "Who may take it."),
        ];
        assert!(ascending.is_sorted_by(|left, right| left < right), "{ascending:?}");
    }

    #[test]
    fn beginning_of_the_last_word_counts_until_it_is_finished() {
        assert!(score("paren", "Parental leave", "") > score("paren", "Storm", ""));
        let finished = score("paren ", "Parental leave", "") - score("paren ", "Storm", "");
        assert!(finished.abs() < f32::EPSILON);
    }

    #[test]
    fn synonyms_that_nothing_holds_lift_no_item() {
        let by_term = HashMap::from([("leav".to_owned(), 40)]);
        let frequencies = Frequencies { documents: 1_000, by_term };
        let group: Vec<String> = ["leave", "furlough", "sabbatical", "holiday"].map(str::to_owned).into();
        let score = |synonyms: &Synonyms| {
            let query = Query::parse("leave ").with_synonyms(synonyms);
            let statistics = statistics(&query, frequencies.clone());
            ScoreEstimator::new(&query, Some(&statistics)).score(r#"{"title": "Storm"}"#)
        };
        let (with, without) = (score(&Synonyms::new(&[group], &[])), score(&Synonyms::default()));
        assert!((with - without).abs() < 1e-4, "{with} {without}");
    }

    #[test]
    fn item_without_a_typed_word_scores_the_same_everywhere() {
        let of = |keyword: &str, item: &str| ScoreEstimator::new(&Query::parse(keyword), None).score(item);
        assert!((of("leave", r#"{"title": "Storm"}"#) - of("leave", "no item")).abs() < f32::EPSILON);
        assert!(of("author:ann", r#"{"title": "Storm"}"#) > 0.0);
        assert!(of("leave storm", r#"{"title": "Storm"}"#) > of("leave storm", r#"{"title": "Snow"}"#));
    }
}
