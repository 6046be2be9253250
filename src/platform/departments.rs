//! Departments, synchronised from a directory.

pub mod connections;
pub mod documents;
pub mod forms;
mod repo;
pub mod routes;
pub mod rules;
pub mod service;
mod tree;

use crate::{platform::shared::sync::Synchronisation, store::Store};

/// Route state.
#[derive(Clone)]
pub struct DepartmentsState {
    pub(crate) store: Store,
    pub(crate) sync: Synchronisation,
}
