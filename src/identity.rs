//! Basic identity types.

pub mod principals;
pub mod scopes;
pub mod tenant;
