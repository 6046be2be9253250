//! Users, synchronised from a directory.

mod batch;
pub mod connections;
pub mod documents;
pub mod forms;
pub mod lookups;
pub mod password;
pub mod picture;
mod prepare;
mod repo;
pub mod routes;
pub mod rules;
pub mod service;

use std::sync::Arc;

use crate::{
    auth::secrets::SecretChecker, config::Limits, platform::shared::sync::Synchronisation, store::Store,
};

/// Route state.
#[derive(Clone)]
pub struct UsersState {
    pub(crate) store: Store,
    pub(crate) limits: Arc<Limits>,
    pub(crate) public_url: Arc<str>,
    pub(crate) sync: Synchronisation,
    pub(crate) secret_checker: SecretChecker,
}
