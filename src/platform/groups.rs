//! Groups, their members and roles (book: reference/groups.md).

mod applications;
pub mod connections;
mod creation;
pub mod documents;
mod forms;
mod join_codes;
mod membership;
mod people;
mod removal;
mod repo;
mod roles;
pub mod routes;
pub mod rules;
pub mod service;

use std::sync::Arc;

use crate::{auth::throttle::LoginThrottle, config::Limits, store::Store};

/// Route state.
#[derive(Clone)]
pub struct GroupsState {
    pub(crate) store: Store,
    pub(crate) limits: Arc<Limits>,
    pub(crate) public_url: Arc<str>,
    pub(crate) throttle: Arc<LoginThrottle>,
}
