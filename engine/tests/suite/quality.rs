//! Measures of a ranking by judged collections.

#![allow(clippy::cast_precision_loss, reason = "counts of documents, and ranks")]

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Ranks that the gain counts.
pub(crate) const GAIN_RANKS: usize = 10;

/// Grades of documents, by question.
pub(crate) type Judgements = HashMap<String, HashMap<String, u32>>;

pub(crate) fn read_judgements(file: &Path) -> Judgements {
    let mut judgements = Judgements::new();
    for line in fs::read_to_string(file).unwrap().lines() {
        let [question, document, grade]: [&str; 3] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let of_question = judgements.entry(question.to_owned()).or_default();
        of_question.insert(document.to_owned(), grade.parse().unwrap());
    }
    judgements
}

/// Mean of the precision at each relevant document's rank.
pub(crate) fn average_precision(ranked: &[String], judged: &HashMap<String, u32>) -> f64 {
    let relevant = judged.values().filter(|&&grade| grade > 0).count();
    let ranks = ranked.iter().enumerate().filter(|(_, id)| judged.get(*id).is_some_and(|&grade| grade > 0));
    let precisions = ranks.enumerate().map(|(before, (rank, _))| (before + 1) as f64 / (rank + 1) as f64);
    precisions.sum::<f64>() / relevant as f64
}

/// Discounted cumulative gain, divided by the ideal one (nDCG).
pub(crate) fn normalised_gain(ranked: &[String], judged: &HashMap<String, u32>) -> f64 {
    let discounted = |grades: &mut dyn Iterator<Item = u32>| -> f64 {
        let ranked = grades.take(GAIN_RANKS).enumerate();
        ranked.map(|(rank, grade)| f64::from(grade) / (rank as f64 + 2.0).log2()).sum()
    };
    let mut best: Vec<u32> = judged.values().copied().collect();
    best.sort_unstable_by(|left, right| right.cmp(left));
    let grade = |id: &String| judged.get(id).copied().unwrap_or_default();
    discounted(&mut ranked.iter().map(grade)) / discounted(&mut best.into_iter())
}
