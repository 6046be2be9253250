use tantivy::schema::{Field, Term};
use trawl_engine::{Request, Scope};

use crate::Error;
use crate::schema::{Fields, TextFields};
use crate::segment_cache::{NumberedViewer, TotalKeyRef};
use crate::view::IndexView;

pub(super) struct ViewerScope<'a> {
    pub(super) view: &'a IndexView,
    pub(super) prefix: String,
    pub(super) scope: &'a Scope,
    /// If the scope has restricted documents.
    pub(super) viewer: Option<NumberedViewer>,
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

    /// Whether the half's marker is found; deleted documents count until merged.
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

    pub(super) fn term(&self, field: Field, word: &str) -> Term {
        Term::from_field_text(field, &format!("{}{word}", self.prefix))
    }
}
