//! Sources that learn for whom they are called.

mod searches;
mod tokens;
mod variables;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::Value;

/// The claims of a JWT, whose signature is not verified.
fn claims(token: &str) -> Value {
    let claims = token.split('.').nth(1).and_then(|part| BASE64_URL_SAFE_NO_PAD.decode(part).ok());
    claims.and_then(|claims| serde_json::from_slice(&claims).ok()).unwrap_or_default()
}
