//! Personal blacklists.

mod repo;
pub mod routes;
pub mod service;

use std::sync::Arc;

use crate::store::Store;

/// Route state.
#[derive(Clone)]
pub struct BlacklistState {
    pub(crate) store: Store,
    pub(crate) public_url: Arc<str>,
}
