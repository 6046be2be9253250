//! Departments, synchronised from the organisation's own system.

pub mod documents;
pub mod model;
mod repo;
pub mod routes;
