//! Clauses of a scored query, and what a hit's scores say of them.
//!
//! OpenSearch tells the score of each named clause. As its weight is known, so is the number of occurrences.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::statistics::Statistics;
use crate::layout::{HalfFields, OPEN, RESTRICTED};

/// A part of the score of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ScorePart {
    Body(usize),
    Title(usize),
    Heading(usize),
    /// A word that begins with the last word.
    Prefix(usize),
    /// A whole title or name.
    Whole(usize),
    /// Two words at their distance in the query.
    Pair(usize, usize),
    /// The first word where the second is not near.
    Alone(usize, usize),
    /// A word of the best matches.
    Feedback(usize),
}

/// How often each part occurs in a match.
pub(super) type Counts = HashMap<ScorePart, u32>;

/// Names clauses of one query by their numbers.
pub(super) struct NamedClauses<'a> {
    statistics: &'a Statistics,
    clauses: Vec<NamedClause>,
}

struct NamedClause {
    part: ScorePart,
    field: &'static str,
    /// Score of one occurrence in a text of mean length.
    worth: f32,
}

/// Lengths of a match's texts, as stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths {
    pub(super) body: u32,
    pub(super) title: u32,
}

impl<'a> NamedClauses<'a> {
    pub(super) fn new(statistics: &'a Statistics) -> Self {
        Self { statistics, clauses: Vec::new() }
    }

    /// A term, whose boost turns the field's own inverse document frequency into `worth`.
    ///
    /// `None` for a term that occurs nowhere.
    pub(super) fn term(
        &mut self,
        part: ScorePart,
        field: &'static str,
        term: &str,
        worth: f32,
    ) -> Option<Value> {
        let boost = worth / self.statistics.idf(field, term)?;
        let name = self.name(part, field, worth);
        Some(json!({"term": {field: {"value": term, "boost": boost, "_name": name}}}))
    }

    /// A term with the weight that OpenSearch gives it.
    pub(super) fn plain_term(&mut self, part: ScorePart, field: &'static str, term: &str) -> Option<Value> {
        let worth = self.statistics.idf(field, term)?;
        self.term(part, field, term, worth)
    }

    /// Two words as a phrase.
    pub(super) fn phrase(
        &mut self,
        part: ScorePart,
        field: &'static str,
        words: [&str; 2],
        phrase: &str,
    ) -> Option<Value> {
        let [first, second] = words.map(|word| self.statistics.idf(field, word));
        let name = self.name(part, field, first? + second?);
        Some(json!({"match_phrase": {field: {"query": phrase, "_name": name}}}))
    }

    /// The first word where the second is more than this many positions away.
    pub(super) fn alone(
        &mut self,
        part: ScorePart,
        field: &'static str,
        [first, second]: [&str; 2],
        positions: u32,
    ) -> Option<Value> {
        let worth = self.statistics.idf(field, first)?;
        let name = self.name(part, field, worth);
        let [include, exclude] = [first, second].map(|word| json!({"span_term": {field: word}}));
        Some(json!({"span_not": {"include": include, "exclude": exclude, "dist": positions, "_name": name}}))
    }

    fn name(&mut self, part: ScorePart, field: &'static str, worth: f32) -> String {
        self.clauses.push(NamedClause { part, field, worth });
        (self.clauses.len() - 1).to_string()
    }

    /// Counts of a hit, by the scores of its clauses.
    pub(super) fn counts(&self, hit: &Value, lengths: Lengths) -> Counts {
        let scores = hit["matched_queries"].as_object().into_iter().flatten();
        let count = |(name, score): (&String, &Value)| {
            let NamedClause { part, field, worth } = self.clauses.get(name.parse::<usize>().ok()?)?;
            #[expect(clippy::cast_possible_truncation, reason = "it was one")]
            let saturated = score.as_f64()? as f32 / worth;
            let length = if is_title(field) { lengths.title } else { lengths.body };
            Some((*part, self.statistics.saturation(field).occurrences(saturated, length)))
        };
        scores.filter_map(count).collect()
    }
}

fn is_title(field: &str) -> bool {
    [OPEN, RESTRICTED].iter().any(|HalfFields { title, .. }| *title == field)
}

/// Names queries that neither match nor score.
///
/// They are counted in the best matches only, which costs the search itself nothing.
pub(super) fn only_counted(queries: &[Value]) -> Value {
    // No term is that short.
    json!({"bool": {"filter": {"term": {OPEN.body: "-"}}, "should": queries}})
}
