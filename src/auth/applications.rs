//! Applications: the systems that call trawl (book: explanation/security.md).

mod changes;
mod registration;

use std::{fmt, str::FromStr};

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::{
    AuthState,
    keys::Keys,
    oauth::authorization::redirect,
    secrets::{self, SecretCheckFor},
};
use crate::{
    error::{Error, Result},
    identity::scopes::{Scopes, TokenScope},
    replicas,
    store::{self, Connection, DatabaseError, FromRow, Store, Value, find_in, now_millis, sql},
};

pub(super) use self::changes::{set_epoch, set_redirect_uri};
pub use self::{
    changes::{bind, unbind},
    registration::{
        ApplicationCredentials, MAX_BOUND, NewApplication, check_bound, check_scopes, insert, new_secret,
    },
};

/// The kind of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Belongs to one tenant.
    Application,
    /// Bound to several tenants; `indicated-e-code` picks one.
    Domain,
    /// The operator: any tenant by `indicated-e-code`.
    Admin,
}

impl Kind {
    /// The scopes this kind may have.
    pub fn possible_scopes(self) -> Scopes {
        let all = TokenScope::ALL.into_iter();
        match self {
            Self::Application => {
                all.filter(|scope| !matches!(scope, TokenScope::Tenants | TokenScope::Admin)).collect()
            }
            Self::Domain => all.filter(|scope| *scope != TokenScope::Admin).collect(),
            Self::Admin => all.collect(),
        }
    }

    /// The kind's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Domain => "domain",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = DatabaseError;

    fn from_str(text: &str) -> store::Result<Self> {
        [Self::Application, Self::Domain, Self::Admin]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| DatabaseError::Decode(format!("applications.kind {text:?}").into()))
    }
}

/// Maximum redirect URIs of an application.
pub const MAX_REDIRECT_URIS: usize = 20;

/// Browser login settings of an application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoginClient {
    /// Allowed redirect URIs; without any, nobody signs in by it.
    pub redirect_uris: Vec<String>,
    /// Whether it is a public client: no secret, browser logins only.
    pub is_public: bool,
}

impl LoginClient {
    /// # Errors
    /// A message that names the field.
    pub fn check(&self, kind: Kind, scopes: &Scopes) -> Result<(), String> {
        self.check_public(kind, scopes)?;
        self.check_redirect_uris()
    }

    /// Checks kind and scopes of a public client.
    pub fn check_public(&self, kind: Kind, scopes: &Scopes) -> Result<(), String> {
        if self.is_public && kind != Kind::Application {
            return Err("public: only applications of kind application can be public".to_owned());
        }
        if self.is_public && scopes.allow(TokenScope::ActAsUser) {
            return Err("scopes: a public application may not have act-as-user".to_owned());
        }
        Ok(())
    }

    /// # Errors
    /// A message that names the field.
    pub fn check_redirect_uris(&self) -> Result<(), String> {
        if self.redirect_uris.len() > MAX_REDIRECT_URIS {
            return Err(format!("redirectUris: must be at most {MAX_REDIRECT_URIS} addresses"));
        }
        for (place, redirect_uri) in self.redirect_uris.iter().enumerate() {
            redirect::check(redirect_uri).map_err(|reason| format!("redirectUris[{place}]: {reason}"))?;
        }
        if self.is_public && self.redirect_uris.is_empty() {
            return Err("redirectUris: a public application needs at least one".to_owned());
        }
        Ok(())
    }
}

/// A registered application.
#[derive(Clone, Debug)]
pub struct Application {
    /// Client id.
    pub client_id: String,
    /// Own tenant's number.
    pub tenant_id: i64,
    /// Kind.
    pub kind: Kind,
    /// Scopes.
    pub scopes: Scopes,
    /// Codes of a domain application's further tenants.
    pub bound: Vec<String>,
    /// Display name.
    pub name: String,
    /// The Argon2id hash of its secret; empty without one.
    pub secret_hash: String,
    /// The previous secret's hash and end of validity, epoch milliseconds.
    pub previous_secret: Option<(String, i64)>,
    /// Invalidates tokens of earlier epochs.
    pub epoch: i64,
    /// Whether it gets no tokens and its tokens are invalid.
    pub is_disabled: bool,
    /// Whether its tenant is frozen.
    pub is_frozen: bool,
    /// Browser login settings.
    pub login: LoginClient,
}

impl Application {
    /// Whether its tenant's freeze locks it out, operators excepted.
    pub fn is_frozen_out(&self) -> bool {
        self.is_frozen && self.kind != Kind::Admin
    }
}

#[derive(FromRow)]
struct ClientRow {
    client_id: String,
    tenant_id: i64,
    kind: String,
    scopes: String,
    bound: String,
    name: String,
    secret_hash: String,
    previous_secret_hash: Option<String>,
    previous_secret_until: Option<i64>,
    epoch: i64,
    is_disabled: bool,
    is_frozen: bool,
    redirect_uris: String,
    is_public: bool,
}

impl TryFrom<ClientRow> for Application {
    type Error = DatabaseError;

