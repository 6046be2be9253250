//! Built-in content written by applications.

pub mod documents;
pub mod forms;
pub mod import;
mod repo;
pub mod routes;
pub mod service;

use std::sync::Arc;

use crate::{
    config::Limits, confined::process::ReaderProcesses, index_progress::BulkGate, registry::Registry,
    store::Store,
};

/// Route state.
#[derive(Clone)]
pub struct ContentsState {
    pub(crate) store: Store,
    pub(crate) limits: Arc<Limits>,
    pub(crate) bulk: BulkGate,
    pub(crate) registry: Arc<Registry>,
    pub(crate) readers: ReaderProcesses,
}
