//! `/admin/v1/signing_keys` (book: how-to/operate.md).

use std::sync::Arc;

use axum::extract::State;
use trawl_macros::operation;

use crate::{
    audit::Actor,
    auth::{AuthState, extract::Identified, signing_keys::SigningKeyInfo},
    error::Result,
    http::envelope::Envelope,
};

/// Lists the keys that verify tokens, the signing one first.
#[operation(admin, 200 = "The keys, without their private parts")]
pub async fn list_signing_keys(
    State(auth): State<AuthState>,
    Identified(_caller): Identified,
) -> Result<Envelope<Vec<SigningKeyInfo>>> {
    Ok(Envelope::list(auth.authenticator.tokens().describe_keys().await?))
}

/// Rotates the signing key; the old one verifies until its last token expires.
#[operation(admin, 200 = "The new key", 409 = "There are too many signing keys already")]
pub async fn rotate_signing_key(
    State(auth): State<AuthState>,
    Identified(caller): Identified,
) -> Result<Envelope<SigningKeyInfo>> {
    let tokens = auth.authenticator.tokens();
    Ok(Envelope::of(tokens.rotate_key(Actor::caller(&caller), Arc::clone(&caller.tenant)).await?))
}