    fn try_from(row: ClientRow) -> store::Result<Self> {
        let json = |error: serde_json::Error| DatabaseError::Decode(error.into());
        Ok(Self {
            kind: row.kind.parse()?,
            scopes: serde_json::from_str(&row.scopes).map_err(json)?,
            bound: serde_json::from_str(&row.bound).map_err(json)?,
            name: row.name,
            previous_secret: row.previous_secret_hash.zip(row.previous_secret_until),
            is_disabled: row.is_disabled,
            is_frozen: row.is_frozen,
            login: LoginClient {
                redirect_uris: serde_json::from_str(&row.redirect_uris).map_err(json)?,
                is_public: row.is_public,
            },
            client_id: row.client_id,
            tenant_id: row.tenant_id,
            secret_hash: row.secret_hash,
            epoch: row.epoch,
        })
    }
}

/// The application with this client id, unless its tenant is removed.
pub async fn find(connection: &Connection, client_id: &str) -> store::Result<Option<Application>> {
    sql(
        "SELECT client_id, tenant_id, kind, scopes, bound, applications.name, secret_hash, previous_secret_hash, previous_secret_until, epoch, \
           is_disabled, is_frozen, redirect_uris, is_public \
         FROM applications JOIN tenants ON tenants.id = tenant_id AND removed_at IS NULL WHERE client_id = ?",
        [client_id.into()],
    ).fetch_optional::<ClientRow>(connection)
    .await?
    .map(Application::try_from)
    .transpose()
}

/// Client ids, tenants and names of registered applications.
pub async fn find_names(
    connection: &Connection,
    client_ids: &[impl AsRef<str>],
) -> store::Result<Vec<(String, i64, String)>> {
    let text = "SELECT client_id, tenant_id, name FROM applications WHERE client_id";
    find_in(connection, text, &[], client_ids).await
}

/// Why an application was refused.
#[derive(Debug)]
pub enum ClientError {
    /// Unknown, wrong secret, or disabled.
    Unknown,
    /// Its tenant is frozen.
    Frozen,
    /// Another failure.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for ClientError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Authenticates by current or previous secret; a public client needs none. Records the use.
pub async fn authenticate(
    auth: &AuthState,
    asks: SecretCheckFor,
    client_id: &str,
    client_secret: Option<SecretString>,
) -> Result<Application, ClientError> {
    let application = find(auth.store.reader(), client_id).await?;
    let application = application.filter(|application| {
        !application.is_disabled && application.login.is_public == client_secret.is_none()
    });
    let application = application.ok_or(ClientError::Unknown)?;
    if let Some(secret) = client_secret
        && !has_secret(auth, asks, &application, secret).await?
    {
        return Err(ClientError::Unknown);
    }
    if application.is_frozen_out() {
        return Err(ClientError::Frozen);
    }
    auth.authenticator.usage().of(client_id).note();
    Ok(application)
}

/// Whether it is the current or previous secret.
///
/// The Argon2id hash of an earlier version is renewed.
async fn has_secret(
    auth: &AuthState,
    asks: SecretCheckFor,
    application: &Application,
    secret: SecretString,
) -> Result<bool> {
    let previous = application.previous_secret.as_ref().filter(|(_, until)| *until > now_millis());
    let hashes = [Some(&application.secret_hash), previous.map(|(hash, _)| hash)];
    let (keyed, old): (Vec<_>, Vec<_>) =
        hashes.into_iter().flatten().cloned().partition(|hash| secrets::is_keyed(hash));
    let key = &auth.keys.client_secrets;
    if keyed.iter().any(|hash| secrets::has_keyed_hash(key, &secret, hash)) {
        return Ok(true);
    }
    if old.is_empty() {
        return Ok(false);
    }
    let found =
        auth.secret_checker.find_hash(asks, application.client_id.clone(), secret.clone(), old).await?;
    if found.as_ref() == Some(&application.secret_hash)
        && let Err(error) = renew(&auth.store, application, secrets::keyed_hash(key, &secret)).await
    {
        tracing::warn!(%error, client_id = application.client_id, "the hash of a client secret was not renewed");
    }
    Ok(found.is_some())
}

/// Replaces the hash of the current secret by a keyed one.
///
/// It stays if the secret has changed, or a replica of an earlier version runs.
async fn renew(store: &Store, application: &Application, hash: String) -> Result<()> {
    if !replicas::all_state(store, secrets::KEYED_HASHES).await? {
        return Ok(());
    }
    let values = [hash, application.client_id.clone(), application.secret_hash.clone()];
    let job = store.write(move |transaction| {
        Box::pin(async move {
            let text = "UPDATE applications SET secret_hash = ? WHERE client_id = ? AND secret_hash = ?";
            sql(text, values.map(Value::from)).execute(transaction).await?;
            Ok(())
        })
    });
    job.await
}

/// The key that signs callbacks, unless the application is out of use.
///
/// # Errors
/// 500 for a wrong master key.
pub async fn find_callback_key(
    connection: &Connection,
    keys: &Keys,
    client_id: &str,
) -> Result<Option<SecretString>> {
    let statement = sql(
        "SELECT callback_key_sealed FROM applications \
         JOIN tenants ON tenants.id = tenant_id AND removed_at IS NULL WHERE client_id = ? AND NOT is_disabled",
        [client_id.into()],
    );
    let sealed: Option<Vec<u8>> = statement.fetch_optional_value(connection).await?;
    let Some(sealed) = sealed else { return Ok(None) };
    let key = keys.secrets.open(client_id.as_bytes(), &sealed).map_err(Error::internal)?;
    Ok(Some(SecretString::from(String::from_utf8(key).map_err(Error::internal)?)))
}
