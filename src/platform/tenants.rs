//! Tenants, and the applications registered with them.

pub mod applications;
pub mod enterprises;
mod fields;
pub mod model;
pub mod removal;
pub mod routes;
pub mod settings;
