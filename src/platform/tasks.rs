//! To-do items (decisions 8).

pub mod documents;
pub mod model;
mod repo;
pub mod routes;
