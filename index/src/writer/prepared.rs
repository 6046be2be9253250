use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::vec;

use tantivy::TantivyDocument;
use tantivy::schema::Term;

use crate::Error;
use crate::document::{Audience, Change, Document, MAX_ID_BYTES};
use crate::schema::Fields;
use crate::text::EncodedWords;
use crate::view::View;

const MAX_ANALYSED_BYTES: usize = 8 << 20;

pub(super) struct DocumentKey {
    prefix: String,
    term: String,
    hash: u64,
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
    pub(super) key_hash: u64,
    /// `None` for new keys, which spares the engine a lookup.
    pub(super) delete: Option<Term>,
    pub(super) add: Option<AnalysedDocument>,
}

impl PreparedChange {
    pub(super) fn new(
        key: &DocumentKey,
        change: Change,
        view: &View,
        fields: Fields,
        uncommitted: &HashSet<u64>,
    ) -> Result<Self, Error> {
        let exists = uncommitted.contains(&key.hash) || view.may_contain(&key.term)?;
        let delete = exists.then(|| Term::from_field_text(fields.key, &key.term));
        let add = match change {
            Change::Put(document) => Some(engine_document(key, document, fields)),
            Change::Remove { .. } | Change::RemoveSeenBy { .. } | Change::RemoveTenant { .. } => None,
        };
        Ok(Self { key_hash: key.hash, delete, add })
    }
}

/// Analyses a document for benches.
pub fn bare_document(document: Document) -> TantivyDocument {
    let (_, fields) = Fields::build();
    let prefix = document.scope.prefix();
    let term = format!("{prefix}{}", document.id);
    engine_document(&DocumentKey { prefix, term, hash: 0 }, document, fields).document
}

pub(super) struct AnalysedDocument {
    pub(super) document: TantivyDocument,
    pub(super) bytes: usize,
}

pub(super) fn principal_term(prefix: &str, principal: &str) -> String {
    format!("{prefix}{principal}")
}

fn engine_document(key: &DocumentKey, document: Document, fields: Fields) -> AnalysedDocument {
    let prefix = &key.prefix;
    let mut bytes = key.term.len() + document.item.len();
    let mut engine = TantivyDocument::new();
    engine.add_text(fields.key, &key.term);
    engine.add_text(fields.id, &document.id);
    engine.add_i64(fields.display_time, document.display_time);
    let texts = match &document.audience {
        Audience::Tenant => fields.open,
        Audience::Principals(principals) => {
            for principal in principals {
                let term = principal_term(prefix, principal);
                bytes += term.len();
                engine.add_text(fields.principals, term);
            }
            fields.restricted
        }
    };

    let mut body = EncodedWords::new(prefix);
    body.add_marker();
    if document.title_is_name {
        body.add_name(&document.title);
    } else {
        body.add_text(&document.title);
    }
    body.add_text(&document.sub_title);
    body.add_text(&document.brief);
    body.add_text(document.text.as_deref().unwrap_or_default());
    for name in &document.other_names {
        body.add_name(name);
    }
    let mut title = EncodedWords::new(prefix);
    title.add_text(&document.title);
    if document.text.is_some() {
        title.add_headings(&document.title);
    }
    let mut author = EncodedWords::new(prefix);
    author.add_text(&document.author);
    for (field, words) in [(texts.body, body), (texts.title, title), (fields.author, author)] {
        if let Some(encoded) = words.finish() {
            bytes += encoded.len();
            engine.add_text(field, encoded);
        }
    }
    engine.add_text(fields.item, document.item);
    if document.title_is_name {
        engine.add_text(fields.title_is_name, "");
    }
    AnalysedDocument { document: engine, bytes }
}
