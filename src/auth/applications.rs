//! Applications: the systems that call trawl (decisions 3.1–3.3).

use std::{fmt, str::FromStr};

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    authorization::redirect,
    keys::Keys,
    scopes::{Scope, Scopes},
    secrets, tenants,
};
use crate::{
    error::{Error, Result},
    store::{Transaction, now_millis, sql},
};

/// What an application is (decisions 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Belongs to one tenant.
    Application,
    /// Bound to a set of tenants; `indicated-e-code` picks one.
    Domain,
    /// The operator: every tenant by `indicated-e-code`.
    Admin,
}

impl Kind {
    /// The scopes that an application of this kind may have.
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

    fn as_str(self) -> &'static str {
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
    type Err = DbErr;

    fn from_str(text: &str) -> Result<Self, DbErr> {
        [Self::Application, Self::Domain, Self::Admin]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| DbErr::Type(format!("applications.kind {text:?}")))
    }
}

/// A registered application.
#[derive(Clone, Debug)]
pub struct Application {
    /// The client id.
    pub client_id: String,
    /// Its own tenant's number.
    pub tenant_id: i64,
    /// What it is.
    pub kind: Kind,
    /// What it may do.
    pub scopes: Scopes,
    /// The tenant codes that a domain application may act on besides its own.
    pub bound: Vec<String>,
    /// Its name for people.
    pub name: String,
    /// Where people may be sent back to after a login; without any, none of them signs in by it.
    pub redirect_uris: Vec<String>,
    /// Whether it can keep no secret, as a program on people's devices.
    pub is_public: bool,
    /// Whether it is out of use.
    pub is_disabled: bool,
    /// The Argon2id hash of its secret.
    pub secret_hash: String,
    /// Tokens that were issued in an earlier epoch are worthless.
    pub epoch: i64,
}

#[derive(FromQueryResult)]
struct Row {
    client_id: String,
    tenant_id: i64,
    kind: String,
    scopes: String,
    bound: String,
    name: String,
    redirect_uris: String,
    is_public: bool,
    is_disabled: bool,
    secret_hash: String,
    epoch: i64,
}

impl TryFrom<Row> for Application {
    type Error = DbErr;

    fn try_from(row: Row) -> Result<Self, DbErr> {
        Ok(Self {
            kind: row.kind.parse()?,
            scopes: serde_json::from_str(&row.scopes).map_err(|error| DbErr::Json(error.to_string()))?,
            bound: serde_json::from_str(&row.bound).map_err(|error| DbErr::Json(error.to_string()))?,
            redirect_uris: serde_json::from_str(&row.redirect_uris)
                .map_err(|error| DbErr::Json(error.to_string()))?,
            name: row.name,
            is_public: row.is_public,
            is_disabled: row.is_disabled,
            client_id: row.client_id,
            tenant_id: row.tenant_id,
            secret_hash: row.secret_hash,
            epoch: row.epoch,
        })
    }
}

/// The application with this client id.
pub async fn find<C: ConnectionTrait>(connection: &C, client_id: &str) -> Result<Option<Application>, DbErr> {
    Row::find_by_statement(sql(
        "SELECT client_id, tenant_id, kind, scopes, bound, name, redirect_uris, is_public, is_disabled, secret_hash, epoch \
         FROM applications WHERE client_id = ?",
        [client_id.into()],
    ))
    .one(connection)
    .await?
    .map(Application::try_from)
    .transpose()
}

/// What `trawl app create` asks for.
#[derive(Clone, Debug)]
pub struct NewApplication {
    /// The code of the tenant that it belongs to; made when there is none yet.
    pub tenant: String,
    /// What it is.
    pub kind: Kind,
    /// Codes that a domain application may act on besides its own.
    pub bound: Vec<String>,
    /// What it may do; `None` is all that its kind may have, except `act-as-user`.
    pub scopes: Option<Scopes>,
    /// A name for people.
    pub name: String,
    /// Where people may be sent back to after a login.
    pub redirect_uris: Vec<String>,
    /// Whether it can keep no secret; it can then do nothing but have people sign in.
    pub is_public: bool,
}

/// A new application before it is stored: its secrets, which are shown once (decisions 1), and what is kept of them.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The client id.
    pub client_id: String,
    /// The client secret.
    pub client_secret: SecretString,
    /// The key that callbacks to this application are signed with (decisions 8.3).
    pub callback_key: SecretString,
    /// Its scopes.
    pub scopes: Scopes,
    secret_hash: String,
    callback_key_sealed: Vec<u8>,
}

impl Credentials {
    /// Makes the credentials of a new application.
    ///
    /// # Errors
    /// 400 for a tenant code, scope or binding that cannot be.
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
}

/// Stores a new application of the tenant with this number.
pub async fn insert(
    transaction: &Transaction,
    tenant_id: i64,
    new: &NewApplication,
    credentials: &Credentials,
) -> Result<()> {
    let statement = sql(
        "INSERT INTO applications \
         (client_id, tenant_id, kind, name, secret_hash, callback_key_sealed, scopes, bound, redirect_uris, is_public, \
          created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            credentials.client_id.as_str().into(),
            tenant_id.into(),
            new.kind.as_str().into(),
            new.name.as_str().into(),
            credentials.secret_hash.as_str().into(),
            credentials.callback_key_sealed.clone().into(),
            serde_json::to_string(&credentials.scopes).map_err(Error::internal)?.into(),
            serde_json::to_string(&new.bound).map_err(Error::internal)?.into(),
            serde_json::to_string(&new.redirect_uris).map_err(Error::internal)?.into(),
            new.is_public.into(),
            now_millis().into(),
        ],
    );
    transaction.execute_raw(statement).await?;
    Ok(())
}

fn check(new: &NewApplication) -> Result<Scopes> {
    for code in std::iter::once(&new.tenant).chain(&new.bound) {
        tenants::check_code(code).map_err(Error::bad_request)?;
    }
    for redirect_uri in &new.redirect_uris {
        redirect::check(redirect_uri)
            .map_err(|reason| Error::bad_request(format!("redirect-uri: {reason}")))?;
    }
    if new.is_public && new.redirect_uris.is_empty() {
        return Err(Error::bad_request("public: such an application needs a redirect-uri"));
    }
    if !new.bound.is_empty() && new.kind != Kind::Domain {
        return Err(Error::bad_request(format!(
            "bind: only a domain application is bound to tenants, this one is of kind {}",
            new.kind
        )));
    }
    let possible = new.kind.possible_scopes();
    let Some(scopes) = &new.scopes else {
        return Ok(possible.without(Scope::ActAsUser));
    };
    match scopes.first_outside(&possible) {
        Some(scope) => Err(Error::bad_request(format!(
            "scope: an application of kind {} may not have {scope}",
            new.kind
        ))),
        None => Ok(scopes.clone()),
    }
}
