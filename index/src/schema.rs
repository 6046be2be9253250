//! Fields of the index.
//!
//! Open and restricted texts are separate fields. So visibility is part of the query, and mostly a bare posting list.

use tantivy::schema::{
    FAST, Field, IndexRecordOption, NumericOptions, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::store::Compressor;
use tantivy::{IndexSettings, IndexSortByField, Order};

use crate::tokenizer::TOKENIZER;

/// Raised whenever fields, terms or analysis change; older indexes are rebuilt.
pub(crate) const VERSION: u32 = 11;

/// Before compression; a page of ten reads about ten blocks.
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
const AUTHOR_NAME: &str = "author_name";
const OPEN_READINGS: &str = "open_readings";
const RESTRICTED_READINGS: &str = "restricted_readings";
const ITEM: &str = "item";
const TITLE_IS_NAME: &str = "title_is_name";

/// One half of a scope; halves are disjoint, by [`Audience`](crate::Audience).
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextFields {
    /// All texts, with positions.
    pub(crate) body: Field,
    /// The title again, for scores only.
    pub(crate) title: Field,
    /// Pinyin of the title, for corrections only.
    pub(crate) readings: Field,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    pub(crate) key: Field,
    /// Also a column that orders ties.
    pub(crate) id: Field,
    /// Segments are sorted by it.
    pub(crate) display_time: Field,
    /// Documents for the whole tenant.
    pub(crate) open: TextFields,
    /// Documents with principals.
    pub(crate) restricted: TextFields,
    /// Principals of restricted documents.
    pub(crate) principals: Field,
    pub(crate) author: Field,
    /// A column, for counts.
    pub(crate) author_name: Field,
    pub(crate) item: Field,
    /// Stored for names.
    pub(crate) title_is_name: Field,
}

impl Fields {
    pub(crate) fn build() -> (Schema, Self) {
        let mut builder = Schema::builder();
        let fields = Self {
            key: builder.add_text_field(KEY, raw()),
            id: builder.add_text_field(ID, TextOptions::default().set_fast("raw") | STORED),
            display_time: builder.add_i64_field(DISPLAY_TIME, NumericOptions::from(FAST)),
            open: TextFields {
                body: builder.add_text_field(OPEN, words(IndexRecordOption::WithFreqsAndPositions, true)),
                title: builder.add_text_field(OPEN_TITLE, words(IndexRecordOption::WithFreqs, true)),
                readings: builder.add_text_field(OPEN_READINGS, words(IndexRecordOption::Basic, false)),
            },
            restricted: TextFields {
                body: builder
                    .add_text_field(RESTRICTED, words(IndexRecordOption::WithFreqsAndPositions, true)),
                title: builder.add_text_field(RESTRICTED_TITLE, words(IndexRecordOption::WithFreqs, true)),
                readings: builder.add_text_field(RESTRICTED_READINGS, words(IndexRecordOption::Basic, false)),
            },
            principals: builder.add_text_field(PRINCIPALS, raw()),
            author: builder.add_text_field(AUTHOR, words(IndexRecordOption::WithFreqsAndPositions, false)),
            author_name: builder.add_text_field(AUTHOR_NAME, TextOptions::default().set_fast("raw")),
            item: builder.add_text_field(ITEM, STORED),
            title_is_name: builder.add_text_field(TITLE_IS_NAME, STORED),
        };
        (builder.build(), fields)
    }
}

pub(crate) const TIME_COLUMN: &str = DISPLAY_TIME;
pub(crate) const ID_COLUMN: &str = ID;
pub(crate) const AUTHOR_COLUMN: &str = AUTHOR_NAME;

pub(crate) fn settings() -> IndexSettings {
    IndexSettings {
        sort_by_field: Some(IndexSortByField { field: DISPLAY_TIME.to_owned(), order: Order::Desc }),
        docstore_compression: Compressor::Lz4,
        docstore_blocksize: STORE_BLOCK_BYTES,
        // Small commits would start a thread each.
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
