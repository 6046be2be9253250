//! Statistics of the scopes of a request; other tenants must not change them.

use tantivy::postings::TermInfo;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption, Term};
use tantivy::{DocSet, TERMINATED};

use super::viewer_scope::ViewerScope;
use crate::Error;
use crate::schema::TextFields;
use crate::segment_cache::ScopeLengths;
use crate::view::{IndexView, Segment};

/// Larger scopes are sampled.
const MAX_UNSAMPLED: u32 = 4_096;
const MAX_SAMPLE: u32 = 1_024;

pub(super) struct ScopeStatistics<'a> {
    view: &'a IndexView,
    documents: u64,
    body_tokens: u64,
    title_tokens: u64,
}

impl<'a> ScopeStatistics<'a> {
    pub(super) fn collect(view: &'a IndexView, scopes: &[ViewerScope<'_>]) -> Result<Self, Error> {
        let mut statistics = Self { view, documents: 0, body_tokens: 0, title_tokens: 0 };
        for scope in scopes {
            for texts in [view.fields.open, view.fields.restricted] {
                statistics.add_half(texts, &scope.term(texts.body, ""))?;
            }
        }
        Ok(statistics)
    }

    pub(super) fn documents(&self) -> u64 {
        self.documents
    }

    pub(super) fn mean_lengths(&self) -> (f32, f32) {
        (mean(self.body_tokens, self.documents), mean(self.title_tokens, self.documents))
    }

    fn add_half(&mut self, texts: TextFields, marker: &Term) -> Result<(), Error> {
        let view = self.view;
        for (segment, (id, info)) in view.segments.iter().zip(&view.term_infos(marker)?.by_segment) {
            let Some(info) = info else { continue };
            let key = (*id, marker.clone());
            let lengths = if let Some(cached) = view.cache.lengths(&key) {
                cached
            } else {
                let measured = measure(view, segment, texts, info)?;
                view.cache.insert_lengths(key, measured);
                measured
            };
            self.documents += u64::from(info.doc_freq);
            self.body_tokens += lengths.body;
            self.title_tokens += lengths.title;
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a mean")]
pub(super) fn mean(words: u64, documents: u64) -> f32 {
    words as f32 / documents.max(1) as f32
}

/// Estimates total lengths by an even sample.
fn measure(
    view: &IndexView,
    segment: &Segment,
    texts: TextFields,
    info: &TermInfo,
) -> Result<ScopeLengths, Error> {
    let index = segment.inverted_index(texts.body, view.fields)?;
    let mut postings = index.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
    let body_lengths = segment.reader.get_fieldnorms_reader(texts.body)?;
    let title_lengths = segment.reader.get_fieldnorms_reader(texts.title)?;
    let step = if info.doc_freq <= MAX_UNSAMPLED { 1 } else { segment.reader.max_doc() / MAX_SAMPLE + 1 };
    let (mut sampled, mut lengths) = (0, ScopeLengths::default());
    while postings.doc() != TERMINATED {
        lengths.body += u64::from(body_lengths.fieldnorm(postings.doc()));
        lengths.title += u64::from(title_lengths.fieldnorm(postings.doc()));
        sampled += 1;
        if step == 1 {
            postings.advance();
        } else {
            postings.seek(postings.doc() + step);
        }
    }
    let of_all = |of_sample: u64| of_sample * u64::from(info.doc_freq) / sampled.max(1);
    Ok(ScopeLengths { body: of_all(lengths.body), title: of_all(lengths.title) })
}

impl Bm25StatisticsProvider for ScopeStatistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let fields = self.view.fields;
        let is_title = field == fields.open.title || field == fields.restricted.title;
        let tokens = if is_title { self.title_tokens } else { self.body_tokens };
        // It is a divisor.
        Ok(tokens.max(1))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents.max(1))
    }

    /// Adds up both halves, so that weights agree.
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
