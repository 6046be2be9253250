//! Term statistics of one shard, of which a scope is a part.

use serde_json::{Map, Value, json};
use trawl_engine::relevance::{Frequencies, Saturation, inverse_document_frequency};
use trawl_engine::{Failure, Request};

use crate::query::{OPEN, RESTRICTED};
use crate::terms::TermPrefix;
use crate::view::OpenSearchView;

/// Statistics of terms, by field.
pub(super) struct Statistics(Value);

impl Statistics {
    /// Looks up terms in the texts of both halves, and others in their titles.
    pub(super) async fn read(
        view: &OpenSearchView,
        request: &Request,
        body: &[String],
        title: &[String],
    ) -> Result<Self, Failure> {
        let mut fields = Map::new();
        for half in [OPEN, RESTRICTED] {
            fields.insert(half.body.to_owned(), body.join(" ").into());
            fields.insert(half.title.to_owned(), title.join(" ").into());
        }
        let terms = json!({
            "doc": fields,
            "term_statistics": true, "field_statistics": true,
            "positions": false, "offsets": false, "payloads": false,
        });
        Ok(Self(view.term_vectors(request, terms).await?))
    }

    /// Documents of the scope that hold each word.
    pub(super) fn frequencies<'w>(
        &self,
        prefix: &TermPrefix,
        words: impl Iterator<Item = &'w str>,
    ) -> Frequencies {
        let in_both_halves =
            |term: &str| [OPEN, RESTRICTED].iter().map(|half| self.documents(half.body, term)).sum();
        let by_term = words.map(|word| (word.to_owned(), in_both_halves(&prefix.term(word))));
        Frequencies { documents: in_both_halves(prefix.marker()), by_term: by_term.collect() }
    }

    /// Documents that hold a term in a field.
    pub(super) fn documents(&self, field: &str, term: &str) -> u64 {
        self.0[field]["terms"][term]["doc_freq"].as_u64().unwrap_or(0)
    }

    /// Inverse document frequency that OpenSearch gives a term; `None` where the term occurs nowhere.
    pub(super) fn idf(&self, field: &str, term: &str) -> Option<f32> {
        let with_term = Some(self.documents(field, term)).filter(|documents| *documents > 0)?;
        let documents = self.0[field]["field_statistics"]["doc_count"].as_u64()?;
        Some(inverse_document_frequency(with_term, documents))
    }

    /// Saturation by which OpenSearch scores a field.
    pub(super) fn saturation(&self, field: &str) -> Saturation {
        let of_field = &self.0[field]["field_statistics"];
        let [words, documents] =
            ["sum_ttf", "doc_count"].map(|count| of_field[count].as_f64().unwrap_or(1.0));
        #[expect(clippy::cast_possible_truncation, reason = "a mean length")]
        Saturation { mean_length: (words / documents) as f32 }
    }
}
