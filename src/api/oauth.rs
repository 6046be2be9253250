//! `POST /oauth2/token`. It alone follows RFC 6749 and not the envelope (decisions 3.1).

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use secrecy::SecretString;
use serde::Serialize;

use super::{
    envelope::json,
    extract::{check_content_type, read_body},
};
use crate::{
    app::App,
    auth::grants::{self, ClientCredentials, GrantError, TokenAnswer, TokenRequest},
    error::{Error, Kind},
    json,
};

/// A failure as RFC 6749 §5.2 has it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TokenFailure {
    /// The error code.
    error: &'static str,
    /// What is wrong, for the client's developer.
    error_description: String,
}

/// Issues an access token: client credentials, or token exchange for a person.
#[utoipa::path(
    post, path = "/oauth2/token", tag = "identity", security(()),
    request_body(content_type = "application/x-www-form-urlencoded", description =
        "`grant_type=client_credentials`, or `grant_type=urn:ietf:params:oauth:grant-type:token-exchange` with \
         `subject_token` and `subject_token_type=urn:trawl:params:oauth:token-type:login-id` (or `…:user-id`). The \
         client authenticates by HTTP Basic, or by `client_id` and `client_secret` in the form.", content = String),
    responses(
        (status = 200, description = "The token", body = TokenAnswer),
        (status = 400, description = "RFC 6749 §5.2", body = TokenFailure),
        (status = 401, description = "The client is not known or its secret is wrong", body = TokenFailure),
        (status = 408, description = "The form did not arrive in time", body = TokenFailure),
        (status = 413, description = "The form is larger than its limit", body = TokenFailure),
        (status = 503, description = "The server cannot take this now; `Retry-After` says when to come back", body = TokenFailure),
    )
)]
pub async fn issue_token(State(app): State<Arc<App>>, request: Request) -> Response {
    match answer(&app, request).await {
        Ok(answer) => without_storing(json(StatusCode::OK, &answer)),
        Err(error) => into_response(error),
    }
}

async fn answer(app: &App, request: Request) -> Result<TokenAnswer, GrantError> {
    check_content_type(request.headers(), "application/x-www-form-urlencoded")
        .map_err(|error| GrantError::InvalidRequest(error.message))?;
    let headers = request.headers().clone();
    let body = read_body(request).await?;
    let mut form: TokenRequest = json::read_form(&body).map_err(GrantError::InvalidRequest)?;
    let client = client_credentials(&headers, &mut form)?;
    grants::issue(&app.store, &app.authenticator, &app.secret_checker, client, &form).await
}

/// `client_secret_basic` or `client_secret_post`, never both (RFC 6749 §2.3).
fn client_credentials(headers: &HeaderMap, form: &mut TokenRequest) -> Result<ClientCredentials, GrantError> {
    let posted = form.client_id.take().zip(form.client_secret.take());
    match (headers.get(header::AUTHORIZATION), posted) {
        (Some(_), Some(_)) => {
            Err(GrantError::InvalidRequest("the client authenticates in two ways at once".to_owned()))
        }
        (None, Some((client_id, client_secret))) => Ok(ClientCredentials { client_id, client_secret }),
        (Some(value), None) => basic_credentials(value).ok_or(GrantError::InvalidClient),
        (None, None) => Err(GrantError::InvalidClient),
    }
}

fn basic_credentials(value: &HeaderValue) -> Option<ClientCredentials> {
    let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(BASE64_STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (client_id, client_secret) = decoded.split_once(':')?;
    // Both are form-encoded before they are joined (RFC 6749 §2.3.1).
    let form_decoded = |text: &str| {
        let pair = format!("v={text}");
        url::form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned())
    };
    Some(ClientCredentials {
        client_id: form_decoded(client_id)?,
        client_secret: SecretString::from(form_decoded(client_secret)?),
    })
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
            "grant_type must be client_credentials or urn:ietf:params:oauth:grant-type:token-exchange"
                .to_owned(),
        ),
        GrantError::InvalidScope(description) => (StatusCode::BAD_REQUEST, "invalid_scope", description),
    };
    let mut response = json(status, &TokenFailure { error, error_description });
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic"));
    }
    without_storing(response)
}

/// A failure that RFC 6749 has no code for at this endpoint: in its form all the same, as its clients read no other.
fn failed(failure: &Error) -> Response {
    failure.log();
    let error = match failure.kind {
        Kind::Unavailable => "temporarily_unavailable",
        Kind::Internal => "server_error",
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

/// Neither tokens nor refusals are to be kept by anything on the way (RFC 6749 §5.1).
fn without_storing(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn what_cannot_be_taken_now_says_when_to_come_back() {
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
