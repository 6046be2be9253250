//! What others need to use and to verify tokens: `/.well-known/oauth-authorization-server` (RFC 8414) and `/oauth2/jwks`
//! (RFC 7517). Neither is an envelope (decisions 2.1).
//!
//! Where `public_url` has a path, RFC 8414 §3.1 puts the well-known part before it
//! (`https://example.org/.well-known/oauth-authorization-server/search`): what leads there is the affair of the proxy, as
//! everything before the path is.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;

use crate::{api::envelope::json, app::App, auth::scopes::Scope};

/// For so long these may be kept: a new signing key is asked for by its `kid`, so nothing breaks meanwhile.
const CACHE_CONTROL: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// What an authorization server says of itself (RFC 8414 §2).
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Metadata {
    /// The address that tokens name as their issuer.
    issuer: String,
    /// Where a browser logs in.
    authorization_endpoint: String,
    /// Where tokens are issued.
    token_endpoint: String,
    /// Where they are revoked.
    revocation_endpoint: String,
    /// Where the keys are that verify them.
    jwks_uri: String,
    /// Every scope.
    scopes_supported: Vec<&'static str>,
    response_types_supported: [&'static str; 1],
    response_modes_supported: [&'static str; 1],
    grant_types_supported: [&'static str; 3],
    token_endpoint_auth_methods_supported: [&'static str; 3],
    revocation_endpoint_auth_methods_supported: [&'static str; 3],
    code_challenge_methods_supported: [&'static str; 1],
    /// Whether the answer of a login names the issuer (RFC 9207).
    authorization_response_iss_parameter_supported: bool,
    /// Where the interface is described.
    service_documentation: String,
}

/// What this authorization server offers, and where (RFC 8414).
#[utoipa::path(
    get, path = "/.well-known/oauth-authorization-server", tag = "identity", security(()),
    responses((status = 200, description = "The metadata", body = Metadata))
)]
pub async fn show_metadata(State(app): State<Arc<App>>) -> Response {
    let issuer = app.authenticator.tokens().issuer();
    let at = |path: &str| format!("{issuer}{path}");
    let methods = ["client_secret_basic", "client_secret_post", "none"];
    cacheable(json(
        StatusCode::OK,
        &Metadata {
            issuer: issuer.to_owned(),
            authorization_endpoint: at("/oauth2/authorize"),
            token_endpoint: at("/oauth2/token"),
            revocation_endpoint: at("/oauth2/revoke"),
            jwks_uri: at("/oauth2/jwks"),
            scopes_supported: Scope::ALL.map(Scope::as_str).to_vec(),
            response_types_supported: ["code"],
            response_modes_supported: ["query"],
            grant_types_supported: [
                "authorization_code",
                "client_credentials",
                "urn:ietf:params:oauth:grant-type:token-exchange",
            ],
            token_endpoint_auth_methods_supported: methods,
            revocation_endpoint_auth_methods_supported: methods,
            code_challenge_methods_supported: ["S256"],
            authorization_response_iss_parameter_supported: true,
            service_documentation: at("/docs"),
        },
    ))
}

/// The public keys that verify tokens, by `kid`: the one that signs, and those before it while tokens of theirs are good.
#[utoipa::path(
    get, path = "/oauth2/jwks", tag = "identity", security(()),
    responses((status = 200, description = "`{keys: [{kty, crv, x, y, kid, use, alg}]}`", body = serde_json::Value))
)]
pub async fn show_keys(State(app): State<Arc<App>>) -> Response {
    let keys = app.authenticator.tokens().public_keys();
    cacheable(json(StatusCode::OK, &serde_json::json!({ "keys": keys })))
}

fn cacheable(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, CACHE_CONTROL);
    response
}
