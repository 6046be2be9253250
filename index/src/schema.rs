//! The index's fields and settings: what is stored how, in one place.

use tantivy::schema::{
    FAST, Field, IndexRecordOption, NumericOptions, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::store::Compressor;
use tantivy::{IndexSettings, IndexSortByField, Order};

use crate::text::TOKENIZER;

/// Raised whenever fields, terms or analysis change, so that an older index is rebuilt and never misread.
pub(crate) const VERSION: u32 = 4;

/// The bytes of a block of stored items before compression. A page of ten reads about ten blocks, so a block is small.
const STORE_BLOCK_BYTES: usize = 4_096;

const KEY: &str = "key";
const ID: &str = "id";
const DISPLAY_TIME: &str = "display_time";
const OPEN: &str = "open";
const OPEN_TITLE: &str = "open_title";
const RESTRICTED: &str = "restricted";
const RESTRICTED_TITLE: &str = "restricted_title";
const PRINCIPALS: &str = "principals";
const AUTHOR: &str = "author";
const ITEM: &str = "item";
const TITLE_IS_NAME: &str = "title_is_name";

/// The two halves of a scope, by [`Audience`](crate::Audience): disjoint sets of documents.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextFields {
    /// Title, sub-title and brief, with positions.
    pub(crate) body: Field,
    /// The title again, for scores only.
    pub(crate) title: Field,
}

/// Every field of the index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    /// Scope and id: what an upsert or a removal finds a document by.
    pub(crate) key: Field,
    /// The id: a column, to order ties by, and stored, to be answered.
    pub(crate) id: Field,
    /// The column that segments are sorted by.
    pub(crate) display_time: Field,
    /// The texts of documents that the whole tenant sees.
    pub(crate) open: TextFields,
    /// The texts of all others.
    pub(crate) restricted: TextFields,
    /// Who sees those others.
    pub(crate) principals: Field,
    /// The author's name.
    pub(crate) author: Field,
    /// The item, stored.
    pub(crate) item: Field,
    /// Stored where the title is a name, whatever it holds.
    pub(crate) title_is_name: Field,
}

impl Fields {
    /// The schema and its fields.
    pub(crate) fn build() -> (Schema, Self) {
        let mut builder = Schema::builder();
        let fields = Self {
            key: builder.add_text_field(KEY, raw()),
            id: builder.add_text_field(ID, TextOptions::default().set_fast("raw") | STORED),
            display_time: builder.add_i64_field(DISPLAY_TIME, NumericOptions::from(FAST)),
            open: TextFields {
                body: builder.add_text_field(OPEN, words(IndexRecordOption::WithFreqsAndPositions, true)),
                title: builder.add_text_field(OPEN_TITLE, words(IndexRecordOption::WithFreqs, true)),
            },
            restricted: TextFields {
                body: builder
                    .add_text_field(RESTRICTED, words(IndexRecordOption::WithFreqsAndPositions, true)),
                title: builder.add_text_field(RESTRICTED_TITLE, words(IndexRecordOption::WithFreqs, true)),
            },
            principals: builder.add_text_field(PRINCIPALS, raw()),
            author: builder.add_text_field(AUTHOR, words(IndexRecordOption::WithFreqsAndPositions, false)),
            item: builder.add_text_field(ITEM, STORED),
            title_is_name: builder.add_text_field(TITLE_IS_NAME, STORED),
        };
        (builder.build(), fields)
    }
}

/// The name of the column of times.
pub(crate) const TIME_COLUMN: &str = DISPLAY_TIME;
/// The name of the column of ids.
pub(crate) const ID_COLUMN: &str = ID;

/// The settings that an index is created with.
pub(crate) fn settings() -> IndexSettings {
    IndexSettings {
        sort_by_field: Some(IndexSortByField { field: DISPLAY_TIME.to_owned(), order: Order::Desc }),
        docstore_compression: Compressor::Lz4,
        docstore_blocksize: STORE_BLOCK_BYTES,
        // A commit of a few documents every few milliseconds would start and end a thread each time.
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

fn raw() -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    TextOptions::default().set_indexing_options(indexing)
}

fn words(record: IndexRecordOption, field_norms: bool) -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_fieldnorms(field_norms)
        .set_index_option(record);
    TextOptions::default().set_indexing_options(indexing)
}
