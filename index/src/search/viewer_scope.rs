use std::hash::{DefaultHasher, Hash, Hasher};

use tantivy::schema::{Field, Term};
use trawl_engine::{Query, Request, Scope};

use super::budget::{SearchError, StepBudget};
use super::matches::Matches;
use super::plan::Plan;
use crate::Error;
use crate::schema::{Fields, TextFields};
use crate::segment_cache::{TotalKeyRef, Viewer};
use crate::view::IndexView;

pub(super) struct ViewerScope<'a> {
    pub(super) view: &'a IndexView,
    pub(super) prefix: String,
    scope: &'a Scope,
    /// If the scope has restricted documents.
    pub(super) viewer: Option<Viewer>,
    has_open_documents: bool,
}

impl<'a> ViewerScope<'a> {
    pub(super) fn new(view: &'a IndexView, scope: &'a Scope, principals: &[String]) -> Result<Self, Error> {
        let mut viewed =
            Self { view, prefix: scope.prefix(), scope, viewer: None, has_open_documents: false };
        viewed.has_open_documents = viewed.has_documents(view.fields.open)?;
        if !principals.is_empty() && viewed.has_documents(view.fields.restricted)? {
            viewed.viewer = Some(view.cache.viewer(principals));
        }
        Ok(viewed)
    }

    /// By the marker of the half. Deleted documents count until merged.
    fn has_documents(&self, texts: TextFields) -> Result<bool, Error> {
        Ok(self.view.document_frequency(&self.term(texts.body, ""))? > 0)
    }

    /// Halves that hold documents and that the viewer may see.
    pub(super) fn halves(&self) -> impl Iterator<Item = TextFields> {
        let Fields { open, restricted, .. } = self.view.fields;
        let open = self.has_open_documents.then_some(open);
        open.into_iter().chain(self.viewer.is_some().then_some(restricted))
    }

    /// `any_of`: a hash of the terms of which a match has one; 0 in time order.
    pub(super) fn total_key<'r>(&'r self, request: &'r Request, any_of: u64) -> TotalKeyRef<'r> {
        TotalKeyRef {
            scope: self.scope,
            query: &request.query,
            any_of,
            viewer: self.viewer.as_ref().map_or(0, |viewer| viewer.number),
            from: request.from,
            to: request.to,
            author: request.author.as_deref(),
        }
    }

    /// Documents with a word that the viewer sees; deleted ones of the open half count until merged.
    pub(super) fn document_frequency(&self, word: &str, budget: &mut StepBudget) -> Result<u64, SearchError> {
        let Fields { open, .. } = self.view.fields;
        let in_open = self.view.document_frequency(&self.term(open.body, word))?;
        Ok(in_open + self.restricted_frequency(word, budget)?)
    }

    /// Restricted documents with a word that the viewer sees.
    fn restricted_frequency(&self, word: &str, budget: &mut StepBudget) -> Result<u64, SearchError> {
        let Some(viewer) = &self.viewer else { return Ok(0) };
        let term = self.term(self.view.fields.restricted.body, word);
        if self.view.document_frequency(&term)? == 0 {
            return Ok(0);
        }
        let mut hasher = DefaultHasher::new();
        term.hash(&mut hasher);
        let plan = Plan::visible_with_term(self, viewer, term, budget)?;
        // No other total is of a query without words.
        let (query, any_of) = (&Query::default(), hasher.finish());
        let key = TotalKeyRef {
            scope: self.scope,
            query,
            any_of,
            viewer: viewer.number,
            from: None,
            to: None,
            author: None,
        };
        Matches::new(self.view, &plan, None, None, budget)?.total(self.view, &key, budget)
    }

    pub(super) fn term(&self, field: Field, word: &str) -> Term {
        Term::from_field_text(field, &format!("{}{word}", self.prefix))
    }
}
