//! The built-in full-text engine of trawl: documents, queries and pages over tantivy.
//!
//! One index holds every tenant and every module. A [`Document`] lives in a [`Scope`]; the scope is part of every
//! term that the document is indexed under, so the postings, frequencies and totals of two scopes never meet.
//! Who may see a document ([`Audience`]) decides under which field it is indexed, so visibility is a part of the
//! query and never a filter over a page (decisions 4.5). Segments are sorted by `display_time`, newest first, so a
//! page by time is a seek and not a scan.
//!
//! [`Index`] reads, [`Writer`] writes (there is one), [`Query`] is what a person typed, [`Snapshot::search`] answers
//! a [`Request`] with a [`Page`]. A [`Highlighter`] shows where a text matches a query.

mod deletions;
mod directory;
mod document;
mod error;
mod highlight;
mod index;
mod item;
mod merging;
mod query;
mod queue;
mod remembered;
mod schema;
mod search;
mod sets;
mod text;
mod verification;
mod view;
mod writer;

pub use document::{Audience, Change, Document, MAX_ID_BYTES, Scope};
pub use error::Error;
pub use highlight::{Extent, Highlighter};
pub use index::{Index, Options, Snapshot};
pub use item::{Text, Texts};
pub use query::{MAX_CLAUSES, MAX_TERMS, Query};
pub use search::{Hit, Page, Request, Start, TimePosition};
pub use text::fold;
pub use verification::Verification;
pub use writer::{Checkpoint, LEAST_THREAD_MEMORY_BYTES, Writer};

/// What benches need to do the same work with bare tantivy. No part of the interface.
#[doc(hidden)]
pub mod bare {
    pub use crate::index::bare_index as index;
    pub use crate::index::bare_open as open;
    pub use crate::index::forget;
    pub use crate::writer::bare_document as document;
}
