//! Documents as OpenSearch stores them.

use aws_lc_rs::digest::{SHA256, digest};
use serde::Deserialize;
use serde_json::{Value, json};
use trawl_engine::{AnalysedDocument, Document, Half, Hit, counted_author};

use crate::layout::{OPEN, RESTRICTED};
use crate::terms::{TermPrefix, TermText};

/// A document's id among all scopes; shorter than the 512 bytes that OpenSearch takes.
pub(crate) fn document_id(prefix: &str, id: &str) -> String {
    hex::encode(digest(&SHA256, format!("{prefix}{id}").as_bytes()))
}

/// Fields that a search reads, beside the sort values.
#[derive(Debug, Deserialize)]
struct Source {
    item: String,
    #[serde(default)]
    title_is_name: bool,
}

/// The stored form; `prefix` is the scope's.
pub(crate) fn stored(document: &Document, prefix: &str) -> Value {
    let AnalysedDocument { half, principals, body, title, author, readings } =
        AnalysedDocument::new(document, prefix);
    let field = |encoded: Option<String>| TermText::new(encoded.as_deref().unwrap_or_default());
    let [body, title, author, readings] = [body, title, author, readings].map(field);
    let fields = match half {
        Half::Open => OPEN,
        Half::Restricted => RESTRICTED,
    };
    json!({
        "scope": TermPrefix::new(&document.scope).marker(),
        "id": document.id,
        "display_time": document.display_time,
        "principals": principals,
        fields.body: body.text,
        fields.title: title.text,
        fields.readings: readings.text,
        "author": author.text,
        "author_name": counted_author(&document.author),
        "body_length": stored_length(body.length),
        "title_length": stored_length(title.length),
        "item": document.item,
        "title_is_name": document.title_is_name,
    })
}

/// The stub of a removed document: its version keeps earlier ones from coming back.
pub(crate) fn removed(now: i64) -> Value {
    json!({"removed_at": now, "item": ""})
}

/// The length that one byte can hold, as Lucene rounds it.
fn stored_length(length: u32) -> u32 {
    const EXACT: u32 = 24;
    let Some(above) = length.checked_sub(EXACT) else { return length };
    let shift = above.checked_ilog2().unwrap_or(0).saturating_sub(3);
    EXACT + (above >> shift << shift)
}

/// A hit of an answer, whose sort values end with time and id.
pub(crate) fn read_hit(hit: &mut Value) -> Option<Hit> {
    let Source { item, title_is_name } = serde_json::from_value(hit["_source"].take()).ok()?;
    let [.., display_time, id] = hit["sort"].as_array()?.as_slice() else { return None };
    Some(Hit {
        id: id.as_str()?.to_owned(),
        display_time: display_time.as_i64()?,
        item,
        title_is_name,
        scope: 0,
        score: None,
        rank: None,
    })
}

#[cfg(test)]
mod tests {
    use super::stored_length;

    #[test]
    fn lengths_are_rounded_like_lucene_does() {
        for (length, stored) in
            [(0, 0), (23, 23), (39, 39), (40, 40), (41, 40), (57, 56), (59, 56), (60, 60), (1_000, 984)]
        {
            assert_eq!(stored_length(length), stored, "{length}");
        }
    }
}
