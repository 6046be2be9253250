//! Personal labels, which filter the list of favorites.
//!
//! Search ignores labels, so a rename changes no document.

pub mod forms;
pub(super) mod repo;
pub mod routes;
