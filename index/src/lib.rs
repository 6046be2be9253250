//! The built-in full-text engine of trawl, over tantivy.
//!
//! One index holds all tenants and modules. Every term carries its [`Scope`], so postings, frequencies and
//! totals of scopes never meet. The [`Audience`] decides the field of a document's texts: visibility is part
//! of the query and never filters a page (decisions 4.5). Segments are sorted by `display_time`, newest
//! first, so a page by time is a seek, not a scan.
//!
//! [`Index`] reads and [`Writer`] writes. A [`Snapshot`] answers a [`Request`] with a [`Page`]. A
//! [`Highlighter`] marks the matches of a [`Query`].

mod checkpoint;
mod checksum;
mod deletion_log;
mod directory;
mod document;
mod document_set;
mod error;
mod expansion;
mod highlight;
mod index;
mod item;
mod merge_policy;
mod open_index;
mod options;
mod query;
mod queue;
mod schema;
mod search;
mod segment_cache;
mod startup_check;
mod text;
mod verification;
mod view;
mod writer;

pub use checkpoint::Checkpoint;
pub use document::{Audience, Change, Document, MAX_ID_BYTES, Scope};
pub use error::Error;
pub use highlight::{Extent, Highlighter};
pub use index::{Index, Snapshot};
pub use item::{Text, Texts};
pub use options::{MIN_THREAD_MEMORY_BYTES, Options};
pub use query::{MAX_CLAUSES, MAX_TERMS, Query};
pub use search::{Hit, Page, Request, Start, TimePosition};
pub use text::fold;
pub use verification::Verification;
pub use writer::Writer;

#[doc(hidden)]
pub mod bare;
