//! Blacklists: whom a person wants nothing to do with.

mod repo;
pub mod routes;
