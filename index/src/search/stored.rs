use tantivy::DocId;
use tantivy::schema::Field;
use tantivy::schema::document::{
    DeserializeError, DocumentDeserialize, DocumentDeserializer, ValueDeserialize, ValueDeserializer,
};
use trawl_engine::Hit;

use crate::Error;
use crate::view::IndexView;

#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub(super) segment: usize,
    pub(super) document: DocId,
    pub(super) display_time: i64,
}

pub(super) fn read_hit(view: &IndexView, found: Match) -> Result<Hit, Error> {
    let stored: StoredFields = view.segments[found.segment].opened.store.get(found.document)?;
    let mut hit = Hit {
        id: String::new(),
        display_time: found.display_time,
        item: String::new(),
        title_is_name: false,
        scope: 0,
        score: None,
    };
    for (field, text) in stored.0 {
        if field == view.fields.id {
            hit.id = text;
        } else if field == view.fields.item {
            hit.item = text;
        } else {
            hit.title_is_name = true;
        }
    }
    Ok(hit)
}

struct StoredFields(Vec<(Field, String)>);

impl DocumentDeserialize for StoredFields {
    fn deserialize<'de, D: DocumentDeserializer<'de>>(mut deserializer: D) -> Result<Self, DeserializeError> {
        let mut fields = Vec::with_capacity(deserializer.size_hint());
        while let Some((field, StoredText(text))) = deserializer.next_field()? {
            fields.push((field, text));
        }
        Ok(Self(fields))
    }
}

struct StoredText(String);

impl ValueDeserialize for StoredText {
    fn deserialize<'de, D: ValueDeserializer<'de>>(deserializer: D) -> Result<Self, DeserializeError> {
        deserializer.deserialize_string().map(Self)
    }
}
