//! Built-in content written by applications (decisions 4.3).

pub mod documents;
pub mod forms;
mod repo;
pub mod routes;

use std::sync::Arc;

use crate::{config::Limits, index_progress::BulkGate, registry::Registry, store::Store};

/// Route state.
#[derive(Clone)]
pub struct ContentsState {
    pub(crate) store: Store,
    pub(crate) limits: Arc<Limits>,
    pub(crate) bulk: BulkGate,
    pub(crate) registry: Arc<Registry>,
}
