//! Badges of a tenant, written by applications and read by everyone.

mod forms;
mod repo;
pub mod routes;

use std::sync::Arc;

use crate::{config::Limits, store::Store};

/// Route state.
#[derive(Clone)]
pub struct BadgesState {
    pub(crate) store: Store,
    pub(crate) limits: Arc<Limits>,
}
