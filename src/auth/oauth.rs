//! OAuth 2.0: grants, codes, revocation and routes (book: how-to/sign-in.md).

pub mod authorization;
pub mod grants;
pub mod revocations;
pub mod routes;
