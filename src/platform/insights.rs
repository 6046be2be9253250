//! Finished searches, counted by week and keyword where the tenant agreed (`searchInsights`).
//!
//! A keyword has 64 bits, of which the salted hash of a person sets one. People are not kept otherwise.

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
