//! Folders: who may do what in them, and what that is (specification, "Folders"; decisions 10).

pub mod access;
mod changes;
pub mod fields;
mod grants;
mod listing;
pub mod names;
pub mod permissions;
pub mod removal;
pub mod repo;
pub mod routes;
mod subjects;
