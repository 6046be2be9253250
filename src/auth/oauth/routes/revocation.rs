//! `POST /oauth2/revoke` (RFC 7009).

use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use secrecy::SecretString;
use serde::Deserialize;
use trawl_macros::operation;

use super::{TokenFailure, client::ClientRequest, into_response, without_storing};
use crate::auth::{
    AuthState, applications,
    oauth::{
        grants::{ClientAuthentication, GrantError},
        revocations::Revocation,
    },
    secrets::SecretCheckFor,
};

/// The form of a revocation; `token_type_hint` is ignored.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
struct RevocationRequest {
    /// The token.
    #[schema(value_type = String)]
    token: Option<String>,
    /// The client, unless it authenticates by HTTP Basic.
    client_id: Option<String>,
    /// The client's secret, unless it authenticates by HTTP Basic or can keep none.
    #[schema(value_type = Option<String>)]
    client_secret: Option<SecretString>,
}

/// Revokes a token; only its application may, and unknown tokens succeed.
#[operation(
    identity, security(()),
    request_body(content_type = "application/x-www-form-urlencoded", description =
        "The client authenticates as at the token endpoint; a public one gives its `client_id`.", content = RevocationRequest),
    200 = "The token is revoked; the body is empty": (),
    400 = "RFC 6749 §5.2: `token` is missing, or it was issued to another client": TokenFailure,
    401 = "The client is not known or its secret is wrong": TokenFailure,
    408 = "The form did not arrive in time": TokenFailure,
    413 = "The form is larger than its limit": TokenFailure,
    429 = "Too many failed authentications; `Retry-After` says when to come back": TokenFailure,
    503 = "The server is unavailable; `Retry-After` says when to come back": TokenFailure,
)]
pub async fn revoke_token(State(auth): State<AuthState>, request: Request) -> Response {
    match revoke(&auth, request).await {
        Ok(()) => without_storing(StatusCode::OK.into_response()),
        Err(error) => into_response(error),
    }
}

async fn revoke(auth: &AuthState, request: Request) -> Result<(), GrantError> {
    let (asking, form) = ClientRequest::read::<RevocationRequest>(auth, request).await?;
    let RevocationRequest { token, client_id, client_secret } = form;
    let asks = asking.asks();
    asking
        .admit(auth, client_id, client_secret, async |client| take_back(auth, asks, client, token).await)
        .await
}

async fn take_back(
    auth: &AuthState,
    asks: SecretCheckFor,
    client: ClientAuthentication,
    token: Option<String>,
) -> Result<(), GrantError> {
    let ClientAuthentication { client_id, client_secret } = client;
    let application = applications::authenticate(auth, asks, &client_id, client_secret).await;
    let application = application.map_err(GrantError::from_client)?;
    let token = token.ok_or_else(|| GrantError::InvalidRequest("token is missing".to_owned()))?;
    match auth.authenticator.revoke(&application, &token).await? {
        Revocation::Done => Ok(()),
        Revocation::Foreign => {
            Err(GrantError::UnauthorizedClient("the token was issued to another client".to_owned()))
        }
    }
}
