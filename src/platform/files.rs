//! Files: how they come into folders, are taken and go (specification, "Files"; decisions 10).
//!
//! Bytes never pass through here: a caller is given an address for them, and says afterwards what came of it.

pub mod abandoned;
pub mod commit;
pub mod documents;
pub mod following;
pub mod forms;
pub mod given;
mod giving_up;
pub mod info;
mod parts;
mod person;
mod placing;
pub mod quotas;
mod removal;
mod repo;
pub mod routes;
mod signing;

/// What entries of the change log call files.
pub const FILE: &str = "file";
