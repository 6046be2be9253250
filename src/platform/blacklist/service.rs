//! Blacklist lookups for other areas.

pub use super::repo::listers_among;
