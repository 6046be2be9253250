//! Users: the directory's people, synchronised from the organisation's own system.

pub mod documents;
pub mod fields;
pub mod model;
pub mod pages;
pub mod password;
mod people;
pub mod picture;
mod prepare;
mod repo;
pub mod routes;
