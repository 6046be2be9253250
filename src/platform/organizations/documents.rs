//! Departments as documents of the full-text index.

/// The module that departments are found in.
pub const DEPARTMENT: &str = "department";
