//! Tenants, and the applications registered with them.

pub mod model;
