//! Basic identity types.

pub mod frozen;
pub mod logins;
pub mod principals;
pub mod scopes;
pub mod tenant;
