//! Changes, made ready for the engine: what each document is found by, and its texts analysed.

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

/// Bytes of texts that are analysed at once, from which on no more are added.
const PORTION_BYTES: usize = 8 << 20;

/// A document's key, and its hash.
pub(super) struct Key {
    prefix: String,
    /// The scope and the id: the term that the document is found by.
    term: String,
    hash: u64,
}

/// Keeps the last change to each document, in their order.
pub(super) fn last_of_each(changes: Vec<Change>) -> Result<Vec<(Key, Change)>, Error> {
    let mut seen: HashSet<u64> = HashSet::with_capacity(changes.len());
    let mut kept = Vec::with_capacity(changes.len());
    let mut doubtful = false;
    for change in changes.into_iter().rev() {
        let Some((prefix, id)) = change.target() else { continue };
        if id.len() > MAX_ID_BYTES {
            return Err(Error::IdTooLong(id.len()));
        }
        let key = format!("{prefix}{id}");
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let hash = hasher.finish();
        doubtful |= !seen.insert(hash);
        kept.push((Key { prefix, term: key, hash }, change));
    }
    if doubtful {
        let mut seen: HashSet<String> = HashSet::with_capacity(kept.len());
        kept.retain(|(key, _)| seen.insert(key.term.clone()));
    }
    kept.reverse();
    Ok(kept)
}

/// Changes that are analysed together.
pub(super) struct Portion {
    pub(super) changes: Vec<(Key, Change)>,
    /// Whether their texts are as large as those of a portion may be.
    pub(super) is_whole: bool,
}

/// The next changes that are analysed together; none once there is none left.
pub(super) fn next_portion(changes: &mut vec::IntoIter<(Key, Change)>) -> Portion {
    let (mut portion, mut bytes) = (Vec::new(), 0);
    while bytes < PORTION_BYTES
        && let Some((key, change)) = changes.next()
    {
        if let Change::Put(document) = &change {
            bytes += document.bytes();
        }
        portion.push((key, change));
    }
    Portion { changes: portion, is_whole: bytes >= PORTION_BYTES }
}

/// A change, analysed and ready for the engine.
pub(super) struct Prepared {
    pub(super) key_hash: u64,
    /// None where nothing can be there: looking here, on all cores, spares the engine a look into every segment.
    pub(super) delete: Option<Term>,
    pub(super) add: Option<Analysed>,
}

impl Prepared {
    pub(super) fn new(
        key: &Key,
        change: Change,
        view: &View,
        fields: Fields,
        uncommitted: &HashSet<u64>,
    ) -> Result<Self, Error> {
        let exists = uncommitted.contains(&key.hash) || view.may_hold(&key.term)?;
        let delete = exists.then(|| Term::from_field_text(fields.key, &key.term));
        let add = match change {
            Change::Put(document) => Some(engine_document(key, document, fields)),
            Change::Remove { .. } | Change::RemoveSeenBy { .. } | Change::RemoveTenant { .. } => None,
        };
        Ok(Self { key_hash: key.hash, delete, add })
    }
}

/// The document as it is handed to the engine, analysed.
pub fn bare_document(document: Document) -> TantivyDocument {
    let (_, fields) = Fields::build();
    let prefix = document.scope.prefix();
    let term = format!("{prefix}{}", document.id);
    engine_document(&Key { prefix, term, hash: 0 }, document, fields).document
}

/// A document as the engine takes it.
pub(super) struct Analysed {
    pub(super) document: TantivyDocument,
    /// What it takes, nearly.
    pub(super) bytes: usize,
}

/// By what those are found that a principal sees.
pub(super) fn principal_term(prefix: &str, principal: &str) -> String {
    format!("{prefix}{principal}")
}

fn engine_document(key: &Key, document: Document, fields: Fields) -> Analysed {
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
    Analysed { document: engine, bytes }
}
