//! Departments, synchronised from a directory.

pub mod documents;
pub mod fields;
pub mod model;
mod repo;
pub mod routes;
mod tree;

use std::sync::Arc;

use crate::{config::Limits, platform::shared::sync::Synchronisation, store::Store};

/// Route state.
#[derive(Clone)]
pub struct DepartmentsState {
    pub(crate) store: Store,
    pub(crate) limits: Arc<Limits>,
    pub(crate) sync: Synchronisation,
}
