//! What a robot's webhook is called with: who has it writes into the group, so it is shown once and kept as its digest alone.

use aws_lc_rs::digest::{SHA256, digest};
use secrecy::{ExposeSecret, SecretString};

use crate::{auth::secrets, error::Result};

/// Characters of a token: 32 bytes in URL-safe base64.
const TOKEN_CHARACTERS: usize = 43;

/// A new token, and what is kept of it.
pub(super) fn generate() -> Result<(SecretString, Digest)> {
    let token = secrets::generate()?;
    let digest = Digest::new(&token);
    Ok((token, digest))
}

/// The SHA-256 of a token. A token is 256 random bits, so that nothing slower is needed, nor a bound on how often tokens are
/// tried: a try that could be one costs a look at an index, and none of them ever finds one.
#[derive(Clone)]
pub(super) struct Digest(Vec<u8>);

impl Digest {
    /// The digest of what somebody says is a token; `None` where it cannot be one.
    pub(super) fn of(token: &SecretString) -> Option<Self> {
        let text = token.expose_secret();
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (text.len() == TOKEN_CHARACTERS && text.bytes().all(is_fit)).then(|| Self::new(token))
    }

    fn new(token: &SecretString) -> Self {
        Self(digest(&SHA256, token.expose_secret().as_bytes()).as_ref().to_vec())
    }
}

impl From<&Digest> for sea_orm::Value {
    fn from(digest: &Digest) -> Self {
        digest.0.clone().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_digest_and_nothing_else_is_looked_for() {
        let (token, digest) = generate().unwrap();
        assert_eq!(Digest::of(&token).unwrap().0, digest.0);
        assert_eq!(digest.0.len(), 32);
        let text = token.expose_secret();
        for other in [String::new(), text[1..].to_owned(), format!("{text}x"), format!("{}é", &text[2..])] {
            assert!(Digest::of(&other.into()).is_none());
        }
        assert_ne!(Digest::of(&generate().unwrap().0).unwrap().0, digest.0);
    }
}
