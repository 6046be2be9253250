//! Groups of people: who is in them, and in which role (decisions 9.4).

pub mod documents;
pub mod model;
mod repo;
