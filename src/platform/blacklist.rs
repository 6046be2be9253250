//! Blacklists: whom a person wants nothing to do with.

pub mod model;
mod repo;
pub mod routes;
