//! Work status: whether a person is on leave, in codes of the organisation's own (`01` is on leave).

pub mod model;
mod repo;
pub mod routes;
