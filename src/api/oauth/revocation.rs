//! `POST /oauth2/revoke` (RFC 7009).

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use secrecy::SecretString;
use serde::Deserialize;

use super::{TokenFailure, client::Asking, into_response, without_storing};
use crate::{
    app::App,
    auth::{
        applications,
        grants::{ClientCredentials, GrantError},
        revocations::Revocation,
    },
};

/// The form of a revocation. `token_type_hint` is ignored: there is one kind of token.
#[derive(Debug, Deserialize)]
struct RevocationRequest {
    token: Option<String>,
    client_id: Option<String>,
    client_secret: Option<SecretString>,
}

/// Makes a token worthless, at once. Only the application that it was issued to may; a token that is not known, or has
/// expired, is a success.
#[utoipa::path(
    post, path = "/oauth2/revoke", tag = "identity", security(()),
    request_body(content_type = "application/x-www-form-urlencoded", description =
        "`token`. The client authenticates as at the token endpoint; a public one gives its `client_id`.", content = String),
    responses(
        (status = 200, description = "The token is worthless; the body is empty"),
        (status = 400, description = "RFC 6749 §5.2: `token` is missing, or it was issued to another client", body = TokenFailure),
        (status = 401, description = "The client is not known or its secret is wrong", body = TokenFailure),
        (status = 408, description = "The form did not arrive in time", body = TokenFailure),
        (status = 413, description = "The form is larger than its limit", body = TokenFailure),
        (status = 429, description = "Too many failed proofs; `Retry-After` says when to come back", body = TokenFailure),
        (status = 503, description = "The server cannot take this now; `Retry-After` says when to come back", body = TokenFailure),
    )
)]
pub async fn revoke_token(State(app): State<Arc<App>>, request: Request) -> Response {
    match revoke(&app, request).await {
        Ok(()) => without_storing(StatusCode::OK.into_response()),
        Err(error) => into_response(error),
    }
}

async fn revoke(app: &App, request: Request) -> Result<(), GrantError> {
    let (asking, form) = Asking::read::<RevocationRequest>(app, request).await?;
    let RevocationRequest { token, client_id, client_secret } = form;
    asking.admit(app, client_id, client_secret, async |client| take_back(app, client, token).await).await
}

async fn take_back(app: &App, client: ClientCredentials, token: Option<String>) -> Result<(), GrantError> {
    let ClientCredentials { client_id, client_secret } = client;
    let (usage, checker) = (app.authenticator.usage(), &app.secret_checker);
    let application = applications::authenticate(&app.store, usage, checker, &client_id, client_secret).await;
    let application = application.map_err(GrantError::of_client)?;
    let token = token.ok_or_else(|| GrantError::InvalidRequest("token is missing".to_owned()))?;
    match app.authenticator.revoke(&application, &token).await? {
        Revocation::Done => Ok(()),
        Revocation::Foreign => {
            Err(GrantError::UnauthorizedClient("the token was issued to another client".to_owned()))
        }
    }
}
