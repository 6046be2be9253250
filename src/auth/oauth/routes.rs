//! OAuth endpoints, without the envelope (book: reference/errors.md).

pub mod authorize;
mod client;
pub mod metadata;
mod page;
pub mod revocation;

use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use trawl_macros::operation;

use self::client::ClientRequest;

use crate::{
    auth::{
        AuthState,
        oauth::grants::{GrantError, Grants, TokenAnswer, TokenRequest},
    },
    error::{Error, ErrorKind},
    http::envelope::json,
};

/// A failure of RFC 6749 §5.2.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TokenFailure {
    /// Error code.
    error: &'static str,
    /// Description for developers.
    error_description: String,
}

/// Issues an access token by client credentials, token exchange or authorization code.
#[operation(
    identity, security(()),
    request_body(content_type = "application/x-www-form-urlencoded", description =
        "`grant_type` says which fields are needed: none for `client_credentials`; `subject_token` and \
         `subject_token_type` for a token exchange; `code`, `redirect_uri` and `code_verifier` for `authorization_code`. The client \
         authenticates by HTTP Basic, or by `client_id` and `client_secret` in the form; one that can keep no secret gives its \
         `client_id` alone.", content = TokenRequest),
    200 = "The token": TokenAnswer,
    400 = "RFC 6749 §5.2": TokenFailure,
    401 = "The client is not known or its secret is wrong": TokenFailure,
    408 = "The form did not arrive in time": TokenFailure,
    413 = "The form is larger than its limit": TokenFailure,
    429 = "Too many failed authentications; `Retry-After` says when to come back": TokenFailure,
    503 = "The server is unavailable; `Retry-After` says when to come back": TokenFailure,
)]
pub async fn issue_token(State(auth): State<AuthState>, request: Request) -> Response {
    match answer(&auth, request).await {
        Ok(answer) => without_storing(json(StatusCode::OK, &answer)),
        Err(error) => into_response(error),
    }
}

async fn answer(auth: &AuthState, request: Request) -> Result<TokenAnswer, GrantError> {
    let (asking, mut form) = ClientRequest::read::<TokenRequest>(auth, request).await?;
    let (client_id, client_secret) = (form.client_id.take(), form.client_secret.take());
    let grants = Grants { auth, asks: asking.asks() };
    asking.admit(auth, client_id, client_secret, async |client| grants.issue(client, &form).await).await
}

fn into_response(error: GrantError) -> Response {
    let (status, error, error_description) = match error {
        GrantError::Failed(error) => return failed(&error),
        GrantError::InvalidRequest(description) => (StatusCode::BAD_REQUEST, "invalid_request", description),
        GrantError::InvalidClient => (
            StatusCode::UNAUTHORIZED,
            "invalid_client",
            "the client is not known or its secret is wrong".to_owned(),
        ),
        GrantError::UnauthorizedClient(description) => {
            (StatusCode::BAD_REQUEST, "unauthorized_client", description)
        }
        GrantError::UnsupportedGrantType => (
            StatusCode::BAD_REQUEST,
            "unsupported_grant_type",
            "grant_type must be client_credentials, authorization_code or \
             urn:ietf:params:oauth:grant-type:token-exchange"
                .to_owned(),
        ),
        GrantError::InvalidGrant(description) => {
            (StatusCode::BAD_REQUEST, "invalid_grant", description.to_owned())
        }
        GrantError::InvalidScope(description) => (StatusCode::BAD_REQUEST, "invalid_scope", description),
    };
    let mut response = json(status, &TokenFailure { error, error_description });
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic"));
    }
    without_storing(response)
}

/// Clients read only the form of RFC 6749.
fn failed(failure: &Error) -> Response {
    failure.log();
    let error = match failure.kind {
        ErrorKind::Unavailable | ErrorKind::TooManyRequests => "temporarily_unavailable",
        ErrorKind::Internal => "server_error",
        _ => "invalid_request",
    };
    let status = failure.kind.status();
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(status, &TokenFailure { error, error_description: failure.message.clone() });
    if let Some(retry_after) = failure.retry_after_header() {
        response.headers_mut().insert(header::RETRY_AFTER, retry_after);
    }
    without_storing(response)
}

/// RFC 6749 §5.1.
fn without_storing(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn throttled_request_gets_retry_after() {
        let failure = Error::unavailable("too many at once", Duration::from_secs(3));
        let response = into_response(GrantError::Failed(failure));
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[header::RETRY_AFTER], "3");
        assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
        let body = axum::body::to_bytes(response.into_body(), 1_024).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let expected = serde_json::json!({
            "error": "temporarily_unavailable", "error_description": "too many at once",
        });
        assert_eq!(body, expected);
    }
}
