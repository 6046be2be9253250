//! Personal labels of favorites. Search ignores them.

pub mod forms;
pub(super) mod repo;
pub mod routes;
