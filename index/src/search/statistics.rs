//! The numbers that relevance is computed from, of one scope alone: another tenant's documents must not move scores.

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption, Term};
use tantivy::{DocSet, TERMINATED};

use crate::Error;
use crate::schema::TextFields;
use crate::view::View;

/// Documents per segment whose lengths stand for the others'.
const SAMPLED_PER_SEGMENT: u64 = 256;

/// The statistics of one scope.
pub(super) struct ScopeStatistics<'a> {
    view: &'a View,
    documents: u64,
    body_tokens: u64,
    title_tokens: u64,
}

impl<'a> ScopeStatistics<'a> {
    /// Counts the scope's documents, and samples the newest of each segment for their lengths.
    pub(super) fn collect(view: &'a View, prefix: &str) -> Result<Self, Error> {
        let mut statistics = Self { view, documents: 0, body_tokens: 0, title_tokens: 0 };
        for texts in [view.fields.open, view.fields.restricted] {
            let marker = Term::from_field_text(texts.body, prefix);
            statistics.add_branch(texts, &marker)?;
        }
        Ok(statistics)
    }

    /// How many documents the scope holds.
    pub(super) fn documents(&self) -> u64 {
        self.documents
    }

    /// How many words the whole text of a document holds in the mean.
    #[expect(clippy::cast_precision_loss, reason = "a mean")]
    pub(super) fn mean_length(&self) -> f32 {
        self.body_tokens.max(1) as f32 / self.documents.max(1) as f32
    }

    fn add_branch(&mut self, texts: TextFields, marker: &Term) -> Result<(), Error> {
        for segment in &self.view.segments {
            let index = segment.inverted_index(texts.body, self.view.fields)?;
            let Some(mut postings) = index.read_postings(marker, IndexRecordOption::Basic)? else { continue };
            let documents = u64::from(postings.doc_freq());
            let body_lengths = segment.reader.get_fieldnorms_reader(texts.body)?;
            let title_lengths = segment.reader.get_fieldnorms_reader(texts.title)?;
            let (mut sampled, mut body, mut title) = (0, 0, 0);
            while postings.doc() != TERMINATED && sampled < SAMPLED_PER_SEGMENT {
                body += u64::from(body_lengths.fieldnorm(postings.doc()));
                title += u64::from(title_lengths.fieldnorm(postings.doc()));
                sampled += 1;
                postings.advance();
            }
            self.documents += documents;
            self.body_tokens += body * documents / sampled.max(1);
            self.title_tokens += title * documents / sampled.max(1);
        }
        Ok(())
    }
}

impl Bm25StatisticsProvider for ScopeStatistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let fields = self.view.fields;
        let is_title = field == fields.open.title || field == fields.restricted.title;
        let tokens = if is_title { self.title_tokens } else { self.body_tokens };
        // The average is divided by.
        Ok(tokens.max(1))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents.max(1))
    }

    /// Over both halves of the scope, so that a word weighs the same in either.
    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let fields = self.view.fields;
        let field = term.field();
        let sibling = if field == fields.open.body {
            fields.restricted.body
        } else if field == fields.restricted.body {
            fields.open.body
        } else if field == fields.open.title {
            fields.restricted.title
        } else if field == fields.restricted.title {
            fields.open.title
        } else {
            return Ok(self.view.document_frequency(term)?);
        };
        let other = Term::from_field_text(sibling, term.value().as_str().unwrap_or_default());
        Ok(self.view.document_frequency(term)? + self.view.document_frequency(&other)?)
    }
}
