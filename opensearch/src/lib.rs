//! The full-text engine over OpenSearch.
//!
//! trawl analyses; OpenSearch takes terms, so that both engines match alike. An [`OpenSearch`] answers searches on any
//! replica. One replica at a time writes, through its [`OpenSearchIndexes`].

mod bulk;
mod client;
mod cluster;
mod correction;
mod counting;
mod document;
mod engine;
mod facets;
mod health;
mod indexes;
mod layout;
mod query;
mod relevance;
mod served_indexes;
mod sink;
mod state;
mod terms;
mod time_order;
mod view;

pub use client::{Client, Credentials};
pub use engine::OpenSearch;
pub use indexes::OpenSearchIndexes;
pub use layout::Layout;
pub use state::{GenerationProgress, SharedProgress};
