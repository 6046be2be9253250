//! Recovery codes, for those whose authenticator app is lost.
//!
//! Each has 120 random bits, so that a keyed hash is enough (OWASP ASVS 5.0, 6.5.2).

use aws_lc_rs::{hmac, rand};
use data_encoding::BASE32_NOPAD;
use secrecy::{ExposeSecret, SecretString};

use crate::{
    auth::secrets::{has_keyed_hash, keyed_hash},
    error::{Error, Result},
};

/// Codes made at once.
pub(super) const COUNT: usize = 10;

const BYTES: usize = 15;
/// Characters of a code without its hyphens.
const CHARS: usize = 24;
const GROUP_CHARS: usize = 4;

/// A typed recovery code without hyphens and spaces, if it can be one.
pub(super) struct RecoveryCode(SecretString);

impl RecoveryCode {
    /// A new random code.
    pub(super) fn generate() -> Result<Self> {
        let mut bytes = [0; BYTES];
        rand::fill(&mut bytes).map_err(|_| Error::internal("the system returned no random bytes"))?;
        Ok(Self(BASE32_NOPAD.encode(&bytes).to_ascii_lowercase().into()))
    }

    /// The code as it was typed, without what separates its groups.
    pub(super) fn read(text: &str) -> Option<Self> {
        let code: String = text
            .chars()
            .filter(|character| !character.is_whitespace() && *character != '-')
            .flat_map(char::to_lowercase)
            .take(CHARS + 1)
            .collect();
        (code.len() == CHARS).then(|| Self(code.into()))
    }

    /// In groups, as it is shown once.
    pub(super) fn shown(&self) -> String {
        let groups: Vec<_> = self.0.expose_secret().as_bytes().chunks(GROUP_CHARS).collect();
        groups.into_iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join("-")
    }

    /// Its hash, for one person.
    pub(super) fn hash(&self, key: &hmac::Key, context: &str) -> String {
        keyed_hash(key, &self.in_context(context))
    }

    /// The place of its hash among those of one person, in constant time.
    pub(super) fn find(&self, key: &hmac::Key, context: &str, hashes: &[String]) -> Option<usize> {
        let code = self.in_context(context);
        let places = hashes.iter().enumerate();
        places.fold(None, |found, (place, hash)| has_keyed_hash(key, &code, hash).then_some(place).or(found))
    }

    /// Tells it from client secrets, which have the same key.
    fn in_context(&self, context: &str) -> SecretString {
        format!("recovery code\0{context}\0{}", self.0.expose_secret()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_as_it_may_be_typed_and_for_its_person_alone() {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &[1; 32]);
        let codes = [RecoveryCode::generate().unwrap(), RecoveryCode::generate().unwrap()];
        let hashes: Vec<String> = codes.iter().map(|code| code.hash(&key, "7 mei")).collect();
        let shown = codes[1].shown();
        assert_eq!(shown.len(), CHARS + CHARS / GROUP_CHARS - 1, "{shown}");
        for typed in [shown.clone(), shown.to_uppercase(), shown.replace('-', " "), format!(" {shown}\n")] {
            let code = RecoveryCode::read(&typed).unwrap();
            assert_eq!(code.find(&key, "7 mei", &hashes), Some(1), "{typed}");
            assert_eq!(code.find(&key, "7 omar", &hashes), None);
            assert_eq!(code.find(&key, "7 mei", &hashes[..1]), None);
        }
        for wrong in ["", "123456", &shown[1..], &format!("{shown}a"), "éééééééééééééééééééééééé"]
        {
            assert!(RecoveryCode::read(wrong).is_none(), "{wrong}");
        }
    }
}
