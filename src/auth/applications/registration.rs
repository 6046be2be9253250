//! Registration: new applications, their credentials, and the checks of both.

use std::collections::HashSet;

use secrecy::{ExposeSecret, SecretString};
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::{Kind, LoginClient};
use crate::{
    auth::{keys::Keys, secrets},
    error::{Error, Result},
    identity::{
        scopes::{Scopes, TokenScope},
        tenant::check_code,
    },
    replicas,
    store::{Store, Transaction, now_millis, sql},
};

/// The input of `trawl app create`.
#[derive(Clone, Debug)]
pub struct NewApplication {
    /// Tenant code; created if missing.
    pub tenant: String,
    /// Kind.
    pub kind: Kind,
    /// Codes of a domain application's further tenants.
    pub bound: Vec<String>,
    /// Its scopes; `None` means all of its kind except `act-as-user`.
    pub scopes: Option<Scopes>,
    /// Display name.
    pub name: String,
    /// Browser login settings.
    pub login: LoginClient,
}

/// Credentials of a new application, shown once.
#[derive(Clone, Debug)]
pub struct ApplicationCredentials {
    /// Client id.
    pub client_id: String,
    /// Client secret.
    pub client_secret: SecretString,
    /// The key that signs callbacks to it.
    pub callback_key: SecretString,
    /// Scopes.
    pub scopes: Scopes,
    secret_hash: String,
    callback_key_sealed: Vec<u8>,
}

impl ApplicationCredentials {
    /// Creates credentials.
    ///
    /// # Errors
    /// 400 for an invalid tenant code, scope or binding.
    pub async fn generate(store: &Store, keys: &Keys, new: &NewApplication) -> Result<Self> {
        let scopes = check(new)?;
        let client_id = Uuid::new_v4().to_string();
        let (client_secret, secret_hash) = new_secret(store, keys).await?;
        let callback_key = secrets::generate()?;
        let callback_key_sealed = keys
            .secrets
            .seal(client_id.as_bytes(), callback_key.expose_secret().as_bytes())
            .map_err(Error::internal)?;
        Ok(Self { client_id, client_secret, callback_key, scopes, secret_hash, callback_key_sealed })
    }

    pub(in crate::auth) fn without_secret(keys: &Keys, client_id: &str, scopes: Scopes) -> Result<Self> {
        let callback_key = secrets::generate()?;
        let sealed = keys.secrets.seal(client_id.as_bytes(), callback_key.expose_secret().as_bytes());
        Ok(Self {
            client_id: client_id.to_owned(),
            client_secret: SecretString::default(),
            callback_key,
            scopes,
            secret_hash: String::new(),
            callback_key_sealed: sealed.map_err(Error::internal)?,
        })
    }
}

/// Makes a secret and its hash.
///
/// The hash is an Argon2id one while a replica of an earlier version runs, which checks no other.
pub async fn new_secret(store: &Store, keys: &Keys) -> Result<(SecretString, String)> {
    let secret = secrets::generate()?;
    let hash = if replicas::all_state(store, secrets::KEYED_HASHES).await? {
        secrets::keyed_hash(&keys.client_secrets, &secret)
    } else {
        let hashed = secret.clone();
        spawn_blocking(move || secrets::hash(&hashed)).await.map_err(Error::internal)??
    };
    Ok((secret, hash))
}

/// Stores a new application of this tenant.
pub async fn insert(
    transaction: &Transaction,
    tenant_id: i64,
    new: &NewApplication,
    credentials: &ApplicationCredentials,
) -> Result<()> {
    // Public applications have no secret to check.
    let secret_hash = if new.login.is_public { "" } else { &credentials.secret_hash };
    let statement = sql(
        "INSERT INTO applications \
         (client_id, tenant_id, kind, name, secret_hash, callback_key_sealed, scopes, bound, redirect_uris, is_public, \
          created_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            credentials.client_id.as_str().into(),
            tenant_id.into(),
            new.kind.as_str().into(),
            new.name.as_str().into(),
            secret_hash.into(),
            credentials.callback_key_sealed.clone().into(),
            serde_json::to_string(&credentials.scopes).map_err(Error::internal)?.into(),
            serde_json::to_string(&new.bound).map_err(Error::internal)?.into(),
            serde_json::to_string(&new.login.redirect_uris).map_err(Error::internal)?.into(),
            new.login.is_public.into(),
            now_millis().into(),
        ],
    );
    statement.execute(transaction).await?;
    Ok(())
}

fn check(new: &NewApplication) -> Result<Scopes> {
    check_code(&new.tenant).map_err(Error::bad_request)?;
    check_bound("bind", new.kind, &new.bound)?;
    let scopes = match &new.scopes {
        None => new.kind.possible_scopes().without(TokenScope::ActAsUser),
        Some(scopes) => {
            check_scopes("scope", new.kind, scopes)?;
            scopes.clone()
        }
    };
    // The name of the command line's flag.
    let named = |reason: String| Error::bad_request(reason.replacen("redirectUris", "redirect-uri", 1));
    new.login.check(new.kind, &scopes).map_err(named)?;
    Ok(scopes)
}

/// Limit per request; tenants it registers are added.
pub const MAX_BOUND: usize = 10_000;

/// Checks the bound tenants.
///
/// # Errors
/// 400 that names the field.
pub fn check_bound(field: &str, kind: Kind, bound: &[String]) -> Result<()> {
    let wrong = |reason: String| Err(Error::bad_request(reason));
    if !bound.is_empty() && kind != Kind::Domain {
        return wrong(format!(
            "{field}: only domain applications may be bound to tenants; this one is of kind {kind}"
        ));
    }
    if bound.len() > MAX_BOUND {
        return wrong(format!("{field}: must be at most {MAX_BOUND} tenant codes"));
    }
    let mut seen = HashSet::new();
    for (place, code) in bound.iter().enumerate() {
        check_code(code).map_err(|reason| Error::bad_request(format!("{field}[{place}]: {reason}")))?;
        if !seen.insert(code) {
            return wrong(format!("{field}[{place}]: is named twice"));
        }
    }
    Ok(())
}

/// Checks the scopes.
///
/// # Errors
/// 400 that names field and scope.
pub fn check_scopes(field: &str, kind: Kind, scopes: &Scopes) -> Result<()> {
    match scopes.first_outside(&kind.possible_scopes()) {
        Some(scope) => {
            Err(Error::bad_request(format!("{field}: an application of kind {kind} may not have {scope}")))
        }
        None => Ok(()),
    }
}
