//! Login by account and password.

use base64::{Engine, prelude::BASE64_STANDARD};
use md5::{Digest, Md5};
use secrecy::{ExposeSecret, SecretString};

use super::{
    directory::{Person, PersonDirectory},
    secrets::{SecretCheckFor, SecretChecker},
};
use crate::{error::Result, store::Store};

const LOGIN_CHARACTERS: usize = 256;

/// Base64 of the password's MD5, the directory's form.
pub fn digest(password: &SecretString) -> SecretString {
    BASE64_STANDARD.encode(Md5::digest(password.expose_secret().as_bytes())).into()
}

/// The result of a login.
#[derive(Debug)]
pub struct Login {
    /// The existing account named, for the log only.
    pub named: Option<String>,
    /// Person, if they may sign in.
    pub person: Option<Person>,
}

/// Checks account and password in constant time.
///
/// # Errors
/// 503 when too many checks wait.
pub async fn check(
    store: &Store,
    directory: &dyn PersonDirectory,
    (checker, asks): (&SecretChecker, SecretCheckFor),
    tenant_id: i64,
    login_id: &str,
    password: &SecretString,
) -> Result<Login> {
    let login_id = if login_id.chars().count() > LOGIN_CHARACTERS { "" } else { login_id };
    let row = directory.find_account(store.reader(), tenant_id, login_id).await?;
    let hash = row.as_ref().filter(|row| row.may_sign_in).and_then(|row| row.password_hash.clone());
    let is_proved = checker.check(asks, login_id.to_lowercase(), digest(password), hash).await?;
    Ok(Login {
        named: row.as_ref().map(|row| row.person.user_id.clone()),
        person: row.filter(|_| is_proved).map(|row| row.person),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_matches_the_digest_of_the_directory() {
        let digest = digest(&SecretString::from("password"));
        assert_eq!(digest.expose_secret(), "X03MO1qnZdYdgyfeuILPmQ==");
    }
}
