use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::vec;

use tantivy::TantivyDocument;
use tantivy::schema::Term;
use trawl_engine::{AnalysedDocument, Change, Document, Half, MAX_ID_BYTES, counted_author};

use crate::Error;
use crate::schema::Fields;
use crate::view::IndexView;

const MAX_ANALYSED_BYTES: usize = 8 << 20;

pub(super) struct DocumentKey {
    prefix: String,
    pub(super) term: String,
    pub(super) hash: u64,
}

/// Keeps the last change to each document, in order.
pub(super) fn keep_last_changes(changes: Vec<Change>) -> Result<Vec<(DocumentKey, Change)>, Error> {
    let mut seen: HashSet<u64> = HashSet::with_capacity(changes.len());
    let mut latest = Vec::with_capacity(changes.len());
    let mut has_repeated_hash = false;
    for change in changes.into_iter().rev() {
        let Some((prefix, id)) = change.target() else { continue };
        if id.len() > MAX_ID_BYTES {
            return Err(Error::IdTooLong(id.len()));
        }
        let key = format!("{prefix}{id}");
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let hash = hasher.finish();
        has_repeated_hash |= !seen.insert(hash);
        latest.push((DocumentKey { prefix, term: key, hash }, change));
    }
    if has_repeated_hash {
        let mut seen: HashSet<String> = HashSet::with_capacity(latest.len());
        latest.retain(|(key, _)| seen.insert(key.term.clone()));
    }
    latest.reverse();
    Ok(latest)
}

pub(super) struct AnalysisBatch {
    pub(super) changes: Vec<(DocumentKey, Change)>,
    pub(super) is_full: bool,
}

pub(super) fn next_batch(changes: &mut vec::IntoIter<(DocumentKey, Change)>) -> AnalysisBatch {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while bytes < MAX_ANALYSED_BYTES
        && let Some((key, change)) = changes.next()
    {
        if let Change::Put(document) = &change {
            bytes += document.bytes();
        }
        batch.push((key, change));
    }
    AnalysisBatch { changes: batch, is_full: bytes >= MAX_ANALYSED_BYTES }
}

pub(super) struct PreparedChange {
    pub(super) key: DocumentKey,
    /// `None` for new keys, which spares the engine a lookup.
    pub(super) delete: Option<Term>,
    pub(super) add: Option<EngineDocument>,
}

impl PreparedChange {
    pub(super) fn new(
        key: DocumentKey,
        change: Change,
        view: &IndexView,
        fields: Fields,
        uncommitted: &HashSet<u64>,
    ) -> Result<Self, Error> {
        let exists = uncommitted.contains(&key.hash) || view.may_contain(&key.term)?;
        let delete = exists.then(|| Term::from_field_text(fields.key, &key.term));
        let add = match change {
            Change::Put(document) => Some(engine_document(&key, document, fields)),
            Change::Remove { .. } | Change::RemoveSeenBy { .. } | Change::RemoveTenant { .. } => None,
        };
        Ok(Self { key, delete, add })
    }
}

/// Analyses a document for benches.
pub fn bare_document(document: Document) -> TantivyDocument {
    let (_, fields) = Fields::build();
    let prefix = document.scope.prefix();
    let term = format!("{prefix}{}", document.id);
    engine_document(&DocumentKey { prefix, term, hash: 0 }, document, fields).document
}

pub(super) struct EngineDocument {
    pub(super) document: TantivyDocument,
    pub(super) bytes: usize,
}

fn engine_document(key: &DocumentKey, document: Document, fields: Fields) -> EngineDocument {
    let AnalysedDocument { half, principals, body, title, author, readings } =
        AnalysedDocument::new(&document, &key.prefix);
    let mut bytes = key.term.len() + document.item.len();
    let mut engine = TantivyDocument::new();
    engine.add_text(fields.key, &key.term);
    engine.add_text(fields.id, &document.id);
    engine.add_i64(fields.display_time, document.display_time);
    for principal in principals {
        bytes += principal.len();
        engine.add_text(fields.principals, principal);
    }
    let texts = match half {
        Half::Open => fields.open,
        Half::Restricted => fields.restricted,
    };
    let words =
        [(texts.body, body), (texts.title, title), (fields.author, author), (texts.readings, readings)];
    for (field, words) in words {
        if let Some(encoded) = words {
            bytes += encoded.len();
            engine.add_text(field, encoded);
        }
    }
    if let Some(author) = counted_author(&document.author) {
        bytes += author.len();
        engine.add_text(fields.author_name, author);
    }
    engine.add_text(fields.item, document.item);
    if document.title_is_name {
        engine.add_text(fields.title_is_name, "");
    }
    EngineDocument { document: engine, bytes }
}
