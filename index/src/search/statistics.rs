//! Statistics of the scopes of a request, over the documents that the viewer sees.

use std::hash::{DefaultHasher, Hash, Hasher};

use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocSet, TERMINATED};
use trawl_engine::Query;

use super::budget::{SearchError, StepBudget};
use super::matches::Matches;
use super::plan::Plan;
use super::set_builder::viewer_set;
use super::viewer_scope::ViewerScope;
use crate::Error;
use crate::schema::TextFields;
use crate::segment_cache::{NumberedViewer, ScopeLengths, TotalKeyRef};
use crate::view::{IndexView, Segment};

/// Larger scopes are sampled.
const MAX_UNSAMPLED: u32 = 4_096;
const MAX_SAMPLE: u32 = 1_024;

/// Counts over the documents that a viewer sees in all scopes.
///
/// Deleted ones count until merged.
#[derive(Debug, Default)]
pub(super) struct ScopeStatistics {
    pub(super) documents: u64,
    pub(super) body_tokens: u64,
    pub(super) title_tokens: u64,
}

impl ScopeStatistics {
    pub(super) fn collect(
        view: &IndexView,
        scopes: &[ViewerScope<'_>],
        budget: &mut StepBudget,
    ) -> Result<Self, SearchError> {
        let mut statistics = Self::default();
        for scope in scopes {
            statistics.add_open(view, scope)?;
            if let Some(viewer) = &scope.viewer {
                statistics.add_restricted(view, scope, viewer, budget)?;
            }
        }
        Ok(statistics)
    }

    pub(super) fn mean_lengths(&self) -> (f32, f32) {
        (mean(self.body_tokens, self.documents), mean(self.title_tokens, self.documents))
    }

    fn add_open(&mut self, view: &IndexView, scope: &ViewerScope<'_>) -> Result<(), Error> {
        let texts = view.fields.open;
        let marker = scope.term(texts.body, "");
        for (segment, (_, info)) in view.segments.iter().zip(&view.term_infos(&marker)?.by_segment) {
            let Some(info) = info else { continue };
            let index = segment.inverted_index(texts.body, view.fields)?;
            let documents = || index.read_postings_from_terminfo(info, IndexRecordOption::Basic);
            self.add(view, segment, texts, (&marker, 0), info.doc_freq, documents)?;
        }
        Ok(())
    }

    fn add_restricted(
        &mut self,
        view: &IndexView,
        scope: &ViewerScope<'_>,
        viewer: &NumberedViewer,
        budget: &mut StepBudget,
    ) -> Result<(), SearchError> {
        let texts = view.fields.restricted;
        let (marker, prefix) = (scope.term(texts.body, ""), scope.prefix.as_str().into());
        for segment in &view.segments {
            let visible = viewer_set(view, segment, viewer, &prefix, budget)?;
            let documents = || Ok(visible.read());
            self.add(view, segment, texts, (&marker, viewer.number), visible.len(), documents)?;
        }
        Ok(())
    }

    /// Adds the documents of a half in a segment.
    ///
    /// Their lengths are cached by marker and viewer.
    fn add<D: DocSet>(
        &mut self,
        view: &IndexView,
        segment: &Segment,
        texts: TextFields,
        (marker, viewer): (&Term, u64),
        count: u32,
        documents: impl FnOnce() -> std::io::Result<D>,
    ) -> Result<(), Error> {
        if count == 0 {
            return Ok(());
        }
        let key = (segment.reader.segment_id(), marker.clone(), viewer);
        let lengths = if let Some(cached) = view.cache.lengths.get(&key) {
            cached
        } else {
            let measured = measure(segment, texts, count, documents()?)?;
            view.cache.lengths.insert(key, measured);
            measured
        };
        self.documents += u64::from(count);
        self.body_tokens += lengths.body;
        self.title_tokens += lengths.title;
        Ok(())
    }
}

/// Counts a scope's documents with a word that the viewer sees.
///
/// Deleted ones of the open half count until merged.
pub(super) fn document_frequency(
    scope: &ViewerScope<'_>,
    word: &str,
    budget: &mut StepBudget,
) -> Result<u64, SearchError> {
    let in_open = scope.view.document_frequency(&scope.term(scope.view.fields.open.body, word))?;
    Ok(in_open + restricted_frequency(scope, word, budget)?)
}

/// Restricted documents of a scope with a word that the viewer sees.
fn restricted_frequency(
    scope: &ViewerScope<'_>,
    word: &str,
    budget: &mut StepBudget,
) -> Result<u64, SearchError> {
    let (view, Some(viewer)) = (scope.view, &scope.viewer) else { return Ok(0) };
    let term = scope.term(view.fields.restricted.body, word);
    if view.document_frequency(&term)? == 0 {
        return Ok(0);
    }
    let mut hasher = DefaultHasher::new();
    term.hash(&mut hasher);
    let plan = Plan::visible_with_term(scope, viewer, term, budget)?;
    // No other total is of a query without words.
    let (query, any_of) = (&Query::default(), hasher.finish());
    let key = TotalKeyRef {
        scope: scope.scope,
        query,
        any_of,
        viewer: viewer.number,
        from: None,
        to: None,
        author: None,
    };
    Matches::new(view, &plan, None, None, budget)?.total(view, &key, budget)
}

#[expect(clippy::cast_precision_loss, reason = "a mean")]
pub(super) fn mean(words: u64, documents: u64) -> f32 {
    words as f32 / documents.max(1) as f32
}

/// Estimates total lengths by an even sample.
fn measure(
    segment: &Segment,
    texts: TextFields,
    count: u32,
    mut documents: impl DocSet,
) -> Result<ScopeLengths, Error> {
    let body_lengths = segment.reader.get_fieldnorms_reader(texts.body)?;
    let title_lengths = segment.reader.get_fieldnorms_reader(texts.title)?;
    let step = if count <= MAX_UNSAMPLED { 1 } else { segment.reader.max_doc() / MAX_SAMPLE + 1 };
    let (mut sampled, mut lengths) = (0, ScopeLengths::default());
    while documents.doc() != TERMINATED {
        lengths.body += u64::from(body_lengths.fieldnorm(documents.doc()));
        lengths.title += u64::from(title_lengths.fieldnorm(documents.doc()));
        sampled += 1;
        if step == 1 {
            documents.advance();
        } else {
            documents.seek(documents.doc() + step);
        }
    }
    let of_all = |of_sample: u64| of_sample * u64::from(count) / sampled.max(1);
    Ok(ScopeLengths { body: of_all(lengths.body), title: of_all(lengths.title) })
}
