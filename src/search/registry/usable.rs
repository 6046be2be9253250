//! What the row of an external source says, where it can be used, or why it cannot.
//!
//! A row may outlive what made it usable: the master key, and the settings that say where sources may be. Such a source
//! fails alone and says why; the others of its tenant go on.

use std::{fmt, time::Duration};

use secrecy::{ExposeSecret, SecretString};
use trawl_connectors::{
    AddressRules, Authentication, ClientCredentials, DeclaredOrder, Method, SourceSettings,
    check::CheckSettings,
};
use url::Url;

use super::{
    repo::sources::SourceRow,
    sources::{GET, NONE, OAUTH2_CLIENT, POST, RELEVANCE, TIME},
};
use crate::{
    auth::keys::{CannotOpen, SealingKey},
    error::Error,
};

/// What the configuration allows external sources (decisions 6.2, 7.4).
#[derive(Clone, Debug)]
pub struct Reach {
    /// Where they may be.
    pub addresses: AddressRules,
    /// Whether they may be called without credentials.
    pub auth_none: bool,
    /// The largest answer, in bytes, inflated.
    pub max_body_bytes: usize,
}

/// Why a source cannot be used: the field that is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unusable {
    field: &'static str,
    reason: String,
}

impl Unusable {
    fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self { field, reason: reason.into() }
    }

    /// What those who search are told, and their operator.
    pub(super) fn message(&self) -> String {
        format!("its settings are not usable: {self}")
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.reason)
    }
}

/// What the secret of a source is bound to: sealed for one source of one tenant, it opens for no other.
fn seal_context(tenant_id: i64, source_id: &str) -> Vec<u8> {
    format!("source:{tenant_id}:{source_id}").into_bytes()
}

/// Seals the secret of a source.
pub(super) fn seal(
    key: &SealingKey,
    tenant_id: i64,
    source_id: &str,
    secret: &SecretString,
) -> Result<Vec<u8>, CannotOpen> {
    key.seal(&seal_context(tenant_id, source_id), secret.expose_secret().as_bytes())
}

/// Opens the secret of a source. Those of the first days are bound to the source's id alone.
pub(super) fn open(
    key: &SealingKey,
    tenant_id: i64,
    source_id: &str,
    sealed: &[u8],
) -> Result<SecretString, CannotOpen> {
    let opened = key
        .open(&seal_context(tenant_id, source_id), sealed)
        .or_else(|CannotOpen| key.open(source_id.as_bytes(), sealed))?;
    String::from_utf8(opened).map(SecretString::from).map_err(|_| CannotOpen)
}

/// The sealed secret of a stored source, for the row that takes its place: as it is, or, of the first days, sealed anew.
///
/// # Errors
/// 400 that asks for the secret when the stored one does not open.
pub(super) fn keep_sealed(key: &SealingKey, tenant_id: i64, stored: SourceRow) -> Result<Vec<u8>, Error> {
    let sealed = stored.client_secret_sealed.unwrap_or_default();
    if key.open(&seal_context(tenant_id, &stored.id), &sealed).is_ok() {
        return Ok(sealed);
    }
    let secret = open(key, tenant_id, &stored.id, &sealed).map_err(|CannotOpen| {
        Error::bad_request(
            "auth.clientSecret: must be given anew, as the stored one does not open with the server's master key",
        )
    })?;
    seal(key, tenant_id, &stored.id, &secret).map_err(Error::internal)
}

/// What a row says, read.
#[derive(Clone)]
pub(super) struct Usable {
    pub(super) settings: SourceSettings,
    pub(super) order: DeclaredOrder,
    pub(super) page_size: usize,
}

impl Usable {
    /// Reads a row and holds it against what the configuration allows. `secret` is asked for where one is needed.
    ///
    /// # Errors
    /// What of the row is not usable.
    pub(super) fn read(
        row: &SourceRow,
        reach: &Reach,
        secret: impl FnOnce() -> Result<SecretString, CannotOpen>,
    ) -> Result<Self, Unusable> {
        let url = address("url", &row.url, reach)?;
        let method = match row.method.as_str() {
            GET => Method::Get,
            POST => Method::Post,
            _ => return Err(Unusable::new("method", "must be GET or POST")),
        };
        let order = match row.result_order.as_str() {
            TIME => DeclaredOrder::Time,
            RELEVANCE => DeclaredOrder::Relevance,
            _ => return Err(Unusable::new("order", "must be time or relevance")),
        };
        let settings = SourceSettings {
            url,
            method,
            authentication: authentication(row, reach, secret)?,
            timeout: Duration::from_millis(positive("timeoutMs", row.timeout_ms)?),
            max_concurrency: positive("maxConcurrency", row.max_concurrency)?,
            max_body_bytes: reach.max_body_bytes,
        };
        Ok(Self { settings, order, page_size: positive("pageSize", row.page_size)? })
    }

    /// What a conformance check needs to know.
    pub(super) fn into_check(self, keyword: Option<String>) -> CheckSettings {
        CheckSettings { source: self.settings, order: self.order, keyword }
    }
}

fn positive<T: TryFrom<i64>>(field: &'static str, number: i64) -> Result<T, Unusable> {
    Some(number)
        .filter(|number| *number > 0)
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| Unusable::new(field, "must be positive"))
}

fn address(field: &'static str, text: &str, reach: &Reach) -> Result<Url, Unusable> {
    let url = Url::parse(text)
        .map_err(|_| Unusable::new(field, "must be an absolute address, such as https://host/path"))?;
    reach.addresses.check_url(&url).map_err(|refusal| Unusable::new(field, refusal.to_string()))?;
    Ok(url)
}

fn authentication(
    row: &SourceRow,
    reach: &Reach,
    secret: impl FnOnce() -> Result<SecretString, CannotOpen>,
) -> Result<Authentication, Unusable> {
    match row.auth_type.as_str() {
        NONE if reach.auth_none => Ok(Authentication::None),
        NONE => {
            Err(Unusable::new("auth.type", "NONE is not allowed here: connectors.allow_auth_none is false"))
        }
        OAUTH2_CLIENT => {
            let token_url = address("auth.tokenUrl", row.token_url.as_deref().unwrap_or_default(), reach)?;
            let client_id =
                row.client_id.clone().ok_or_else(|| Unusable::new("auth.clientId", "is missing"))?;
            let client_secret = secret().map_err(|CannotOpen| {
                Unusable::new(
                    "auth.clientSecret",
                    "cannot be opened with the server's master key; it must be given anew",
                )
            })?;
            let (scope, audience) = (row.scope.clone(), row.audience.clone());
            let credentials = ClientCredentials { token_url, client_id, client_secret, scope, audience };
            Ok(Authentication::OAuth2Client(credentials))
        }
        _ => Err(Unusable::new("auth.type", "must be OAUTH2_CLIENT or NONE")),
    }
}
