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

use self::{forms::NewTask, quick_deal::QuickDeals, repo::CreationOutcome};
use crate::{
    config::Limits,
    index_progress::BulkGate,
    store::{BatchedWrites, Store},
};

/// Single creations, which concurrent requests of an application share.
pub(crate) type Creations = BatchedWrites<NewTask, CreationOutcome>;

pub(crate) fn creations(store: Store) -> Arc<Creations> {
    Arc::new(BatchedWrites::new(store, |transaction, tenant_id, application, new| {
        Box::pin(repo::create(transaction, tenant_id, application, new))
    }))
}

/// Route state.
#[derive(Clone)]
pub struct TasksState {
    pub(crate) store: Store,
    pub(crate) limits: Arc<Limits>,
    pub(crate) bulk: BulkGate,
    pub(crate) quick_deals: Arc<QuickDeals>,
    pub(crate) creations: Arc<Creations>,
}
