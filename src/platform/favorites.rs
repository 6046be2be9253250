//! What people keep for themselves, under labels of their own (decisions 9.3).

pub mod documents;
pub mod labels;
mod list;
pub mod model;
mod repo;
pub mod routes;
