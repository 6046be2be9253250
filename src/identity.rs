//! Basic identity types.

pub mod frozen;
pub mod principals;
pub mod scopes;
pub mod tenant;
