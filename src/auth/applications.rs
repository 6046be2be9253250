//! Applications: the systems that call trawl (decisions 3.1–3.3).

use std::{collections::HashSet, fmt, str::FromStr};

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    keys::Keys,
    oauth::authorization::redirect,
    secrets::{self, SecretChecker},
    usage::Usage,
};
use crate::{
    error::{Error, Result},
    identity::scopes::{Scope, Scopes},
    identity::tenant::check_code,
    store::{self, Connection, DatabaseError, FromRow, Json, Store, Transaction, Value, now_millis, sql},
};

/// The kind of an application (decisions 3.2).
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
        let all = Scope::ALL.into_iter();
        match self {
            Self::Application => {
                all.filter(|scope| !matches!(scope, Scope::Tenants | Scope::Admin)).collect()
            }
            Self::Domain => all.filter(|scope| *scope != Scope::Admin).collect(),
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

const MOST_REDIRECT_URIS: usize = 20;

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
        if self.is_public && scopes.allow(Scope::ActAsUser) {
            return Err("scopes: a public application may not have act-as-user".to_owned());
        }
        Ok(())
    }

    /// # Errors
    /// A message that names the field.
    pub fn check_redirect_uris(&self) -> Result<(), String> {
        if self.redirect_uris.len() > MOST_REDIRECT_URIS {
            return Err(format!("redirectUris: must be at most {MOST_REDIRECT_URIS} addresses"));
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
    /// Whether its tenant's freeze locks it out, operators excepted (decisions 3.6).
    pub fn is_frozen_out(&self) -> bool {
        self.is_frozen && self.kind != Kind::Admin
    }
}

#[derive(FromRow)]
struct ApplicationRow {
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

impl TryFrom<ApplicationRow> for Application {
    type Error = DatabaseError;

    fn try_from(row: ApplicationRow) -> store::Result<Self> {
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
    ).fetch_optional::<ApplicationRow>(connection)
    .await?
    .map(Application::try_from)
    .transpose()
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
    store: &Store,
    usage: &Usage,
    checker: &SecretChecker,
    client_id: &str,
    client_secret: Option<SecretString>,
) -> Result<Application, ClientError> {
    let application = find(store.reader(), client_id).await?;
    let application = application.filter(|application| !application.is_disabled);
    let is_public = |application: &Application| application.login.is_public;
    let application = match client_secret {
        None => application.filter(is_public),
        Some(secret) => {
            let application = application.filter(|application| !is_public(application));
            let is_proved = checker.check_either(secret, hashes(application.as_ref())).await?;
            application.filter(|_| is_proved)
        }
    };
    let application = application.ok_or(ClientError::Unknown)?;
    if application.is_frozen_out() {
        return Err(ClientError::Frozen);
    }
    usage.of(client_id).note();
    Ok(application)
}

fn hashes(application: Option<&Application>) -> [Option<String>; 2] {
    let current = application.map(|application| application.secret_hash.clone());
    let previous = application.and_then(|application| application.previous_secret.clone());
    [current, previous.filter(|(_, until)| *until > now_millis()).map(|(hash, _)| hash)]
}

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

/// Credentials of a new application, shown once (decisions 1).
#[derive(Clone, Debug)]
pub struct Credentials {
    /// Client id.
    pub client_id: String,
    /// Client secret.
    pub client_secret: SecretString,
    /// The key that signs callbacks to it (decisions 8.3).
    pub callback_key: SecretString,
    /// Scopes.
    pub scopes: Scopes,
    secret_hash: String,
    callback_key_sealed: Vec<u8>,
}

impl Credentials {
    /// Creates credentials.
    ///
    /// # Errors
    /// 400 for an invalid tenant code, scope or binding.
    pub fn generate(keys: &Keys, new: &NewApplication) -> Result<Self> {
        let scopes = check(new)?;
        let client_id = Uuid::new_v4().to_string();
        let client_secret = secrets::generate()?;
        let callback_key = secrets::generate()?;
        let secret_hash = secrets::hash(&client_secret)?;
        let callback_key_sealed = keys
            .secrets
            .seal(client_id.as_bytes(), callback_key.expose_secret().as_bytes())
            .map_err(Error::internal)?;
        Ok(Self { client_id, client_secret, callback_key, scopes, secret_hash, callback_key_sealed })
    }

    pub(super) fn without_secret(keys: &Keys, client_id: &str, scopes: Scopes) -> Result<Self> {
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

/// The callback signing key (decisions 8.3), unless the application is out of use.
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

/// A new secret and its hash. Takes about 12 ms of CPU.
pub fn new_secret() -> Result<(SecretString, String)> {
    let secret = secrets::generate()?;
    let hash = secrets::hash(&secret)?;
    Ok((secret, hash))
}

/// Stores a new application of this tenant.
pub async fn insert(
    transaction: &Transaction,
    tenant_id: i64,
    new: &NewApplication,
    credentials: &Credentials,
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

pub(super) async fn set_redirect_uri(
    transaction: &Transaction,
    client_id: &str,
    redirect_uri: &str,
) -> store::Result<()> {
    let statement = sql(
        "UPDATE applications SET redirect_uris = ? WHERE client_id = ?",
        [Value::json(&[redirect_uri])?, client_id.into()],
    );
    statement.execute(transaction).await.map(drop)
}

/// Adds a tenant's code to those of a domain application. Returns whether the application exists.
pub async fn bind(transaction: &Transaction, client_id: &str, code: &str) -> store::Result<bool> {
    let statement = sql("SELECT bound FROM applications WHERE client_id = ?", [client_id.into()]);
    let Some(Json(mut bound)) = statement.fetch_optional_value::<Json<Vec<String>>>(transaction).await?
    else {
        return Ok(false);
    };
    bound.push(code.to_owned());
    set_bound(transaction, client_id, &bound).await?;
    Ok(true)
}

/// Removes a tenant's code from all applications. Returns their client ids and tenants.
pub async fn unbind(transaction: &Transaction, code: &str) -> store::Result<Vec<(String, i64)>> {
    let statement = sql(
        "SELECT client_id, tenant_id, bound FROM applications \
         WHERE ? IN (SELECT value FROM json_each(applications.bound)) ORDER BY client_id",
        [code.into()],
    );
    let mut applications = Vec::new();
    for (client_id, home, Json(mut bound)) in
        statement.fetch_all::<(String, i64, Json<Vec<String>>)>(transaction).await?
    {
        bound.retain(|other| other != code);
        set_bound(transaction, &client_id, &bound).await?;
        applications.push((client_id, home));
    }
    Ok(applications)
}

async fn set_bound(transaction: &Transaction, client_id: &str, bound: &[String]) -> store::Result<()> {
    let values = [Value::json(bound)?, client_id.into()];
    sql("UPDATE applications SET bound = ? WHERE client_id = ?", values).execute(transaction).await.map(drop)
}

/// Invalidates everything issued in another epoch.
pub(super) async fn set_epoch(transaction: &Transaction, client_id: &str, epoch: i64) -> store::Result<()> {
    let statement =
        sql("UPDATE applications SET epoch = ? WHERE client_id = ?", [epoch.into(), client_id.into()]);
    statement.execute(transaction).await.map(drop)
}

fn check(new: &NewApplication) -> Result<Scopes> {
    check_code(&new.tenant).map_err(Error::bad_request)?;
    check_bound("bind", new.kind, &new.bound)?;
    let scopes = match &new.scopes {
        None => new.kind.possible_scopes().without(Scope::ActAsUser),
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
const MOST_BOUND: usize = 10_000;

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
    if bound.len() > MOST_BOUND {
        return wrong(format!("{field}: must be at most {MOST_BOUND} tenant codes"));
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
