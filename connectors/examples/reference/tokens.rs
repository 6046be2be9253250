//! A token endpoint for OAuth 2.0 client credentials, in memory. In practice this is the authorization
//! server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Form, State, rejection::FormRejection};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing::post};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

/// The client id. Id and secret need no encoding by RFC 6749 §2.3.1.
pub(crate) const CLIENT_ID: &str = "reference";
/// A demonstration secret, known to everyone.
pub(crate) const CLIENT_SECRET: &str = include_str!("demo-secret.txt").trim_ascii();
/// Scopes of the client.
const SCOPES: [&str; 2] = ["search", "profile"];
/// Life of a token.
const LIFE: Duration = Duration::from_hours(1);

/// Issued tokens; clones share them.
#[derive(Clone, Default)]
pub(crate) struct IssuedTokens {
    issued: Arc<Mutex<HashMap<String, Grant>>>,
}

struct Grant {
    scopes: Vec<String>,
    expires_at: Instant,
}

/// Why a request is refused (RFC 6750 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BearerError {
    NoToken,
    /// The token is unknown or expired.
    InvalidToken,
    /// The token lacks the scope.
    InsufficientScope,
}

impl IssuedTokens {
    pub(crate) fn issue(&self, scopes: Vec<String>) -> String {
        let (token, now) = (Uuid::new_v4().to_string(), Instant::now());
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        issued.retain(|_, grant| now < grant.expires_at);
        issued.insert(token.clone(), Grant { scopes, expires_at: now + LIFE });
        token
    }

    /// Checks the request's token for `scope`.
    pub(crate) fn check(&self, headers: &HeaderMap, scope: &str) -> Result<(), BearerError> {
        let token = credentials(headers, "Bearer").ok_or(BearerError::NoToken)?;
        let issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        let grant = issued.get(token).filter(|grant| Instant::now() < grant.expires_at);
        let scopes = &grant.ok_or(BearerError::InvalidToken)?.scopes;
        if scopes.iter().any(|granted| granted == scope) {
            Ok(())
        } else {
            Err(BearerError::InsufficientScope)
        }
    }
}

impl BearerError {
    /// 401 if another token would help, 403 if only other rights would.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::NoToken | Self::InvalidToken => StatusCode::UNAUTHORIZED,
            Self::InsufficientScope => StatusCode::FORBIDDEN,
        }
    }

    pub(crate) fn challenge(self) -> &'static str {
        match self {
            Self::NoToken => "Bearer",
            Self::InvalidToken => r#"Bearer error="invalid_token""#,
            Self::InsufficientScope => r#"Bearer error="insufficient_scope""#,
        }
    }
}

/// Credentials after `scheme` in `Authorization`.
fn credentials<'a>(headers: &'a HeaderMap, scheme: &str) -> Option<&'a str> {
    let (given, credentials) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    given.eq_ignore_ascii_case(scheme).then_some(credentials)
}

pub(crate) fn router(tokens: IssuedTokens) -> Router {
    Router::new().route("/token", post(issue_token)).with_state(tokens)
}

#[derive(Deserialize)]
struct TokenRequest {
    #[serde(default)]
    grant_type: String,
    scope: Option<String>,
    client_id: Option<String>,
    client_secret: Option<String>,
}

async fn issue_token(
    State(tokens): State<IssuedTokens>,
    headers: HeaderMap,
    request: Result<Form<TokenRequest>, FormRejection>,
) -> Response {
    let Ok(Form(request)) = request else { return refuse(StatusCode::BAD_REQUEST, "invalid_request") };
    if !is_the_client(&headers, &request) {
        return refuse(StatusCode::UNAUTHORIZED, "invalid_client");
    }
    if request.grant_type != "client_credentials" {
        return refuse(StatusCode::BAD_REQUEST, "unsupported_grant_type");
    }
    // The client gets all of its own scopes if it names none.
    let scope = request.scope.filter(|scope| !scope.is_empty()).unwrap_or_else(|| SCOPES.join(" "));
    let scopes: Vec<String> = scope.split(' ').map(str::to_owned).collect();
    if !scopes.iter().all(|scope| SCOPES.contains(&scope.as_str())) {
        return refuse(StatusCode::BAD_REQUEST, "invalid_scope");
    }
    let answer = json!({
        "access_token": tokens.issue(scopes), "token_type": "Bearer", "expires_in": LIFE.as_secs(), "scope": scope,
    });
    ([(header::CACHE_CONTROL, "no-store")], Json(answer)).into_response()
}

/// Whether the client is proved, by `client_secret_basic` or `client_secret_post`.
fn is_the_client(headers: &HeaderMap, request: &TokenRequest) -> bool {
    let basic = credentials(headers, "Basic").and_then(|text| BASE64_STANDARD.decode(text).ok());
    match basic.as_deref().map(String::from_utf8_lossy) {
        Some(basic) => basic.split_once(':') == Some((CLIENT_ID, CLIENT_SECRET)),
        None => {
            request.client_id.as_deref() == Some(CLIENT_ID)
                && request.client_secret.as_deref() == Some(CLIENT_SECRET)
        }
    }
}

fn refuse(status: StatusCode, error: &str) -> Response {
    let mut response = (status, Json(json!({"error": error}))).into_response();
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic"));
    }
    response
}
