//! Devices: what people use, and what their tokens may be bound to (decisions 9.7).

pub mod model;
mod repo;
pub mod routes;
