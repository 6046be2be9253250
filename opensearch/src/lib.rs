//! The full-text engine over OpenSearch.
//!
//! trawl analyses; OpenSearch takes terms, so that both engines match alike. An [`OpenSearch`] answers searches on any
//! replica. One replica at a time writes, by an [`OpenSearchSink`].

mod client;
mod correction;
mod document;
mod engine;
mod layout;
mod query;
mod relevance;
mod sink;
mod terms;
mod time_order;
mod view;

pub use client::{Client, Credentials};
pub use engine::OpenSearch;
pub use layout::Layout;
pub use sink::OpenSearchSink;
