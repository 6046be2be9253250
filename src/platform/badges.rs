//! A tenant's badges: applications keep them, everybody reads them (specification, "Badges"; decisions 9.2).

mod model;
mod repo;
pub mod routes;
