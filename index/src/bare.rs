//! Bare tantivy for benches; not part of the interface.

use std::path::Path;

use tantivy::TantivyError;
use tantivy::directory::MmapDirectory;

use crate::directory::UnsyncedDirectory;
use crate::schema::{self, Fields};
use crate::tokenizer::{EncodedTokenizer, TOKENIZER};
use crate::{Error, Snapshot};

pub use crate::writer::bare_document as document;

pub fn index(directory: &Path) -> Result<tantivy::Index, Error> {
    let (schema, _) = Fields::build();
    let mapped = MmapDirectory::open(directory).map_err(TantivyError::from)?;
    let directory = UnsyncedDirectory::new(mapped, directory);
    let index = tantivy::Index::create(directory, schema, schema::settings())?;
    index.tokenizers().register(TOKENIZER, EncodedTokenizer::default());
    Ok(index)
}

pub fn open(directory: &Path) -> Result<tantivy::Index, Error> {
    let mapped = MmapDirectory::open(directory).map_err(TantivyError::from)?;
    Ok(tantivy::Index::open(UnsyncedDirectory::new(mapped, directory))?)
}

pub fn clear_caches(snapshot: &Snapshot) {
    snapshot.clear_caches();
}
