//! People as documents of the full-text index.

/// The module that people are found in.
pub const PEOPLE: &str = "people";
