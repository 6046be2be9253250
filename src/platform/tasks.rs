//! To-do and done items (book: reference/tasks.md).

pub mod connections;
pub mod creation;
pub mod documents;
pub mod forms;
pub mod quick_deal;
mod repo;
pub mod routes;
pub mod service;
pub mod states;

use std::sync::Arc;

use self::{creation::TaskCreations, quick_deal::QuickDeals};
use crate::store::Store;

/// Route state.
#[derive(Clone)]
pub struct TasksState {
    pub(crate) store: Store,
    pub(crate) quick_deals: Arc<QuickDeals>,
    pub(crate) creations: Arc<TaskCreations>,
}
