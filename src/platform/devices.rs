//! Devices of people; tokens may be bound to them.

pub mod forms;
mod repo;
pub mod routes;

use std::sync::Arc;

pub use self::repo::{find_binding, is_bound};
use crate::{config::Limits, store::Store};

/// Route state.
#[derive(Clone)]
pub struct DevicesState {
    pub(crate) store: Store,
    pub(crate) limits: Arc<Limits>,
}
