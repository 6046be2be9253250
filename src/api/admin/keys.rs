//! `/admin/v1/signing_keys` (decisions 3.1).

use std::sync::Arc;

use axum::extract::State;

use crate::{
    api::{
        envelope::{Envelope, FailureEnvelope, Refusals},
        extract::Identified,
    },
    app::App,
    audit::Actor,
    auth::signing_keys::SigningKeyInfo,
    error::Result,
};

/// The keys that verify tokens of this server: the one that signs first, then the ones before it.
#[utoipa::path(get, path = "/admin/v1/signing_keys", tag = "admin", responses(
    (status = 200, description = "The keys, without what signs", body = Envelope<Vec<SigningKeyInfo>>),
    Refusals,
))]
pub async fn list_signing_keys(
    State(app): State<Arc<App>>,
    Identified(_caller): Identified,
) -> Envelope<Vec<SigningKeyInfo>> {
    Envelope::list(app.authenticator.tokens().describe_keys())
}

/// Has a new key sign tokens from now on. The one before verifies until the last token that it signed has expired.
#[utoipa::path(
    post, path = "/admin/v1/signing_keys", tag = "admin",
    responses(
        (status = 200, description = "The new key", body = Envelope<SigningKeyInfo>),
        Refusals,
        (status = 409, description = "Too many keys are kept already", body = FailureEnvelope),
    )
)]
pub async fn rotate_signing_key(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
) -> Result<Envelope<SigningKeyInfo>> {
    let tokens = app.authenticator.tokens();
    Ok(Envelope::of(tokens.rotate_key(Actor::caller(&caller), Arc::clone(&caller.tenant)).await?))
}
