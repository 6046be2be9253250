//! Applications, people, their tokens, sessions and secrets (book: explanation/security.md).

pub mod applications;
pub mod assertions;
pub mod caller;
pub mod credential;
pub mod directory;
pub mod extract;
pub mod issuers;
pub mod keys;
pub mod login;
pub mod oauth;
pub mod revoked_tokens;
pub mod second_factor;
pub mod secrets;
pub mod sessions;
pub mod signing_keys;
pub mod tenants;
pub mod throttle;
pub mod tokens;
pub mod usage;

use std::sync::Arc;

use ipnet::IpNet;

use crate::{
    auth::{caller::Authenticator, keys::Keys, secrets::SecretChecker, throttle::LoginThrottle},
    store::Store,
};

/// State of the OAuth and session routes.
#[derive(Clone)]
pub struct AuthState {
    pub(crate) store: Store,
    pub(crate) keys: Arc<Keys>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) secret_checker: SecretChecker,
    pub(crate) throttle: Arc<LoginThrottle>,
    pub(crate) public_url: Arc<str>,
    pub(crate) trusted_proxies: Arc<[IpNet]>,
    pub(crate) usual_tenant: Arc<str>,
}
