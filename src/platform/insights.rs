//! Finished searches, counted by week and keyword where the tenant agreed (`searchInsights`).
//!
//! No person is kept: the salted hash of a person sets one of 64 bits of a keyword.

mod repo;
pub mod routes;
mod rules;
pub mod service;

use std::sync::Arc;

use trawl_search::clock::Clock;

use crate::store::Store;

/// Route state.
#[derive(Clone)]
pub struct InsightsState {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
}
