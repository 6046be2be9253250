//! OAuth 2.0: grants, codes, revocation and routes (decisions 3.4).

pub mod authorization;
pub mod grants;
pub mod revocations;
pub mod routes;
