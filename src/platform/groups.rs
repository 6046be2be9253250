//! Groups of people: who is in them, and in which role (decisions 9.4).

mod applications;
mod creation;
pub mod documents;
mod fields;
mod join_codes;
mod membership;
pub mod model;
mod people;
mod removal;
mod repo;
mod roles;
pub mod routes;
