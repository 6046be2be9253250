//! A person's own labels, by which he narrows the list of his favorites; search does not look for them, so that naming one
//! otherwise changes no document.

pub mod model;
pub(super) mod repo;
pub mod routes;
