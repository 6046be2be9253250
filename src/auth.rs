//! Who is calling: applications and people, their tokens, and the secrets behind them (decisions 3).

pub mod applications;
pub mod attempts;
pub mod authorization;
pub mod caller;
pub mod directory;
pub mod grants;
pub mod issuers;
pub mod keys;
pub mod login;
pub mod revocations;
pub mod scopes;
pub mod secrets;
pub mod sessions;
pub mod signing_keys;
pub mod tenants;
pub mod tokens;
pub mod usage;
