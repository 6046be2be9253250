//! Lookups for other areas.

pub use super::repo::{find_binding, is_bound};
