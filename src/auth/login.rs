//! A person's own proof of who he is: login account and password, at the login page (decisions 3.4 b, 3.7).

use base64::{Engine, prelude::BASE64_STANDARD};
use md5::{Digest, Md5};
use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};
use secrecy::{ExposeSecret, SecretString};

use super::{directory::Person, secrets::SecretChecker};
use crate::{
    error::Result,
    store::{Store, sql},
};

/// The longest login account that is looked for, in characters.
const LOGIN_CHARACTERS: usize = 256;

/// What the directory receives of a password, and what is kept as an Argon2id hash: base64 of its MD5 digest.
pub fn digest(password: &SecretString) -> SecretString {
    BASE64_STANDARD.encode(Md5::digest(password.expose_secret().as_bytes())).into()
}

/// What came of a login.
#[derive(Debug)]
pub struct Login {
    /// Whom the login account names, whether he may sign in or not; for the log alone.
    pub named: Option<String>,
    /// Who he is, if the password is his and he may sign in.
    pub person: Option<Person>,
}

#[derive(FromQueryResult)]
struct Row {
    #[sea_orm(nested)]
    person: Person,
    password_hash: Option<String>,
    may_sign_in: bool,
}

/// Checks login account and password in a tenant. Whatever is wrong takes the same time and comes to the same.
///
/// # Errors
/// 503 when too many checks wait already.
pub async fn check(
    store: &Store,
    checker: &SecretChecker,
    tenant_id: i64,
    login_id: &str,
    password: &SecretString,
) -> Result<Login> {
    let login_id = if login_id.chars().count() > LOGIN_CHARACTERS { "" } else { login_id };
    let row = find(store.reader(), tenant_id, login_id).await?;
    let hash = row.as_ref().filter(|row| row.may_sign_in).and_then(|row| row.password_hash.clone());
    let is_proved = checker.check(digest(password), hash).await?;
    Ok(Login {
        named: row.as_ref().map(|row| row.person.user_id.clone()),
        person: row.filter(|_| is_proved).map(|row| row.person),
    })
}

/// Someone who was deleted has freed his login, so it names none but who has it now.
async fn find<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    login_id: &str,
) -> Result<Option<Row>, DbErr> {
    Row::find_by_statement(sql(
        "SELECT user_id, login_id, name, org_id, deputy_org_ids, epoch, password_hash, status = 1 AS may_sign_in \
         FROM users WHERE tenant_id = ? AND login_id = ? AND is_deleted = 0",
        [tenant_id.into(), login_id.into()],
    ))
    .one(connection)
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_known_by_the_digest_that_the_directory_receives() {
        let digest = digest(&SecretString::from("password"));
        assert_eq!(digest.expose_secret(), "X03MO1qnZdYdgyfeuILPmQ==");
    }
}
