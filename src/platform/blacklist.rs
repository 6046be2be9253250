//! Personal blacklists.

mod repo;
pub mod routes;

use std::sync::Arc;

pub use self::repo::listers_among;
use crate::store::Store;

/// Route state.
#[derive(Clone)]
pub struct BlacklistState {
    pub(crate) store: Store,
    pub(crate) public_url: Arc<str>,
}
