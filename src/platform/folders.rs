//! Folders and permissions (book: reference/files.md).

pub mod access;
mod changes;
pub mod forms;
mod grants;
mod listing;
pub mod names;
pub mod permissions;
pub mod removal;
pub mod repo;
pub mod routes;
pub mod service;
mod subjects;

use std::sync::Arc;

use crate::{config::Limits, store::Store};

/// Route state.
#[derive(Clone)]
pub struct FoldersState {
    pub(crate) store: Store,
    pub(crate) limits: Arc<Limits>,
}
