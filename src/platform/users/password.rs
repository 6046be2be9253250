//! MD5 digests, stored as Argon2id hashes (book: reference/directory.md).

use std::fmt;

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_STANDARD,
};
use secrecy::{ExposeSecret, SecretString};

use crate::store::ColumnType;

const DIGEST_BYTES: usize = 16;

/// Padding is optional.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Base64 of the digest, also of its hexadecimal digits. Errors omit it.
pub fn canonical(sent: &SecretString) -> Result<SecretString, String> {
    let decoded = LENIENT.decode(sent.expose_secret()).ok();
    let digest =
        decoded.and_then(|bytes| if bytes.len() == DIGEST_BYTES { Some(bytes) } else { from_hex(&bytes) });
    digest.map(|digest| SecretString::from(BASE64_STANDARD.encode(digest))).ok_or_else(|| {
        "password: must be the base64 of an MD5 digest, of its 16 bytes or of its 32 hexadecimal digits"
            .to_owned()
    })
}

fn from_hex(digits: &[u8]) -> Option<Vec<u8>> {
    if digits.len() != 2 * DIGEST_BYTES || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// PHC form, hidden in debug output.
#[derive(Clone, PartialEq, Eq, ColumnType)]
#[sqlx(transparent)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// Wraps a hash in PHC form.
    pub fn new(phc: String) -> Self {
        Self(phc)
    }

    /// PHC form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PasswordHash(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "5f4dcc3b5aa765d61d8327deb882cf99";
    const CANONICAL: &str = "X03MO1qnZdYdgyfeuILPmQ==";

    fn read(text: &str) -> Result<String, String> {
        canonical(&SecretString::from(text)).map(|password| password.expose_secret().to_owned())
    }

    #[test]
    fn accepted_forms_share_one_canonical_form() {
        for sent in [
            CANONICAL.to_owned(),
            CANONICAL.trim_end_matches('=').to_owned(),
            BASE64_STANDARD.encode(DIGEST),
            BASE64_STANDARD.encode(DIGEST.to_uppercase()),
        ] {
            assert_eq!(read(&sent).as_deref(), Ok(CANONICAL), "{sent}");
        }
    }

    #[test]
    fn invalid_password_is_refused_and_not_echoed() {
        for sent in
            ["secret", DIGEST, "X03MO1qnZdYdgyfeuILP", "????", &BASE64_STANDARD.encode("z".repeat(32))]
        {
            let reason = read(sent).unwrap_err();
            assert!(reason.starts_with("password:") && !reason.contains(sent), "{reason}");
        }
    }

    #[test]
    fn debug_output_hides_hash() {
        assert_eq!(format!("{:?}", PasswordHash::new("$argon2id$x".to_owned())), "PasswordHash(..)");
    }
}
