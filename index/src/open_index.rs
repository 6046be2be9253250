//! State shared by readers and the writer.

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tantivy::IndexReader;

use crate::Error;
use crate::schema::Fields;
use crate::view::IndexView;

pub(crate) struct OpenIndex {
    pub(crate) reader: IndexReader,
    pub(crate) fields: Fields,
    pub(crate) view: ArcSwap<IndexView>,
    pub(crate) engine: tantivy::Index,
    pub(crate) root: Option<PathBuf>,
}

impl OpenIndex {
    pub(crate) fn view(&self) -> Arc<IndexView> {
        self.view.load_full()
    }

    pub(crate) fn reload(&self) -> Result<(), Error> {
        self.reader.reload()?;
        let view = IndexView::new(self.reader.searcher(), self.fields, Some(&self.view.load()))?;
        self.view.store(Arc::new(view));
        Ok(())
    }
}
