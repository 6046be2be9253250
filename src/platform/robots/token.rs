//! Robot tokens, stored as a digest only.

use aws_lc_rs::digest::{SHA256, digest};
use secrecy::{ExposeSecret, SecretString};

use crate::{auth::secrets, error::Result};

/// 32 bytes in URL-safe base64.
const TOKEN_CHARACTERS: usize = 43;

pub(super) fn generate() -> Result<(SecretString, TokenDigest)> {
    let token = secrets::generate()?;
    let digest = TokenDigest::new(&token);
    Ok((token, digest))
}

/// SHA-256; 256 random bits need no slow hash or throttle.
#[derive(Clone)]
pub(super) struct TokenDigest(Vec<u8>);

impl TokenDigest {
    /// `None` for a malformed token.
    pub(super) fn of(token: &SecretString) -> Option<Self> {
        let text = token.expose_secret();
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (text.len() == TOKEN_CHARACTERS && text.bytes().all(is_fit)).then(|| Self::new(token))
    }

    fn new(token: &SecretString) -> Self {
        Self(digest(&SHA256, token.expose_secret().as_bytes()).as_ref().to_vec())
    }
}

impl From<&TokenDigest> for crate::store::Value {
    fn from(digest: &TokenDigest) -> Self {
        digest.0.clone().into()
    }
}
