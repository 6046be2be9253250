//! To-do and done items (decisions 8).

pub mod documents;
pub mod model;
pub mod moves;
pub mod quick_deal;
mod repo;
pub mod routes;
pub mod states;
