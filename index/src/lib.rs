//! The embedded full-text engine of trawl, over tantivy.
//!
//! One index holds all tenants and modules. Every term carries its [`Scope`](trawl_engine::Scope), so postings,
//! frequencies and totals of scopes never meet. The [`Audience`](trawl_engine::Audience) decides the field of a
//! document's texts: visibility is part of the query and never filters a page. Segments are sorted by
//! `display_time`, newest first, so a page by time is a seek, not a scan.
//!
//! [`Index`] reads and [`Writer`] writes. A [`Snapshot`] answers a request with a page; [`EmbeddedEngine`] does it for
//! searches. The indexer fills [`EmbeddedIndexes`].

mod checkpoint;
mod checksum;
mod deletion_log;
mod directory;
mod document_set;
mod embedded;
mod error;
mod expansion;
mod index;
mod merge_policy;
mod open_index;
mod options;
mod queue;
mod schema;
mod search;
mod segment_cache;
mod startup_check;
#[cfg(test)]
mod testing;
mod tokenizer;
mod verification;
mod view;
mod writer;

pub use embedded::{EmbeddedEngine, EmbeddedIndexes};
pub use error::Error;
pub use index::{Index, Snapshot};
pub use options::{MIN_THREAD_MEMORY_BYTES, Options};
pub use verification::Verification;
pub use writer::Writer;

#[doc(hidden)]
pub mod bare;
