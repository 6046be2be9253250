//! Term statistics of one shard, and of the documents of a scope that a viewer sees.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use trawl_engine::relevance::{Frequencies, Saturation, inverse_document_frequency};
use trawl_engine::{Failure, Request};

use crate::layout::{OPEN, RESTRICTED};
use crate::query::{seen_by, term};
use crate::served_indexes::ServedIndexes;
use crate::terms::TermPrefix;

/// Statistics of terms in the fields of a shard.
pub(super) struct Statistics(Value);

/// Restricted documents of a scope that a viewer sees.
#[derive(Default)]
pub(super) struct VisibleDocuments {
    pub(super) body: TextLengths,
    pub(super) title: TextLengths,
    /// Documents by term.
    by_term: HashMap<String, u64>,
}

/// Sums over the whole texts or the titles of documents.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TextLengths {
    pub(super) words: f64,
    pub(super) documents: f64,
}

impl Statistics {
    /// Looks up terms in the texts of both halves, and others in their titles.
    pub(super) async fn read(
        indexes: &ServedIndexes,
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
        Ok(Self(indexes.term_vectors(request, terms).await?))
    }

    /// Documents of the scope that hold each word, as the viewer sees them.
    pub(super) fn frequencies<'w>(
        &self,
        restricted: &VisibleDocuments,
        prefix: &TermPrefix,
        words: impl Iterator<Item = &'w str>,
    ) -> Frequencies {
        let visible = |term: &str| self.documents(OPEN.body, term) + restricted.documents(term);
        let by_term = words.map(|word| (word.to_owned(), visible(&prefix.term(word))));
        Frequencies { documents: visible(prefix.marker()), by_term: by_term.collect() }
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

impl VisibleDocuments {
    /// Counts those that hold a term of the shard's restricted documents.
    pub(super) async fn count(
        indexes: &ServedIndexes,
        request: &Request,
        statistics: &Statistics,
        terms: &[String],
    ) -> Result<Self, Failure> {
        let prefix = TermPrefix::new(&request.scope);
        let is_indexed = |term: &str| statistics.documents(RESTRICTED.body, term) > 0;
        if request.principals.is_empty() || !is_indexed(prefix.marker()) {
            return Ok(Self::default());
        }
        let terms: Vec<&str> = terms.iter().map(String::as_str).filter(|term| is_indexed(term)).collect();
        let counted: Vec<Value> = terms.iter().map(|text| term(RESTRICTED.body, text)).collect();
        let mut aggregations = lengths();
        aggregations["terms"] = json!({"filters": {"filters": counted}});
        let search = json!({
            "query": {"bool": {"filter": [term(RESTRICTED.body, prefix.marker()), seen_by(request)]}},
            "size": 0, "track_total_hits": false, "aggs": aggregations,
        });
        let answer = indexes.search_one(request, &search).await?;
        let buckets = answer["aggregations"]["terms"]["buckets"].as_array();
        let counts = buckets.into_iter().flatten().map(|bucket| bucket["doc_count"].as_u64().unwrap_or(0));
        let by_term = terms.into_iter().map(str::to_owned).zip(counts).collect();
        let [body, title] = TextLengths::read(&answer);
        Ok(Self { body, title, by_term })
    }

    /// Documents that hold a term.
    pub(super) fn documents(&self, term: &str) -> u64 {
        self.by_term.get(term).copied().unwrap_or(0)
    }
}

impl TextLengths {
    /// Reads the lengths of a scope's open documents.
    pub(super) async fn open_to_all(
        indexes: &ServedIndexes,
        request: &Request,
    ) -> Result<[Self; 2], Failure> {
        let search = json!({
            "query": term(OPEN.body, TermPrefix::new(&request.scope).marker()),
            "size": 0, "track_total_hits": false, "aggs": lengths(),
        });
        Ok(Self::read(&indexes.search_one(request, &search).await?))
    }

    fn read(answer: &Value) -> [Self; 2] {
        ["body", "title"].map(|field| {
            let of_field = &answer["aggregations"][field];
            let [words, documents] = ["sum", "count"].map(|value| of_field[value].as_f64().unwrap_or(0.0));
            Self { words, documents }
        })
    }
}

/// Aggregations that [`TextLengths`] reads.
fn lengths() -> Value {
    json!({"body": {"stats": {"field": "body_length"}}, "title": {"stats": {"field": "title_length"}}})
}
