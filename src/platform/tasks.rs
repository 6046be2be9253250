//! To-do and done items (decisions 8).

pub mod connections;
pub mod documents;
pub mod forms;
pub mod quick_deal;
mod repo;
pub mod routes;
pub mod service;
pub mod states;

use std::sync::Arc;

use crate::{
    config::Limits, index_progress::BulkGate, platform::tasks::quick_deal::QuickDeals, store::Store,
};

/// Route state.
#[derive(Clone)]
pub struct TasksState {
    pub(crate) store: Store,
    pub(crate) limits: Arc<Limits>,
    pub(crate) bulk: BulkGate,
    pub(crate) quick_deals: Arc<QuickDeals>,
}
