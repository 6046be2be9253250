//! Passwords of databases, sealed for their subscription and tenant.

use secrecy::{ExposeSecret, SecretString};

use crate::auth::keys::{CannotOpen, SealingKey};

fn context(tenant_id: i64, id: &str) -> Vec<u8> {
    format!("subscription:{tenant_id}:{id}").into_bytes()
}

/// Seals a password.
pub(super) fn seal(
    key: &SealingKey,
    tenant_id: i64,
    id: &str,
    password: &SecretString,
) -> Result<Vec<u8>, CannotOpen> {
    key.seal(&context(tenant_id, id), password.expose_secret().as_bytes())
}

/// Opens a password, if there is one.
pub(super) fn open(
    key: &SealingKey,
    tenant_id: i64,
    id: &str,
    sealed: Option<&[u8]>,
) -> Result<Option<SecretString>, CannotOpen> {
    let Some(sealed) = sealed else { return Ok(None) };
    let opened = key.open(&context(tenant_id, id), sealed)?;
    String::from_utf8(opened).map(|text| Some(text.into())).map_err(|_| CannotOpen)
}
