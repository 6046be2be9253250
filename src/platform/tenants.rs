//! Tenants and their applications.

pub mod applications;
pub mod enterprises;
mod field_rules;
pub mod removal;
pub mod routes;
pub mod service;
pub mod settings;

use std::sync::Arc;

use crate::{
    auth::{caller::Authenticator, keys::Keys},
    registry::Registry,
    store::Store,
};

/// Route state.
#[derive(Clone)]
pub struct TenantsState {
    pub(crate) store: Store,
    pub(crate) keys: Arc<Keys>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) registry: Arc<Registry>,
}
