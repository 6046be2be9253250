//! Authorization server metadata (RFC 8414) and keys (RFC 7517).
//!
//! Neither uses the envelope. If `public_url` has a path, the proxy must route the well-known part before it (RFC
//! 8414 §3.1).

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use trawl_macros::operation;

use crate::{auth::AuthState, http::envelope::json, identity::scopes::TokenScope};

/// Unknown keys are looked up by `kid`.
const CACHE_CONTROL: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// Authorization server metadata (RFC 8414 §2).
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Metadata {
    /// Issuer named in tokens.
    issuer: String,
    /// Login page.
    authorization_endpoint: String,
    /// Token endpoint.
    token_endpoint: String,
    /// Revocation endpoint.
    revocation_endpoint: String,
    /// Address of the verification keys.
    jwks_uri: String,
    /// Every scope.
    scopes_supported: Vec<&'static str>,
    response_types_supported: [&'static str; 1],
    response_modes_supported: [&'static str; 1],
    grant_types_supported: [&'static str; 3],
    token_endpoint_auth_methods_supported: [&'static str; 3],
    revocation_endpoint_auth_methods_supported: [&'static str; 3],
    code_challenge_methods_supported: [&'static str; 1],
    /// RFC 9207.
    authorization_response_iss_parameter_supported: bool,
    /// Address of the interface description.
    service_documentation: String,
}

/// Returns the authorization server metadata (RFC 8414).
#[operation(identity, security(()), 200 = "The metadata": Metadata)]
pub async fn show_metadata(State(auth): State<AuthState>) -> Response {
    let issuer = auth.authenticator.tokens().issuer();
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
            scopes_supported: TokenScope::ALL.map(TokenScope::as_str).to_vec(),
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

/// Public keys (RFC 7517 §5).
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only described")]
struct KeySet {
    /// The keys that verify tokens.
    keys: Vec<PublicKey>,
}

/// A public key on a curve (RFC 7517, RFC 7518 §6.2).
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only described")]
struct PublicKey {
    /// Key type, such as `EC`.
    kty: String,
    /// Curve.
    crv: String,
    /// Coordinate.
    x: String,
    /// Coordinate; absent where the curve needs one alone.
    y: Option<String>,
    /// Id, as in the header of tokens.
    kid: String,
    /// `sig`.
    r#use: String,
    /// Algorithm, such as `ES256`.
    alg: String,
}

/// Returns the keys that verify tokens, by `kid`.
#[operation(identity, security(()), 200 = "The keys": KeySet)]
pub async fn show_keys(State(auth): State<AuthState>) -> crate::error::Result<Response> {
    let keys = auth.authenticator.tokens().public_keys().await?;
    Ok(cacheable(json(StatusCode::OK, &serde_json::json!({ "keys": keys }))))
}

fn cacheable(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, CACHE_CONTROL);
    response
}
