//! What people look for: searches that they finished, counted by week and keyword (`searchInsights` of the tenant).
//!
//! No person is kept: a keyword has 64 bits, and the salted hash of a person sets one of them.

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
