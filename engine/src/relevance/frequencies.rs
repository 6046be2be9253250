//! Document frequencies, and the weight that they give a word.

use std::collections::HashMap;

/// Document frequencies in one scope.
#[derive(Debug, Clone, Default)]
pub struct Frequencies {
    /// Documents of the scope.
    pub documents: u64,
    /// Documents by term.
    pub by_term: HashMap<String, u64>,
}

impl Frequencies {
    /// Documents with the term.
    pub fn of(&self, term: &str) -> u64 {
        self.by_term.get(term).copied().unwrap_or(0)
    }

    /// Adds those of another scope.
    pub fn add(&mut self, other: Self) {
        self.documents += other.documents;
        for (term, documents) in other.by_term {
            *self.by_term.entry(term).or_insert(0) += documents;
        }
    }
}

/// BM25's inverse document frequency.
#[expect(clippy::cast_precision_loss, reason = "a statistic")]
pub fn inverse_document_frequency(documents: u64, total: u64) -> f32 {
    let rest = total.saturating_sub(documents) as f32;
    (1.0 + (rest + 0.5) / (documents as f32 + 0.5)).ln()
}
