//! Basic identity types.

pub mod scopes;
pub mod tenant;
