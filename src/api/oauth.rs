//! `POST /oauth2/token`, and the login page. They follow RFC 6749 and not the envelope (decisions 2.1, 3.1).

pub mod authorize;
mod page;

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use secrecy::SecretString;
use serde::Serialize;

use super::{
    address::client_address,
    envelope::json,
    extract::{check_content_type, read_body},
};
use crate::{
    app::App,
    auth::{
        attempts::{Account, TooMany},
        grants::{ClientCredentials, GrantError, Grants, TokenAnswer, TokenRequest},
    },
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

/// Issues an access token: client credentials, token exchange for a person, or the code of a person who signed in.
#[utoipa::path(
    post, path = "/oauth2/token", tag = "identity", security(()),
    request_body(content_type = "application/x-www-form-urlencoded", description =
        "`grant_type=client_credentials`, or `grant_type=urn:ietf:params:oauth:grant-type:token-exchange` with \
         `subject_token` and `subject_token_type=urn:trawl:params:oauth:token-type:login-id` (or `…:user-id`), or \
         `grant_type=authorization_code` with `code`, `redirect_uri` and `code_verifier`. The client authenticates by \
         HTTP Basic, or by `client_id` and `client_secret` in the form; one that can keep no secret gives its \
         `client_id` alone.", content = String),
    responses(
        (status = 200, description = "The token", body = TokenAnswer),
        (status = 400, description = "RFC 6749 §5.2", body = TokenFailure),
        (status = 401, description = "The client is not known or its secret is wrong", body = TokenFailure),
        (status = 408, description = "The form did not arrive in time", body = TokenFailure),
        (status = 413, description = "The form is larger than its limit", body = TokenFailure),
        (status = 429, description = "Too many failed proofs; `Retry-After` says when to come back", body = TokenFailure),
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
    let address = client_address(&request, &app.config.trusted_proxies)?;
    let headers = request.headers().clone();
    let body = read_body(request).await?;
    let mut form: TokenRequest = json::read_form(&body).map_err(GrantError::InvalidRequest)?;
    let client = client_credentials(&headers, &mut form);
    let account = client.as_ref().ok().map(|client| Account::client(&client.client_id));
    app.attempts.check_client(address, account).map_err(|TooMany(wait)| {
        GrantError::from(Error::too_many_requests(
            "too many failed proofs of a client; try again later",
            wait,
        ))
    })?;
    let answer = match client {
        Ok(client) => issue(app, address, client, &form).await,
        Err(error) => Err(error),
    };
    if let Err(GrantError::InvalidClient) = answer {
        app.attempts.client_failed(address, account);
        tracing::warn!(target: "trawl::audit", %address, "a client did not prove who it is");
    }
    answer
}

async fn issue(
    app: &App,
    address: IpAddr,
    client: ClientCredentials,
    form: &TokenRequest,
) -> Result<TokenAnswer, GrantError> {
    let has_secret = client.client_secret.is_some();
    let account = Account::client(&client.client_id);
    let App { store, authenticator, secret_checker: checker, codes, .. } = app;
    let answer = Grants { store, authenticator, checker, codes }.issue(client, form).await;
    // Who has no secret has proved nothing.
    if has_secret && !matches!(answer, Err(GrantError::InvalidClient | GrantError::Failed(_))) {
        app.attempts.succeeded(address, account);
    }
    answer
}

/// `client_secret_basic` or `client_secret_post`, never both (RFC 6749 §2.3); or a client id alone.
fn client_credentials(headers: &HeaderMap, form: &mut TokenRequest) -> Result<ClientCredentials, GrantError> {
    let (client_id, client_secret) = (form.client_id.take(), form.client_secret.take());
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        let client_id = client_id.ok_or(GrantError::InvalidClient)?;
        return Ok(ClientCredentials { client_id, client_secret });
    };
    if client_secret.is_some() {
        let twice = "the client authenticates in two ways at once";
        return Err(GrantError::InvalidRequest(twice.to_owned()));
    }
    let client = basic_credentials(value).ok_or(GrantError::InvalidClient)?;
    // Some clients say who they are in the form as well.
    if client_id.is_some_and(|client_id| client_id != client.client_id) {
        let other = "client_id is another one than the client authenticates as";
        return Err(GrantError::InvalidRequest(other.to_owned()));
    }
    Ok(client)
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
        client_secret: Some(SecretString::from(form_decoded(client_secret)?)),
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

/// A failure that RFC 6749 has no code for at this endpoint: in its form all the same, as its clients read no other.
fn failed(failure: &Error) -> Response {
    failure.log();
    let error = match failure.kind {
        Kind::Unavailable | Kind::TooManyRequests => "temporarily_unavailable",
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
