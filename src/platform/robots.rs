//! Robots that post messages to groups, and card templates.

pub mod backfill;
pub mod connections;
pub mod documents;
pub mod forms;
pub mod limits;
mod repo;
pub mod routes;
pub mod templates;
mod token;

use std::sync::Arc;

use crate::{platform::robots::limits::RobotLimits, store::Store};

/// Route state.
#[derive(Clone)]
pub struct RobotsState {
    pub(crate) store: Store,
    pub(crate) public_url: Arc<str>,
    pub(crate) robot_limits: Arc<RobotLimits>,
}
