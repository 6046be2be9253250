use tantivy::schema::{Field, Term};
use trawl_engine::Scope;

use crate::Error;
use crate::schema::{Fields, TextFields};
use crate::segment_cache::Viewer;
use crate::view::IndexView;

pub(super) struct ViewerScope<'a> {
    pub(super) view: &'a IndexView,
    pub(super) prefix: String,
    /// If the scope has restricted documents.
    pub(super) viewer: Option<Viewer>,
}

impl<'a> ViewerScope<'a> {
    pub(super) fn new(view: &'a IndexView, scope: &Scope, principals: &[String]) -> Result<Self, Error> {
        let mut viewed = Self { view, prefix: scope.prefix(), viewer: None };
        let marker = viewed.term(view.fields.restricted.body, "");
        if !principals.is_empty() && view.document_frequency(&marker)? > 0 {
            viewed.viewer = Some(view.cache.viewer(principals));
        }
        Ok(viewed)
    }

    /// Halves that the viewer may see.
    pub(super) fn halves(&self) -> impl Iterator<Item = TextFields> {
        let Fields { open, restricted, .. } = self.view.fields;
        std::iter::once(open).chain(self.viewer.is_some().then_some(restricted))
    }

    pub(super) fn term(&self, field: Field, word: &str) -> Term {
        Term::from_field_text(field, &format!("{}{word}", self.prefix))
    }
}
