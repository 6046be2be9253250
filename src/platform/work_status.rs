//! Work status of people (`01`: on leave).

pub mod forms;
mod repo;
pub mod routes;

use crate::store::Store;

/// Route state.
#[derive(Clone)]
pub struct WorkStatusState {
    pub(crate) store: Store,
}
