//! Departments, synchronised from the organisation's own system.

pub mod documents;
pub mod fields;
pub mod model;
mod repo;
pub mod routes;
mod tree;
