//! Validates stored settings of sources, and seals their secrets.
//!
//! A row may become invalid by another master key or other server settings.

use std::{borrow::Cow, time::Duration};

use secrecy::{ExposeSecret, SecretString};
use trawl_connectors::{
    AddressRules, ApiKey, AssertionHeader, Authentication, BasicCredentials, BearerToken, ClientCredentials,
    DeclaredOrder, InterpreterPool, InvalidCredentials, MappedCalls, Mapping, MappingError, Method,
    SourceIdentity, SourceSettings,
};
use trawl_search::sources::external::ClientSettings;
use url::Url;

use super::{
    repo::sources::SourceRow,
    source_forms::{AuthType, GET, IdentityForm, POST, RELEVANCE, TIME},
};
use crate::{
    auth::{
        assertions::Assertions,
        keys::{CannotOpen, SealingKey},
    },
    error::Error,
};

/// The field of faults that are no single filter's.
const WHOLE_MAPPING: &str = "mapping";

/// The server's limits on external sources (`[connectors]`).
#[derive(Clone, Debug)]
pub struct SourcePolicy {
    /// The permitted addresses.
    pub addresses: AddressRules,
    /// Whether calls without credentials are permitted.
    pub auth_none: bool,
    /// The largest inflated answer.
    pub max_body_bytes: usize,
    /// Processes that run mappings.
    pub interpreters: InterpreterPool,
    /// Vouches for people; `None` where no source may learn of them.
    pub assertions: Option<Assertions>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub(super) struct InvalidSettings {
    field: Cow<'static, str>,
    reason: String,
}

impl InvalidSettings {
    fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }

    pub(super) fn message(&self) -> String {
        format!("its settings are not usable: {self}")
    }
}

impl From<InvalidCredentials> for InvalidSettings {
    fn from(InvalidCredentials { setting, reason }: InvalidCredentials) -> Self {
        Self { field: format!("auth.{setting}").into(), reason: reason.to_owned() }
    }
}

impl From<MappingError> for InvalidSettings {
    fn from(MappingError { field, message, .. }: MappingError) -> Self {
        let field = if field == WHOLE_MAPPING { field } else { format!("{WHOLE_MAPPING}.{field}") };
        Self { field: field.into(), reason: message }
    }
}

/// A secret opens for its own source and tenant only.
fn seal_context(tenant_id: i64, source_id: &str) -> Vec<u8> {
    format!("source:{tenant_id}:{source_id}").into_bytes()
}

pub(super) fn seal(
    key: &SealingKey,
    tenant_id: i64,
    source_id: &str,
    secret: &SecretString,
) -> Result<Vec<u8>, CannotOpen> {
    key.seal(&seal_context(tenant_id, source_id), secret.expose_secret().as_bytes())
}

/// The oldest secrets are bound to the source's id alone.
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

/// The stored secret; one of the oldest is sealed anew.
///
/// # Errors
/// 400 when it does not open.
pub(super) fn keep_sealed(
    key: &SealingKey,
    tenant_id: i64,
    field: &str,
    stored: SourceRow,
) -> Result<Vec<u8>, Error> {
    let sealed = stored.client_secret_sealed.unwrap_or_default();
    if key.open(&seal_context(tenant_id, &stored.id), &sealed).is_ok() {
        return Ok(sealed);
    }
    let secret = open(key, tenant_id, &stored.id, &sealed).map_err(|CannotOpen| {
        Error::bad_request(format!(
            "{field}: must be given again, as the server's master key cannot open the stored one"
        ))
    })?;
    seal(key, tenant_id, &stored.id, &secret).map_err(Error::internal)
}

/// `secret` is evaluated if there are credentials.
///
/// # Errors
/// The first invalid field.
pub(super) fn validate(
    tenant_id: i64,
    row: &SourceRow,
    policy: &SourcePolicy,
    secret: impl FnOnce() -> Result<SecretString, CannotOpen>,
) -> Result<ClientSettings, InvalidSettings> {
    let url = address("url", &row.url, policy)?;
    let method = match row.method.as_str() {
        GET => Method::Get,
        POST => Method::Post,
        _ => return Err(InvalidSettings::new("method", "must be GET or POST")),
    };
    let order = match row.result_order.as_str() {
        TIME => DeclaredOrder::Time,
        RELEVANCE => DeclaredOrder::Relevance,
        _ => return Err(InvalidSettings::new("order", "must be time or relevance")),
    };
    let mapping = mapping(row)?;
    if method == Method::Get && mapping.as_ref().is_some_and(|mapping| mapping.request.body.is_some()) {
        return Err(InvalidSettings::new("mapping.request.body", "is for the method POST only"));
    }
    let source = SourceSettings {
        url,
        method,
        mapping: mapping.map(|mapping| {
            MappedCalls::new(mapping, policy.interpreters.of_tenant(tenant_id)).opening_at(site(row))
        }),
        authentication: authentication(row, policy, secret)?,
        identity: identity(tenant_id, row, policy)?,
        timeout: Duration::from_millis(positive("timeoutMs", row.timeout_ms)?),
        max_concurrency: positive("maxConcurrency", row.max_concurrency)?,
        max_body_bytes: policy.max_body_bytes,
    };
    let page_size = positive("pageSize", row.page_size)?;
    Ok(ClientSettings { source, order, page_size, addresses: policy.addresses.clone() })
}

/// An address that cannot be read any more is none.
fn site(row: &SourceRow) -> Option<Url> {
    Url::parse(row.site.as_deref()?).ok()
}

fn identity(
    tenant_id: i64,
    row: &SourceRow,
    policy: &SourcePolicy,
) -> Result<Option<SourceIdentity>, InvalidSettings> {
    let Some(identity) = &row.identity else { return Ok(None) };
    let identity: IdentityForm = serde_json::from_str(identity)
        .map_err(|error| InvalidSettings::new("identity", format!("cannot be read: {error}")))?;
    let assertions = policy.assertions.as_ref();
    let assertions = assertions.ok_or_else(|| InvalidSettings::new("identity", "is not possible here"))?;
    let invalid = |InvalidCredentials { reason, .. }| InvalidSettings::new("identity.header", reason);
    let header = identity.header.as_deref().map(AssertionHeader::new).transpose().map_err(invalid)?;
    if header.as_ref().is_some_and(|header| header.is_named(auth_header(row))) {
        let reason = "is taken by the credentials of auth; name another, such as X-Trawl-Assertion";
        return Err(InvalidSettings::new("identity.header", reason));
    }
    Ok(Some(SourceIdentity { issuer: assertions.of_tenant(tenant_id), claims: identity.claims(), header }))
}

/// The header of the credentials.
fn auth_header(row: &SourceRow) -> &str {
    match AuthType::named(&row.auth_type) {
        None | Some(AuthType::None) => "",
        Some(AuthType::ApiKey) => row.api_key_header.as_deref().unwrap_or_default(),
        Some(_) => "authorization",
    }
}

/// Compilation needs a process: see [`Registry`](super::Registry).
pub(super) fn mapping(row: &SourceRow) -> Result<Option<Mapping>, InvalidSettings> {
    let Some(mapping) = &row.mapping else { return Ok(None) };
    let mapping: Mapping = serde_json::from_str(mapping)
        .map_err(|error| InvalidSettings::new("mapping", format!("cannot be read: {error}")))?;
    mapping.check_form()?;
    Ok(Some(mapping))
}

fn positive<T: TryFrom<i64>>(field: &'static str, number: i64) -> Result<T, InvalidSettings> {
    Some(number)
        .filter(|number| *number > 0)
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| InvalidSettings::new(field, "must be positive"))
}

fn address(field: &'static str, text: &str, policy: &SourcePolicy) -> Result<Url, InvalidSettings> {
    let url = Url::parse(text)
        .map_err(|_| InvalidSettings::new(field, "must be an absolute address, such as https://host/path"))?;
    policy.addresses.check_url(&url).map_err(|refusal| InvalidSettings::new(field, refusal.to_string()))?;
    Ok(url)
}

/// Whether an assertion takes the place of credentials.
fn takes_assertions(row: &SourceRow) -> bool {
    let identity = row.identity.as_deref().and_then(|identity| serde_json::from_str(identity).ok());
    identity.is_some_and(|identity: IdentityForm| identity.header.is_some())
}

fn authentication(
    row: &SourceRow,
    policy: &SourcePolicy,
    secret: impl FnOnce() -> Result<SecretString, CannotOpen>,
) -> Result<Authentication, InvalidSettings> {
    let Some(kind) = AuthType::named(&row.auth_type) else {
        let reason =
            "must be OAUTH2_CLIENT, OAUTH2_JWT_BEARER, OAUTH2_TOKEN_EXCHANGE, API_KEY, BASIC, BEARER or NONE";
        return Err(InvalidSettings::new("auth.type", reason));
    };
    let secret = || {
        secret().map_err(|CannotOpen| {
            let reason = "cannot be opened with the server's master key; it must be given again";
            InvalidSettings::new(kind.secret_field().unwrap_or("auth"), reason)
        })
    };
    match kind {
        AuthType::None if policy.auth_none || takes_assertions(row) => Ok(Authentication::None),
        AuthType::None => Err(InvalidSettings::new(
            "auth.type",
            "NONE is not allowed here: connectors.allow_auth_none is false",
        )),
        AuthType::OAuth2(grant) => {
            let token_url = address("auth.tokenUrl", row.token_url.as_deref().unwrap_or_default(), policy)?;
            let client_id =
                row.client_id.clone().ok_or_else(|| InvalidSettings::new("auth.clientId", "is required"))?;
            let client_secret = secret()?;
            let (scope, audience) = (row.scope.clone(), row.audience.clone());
            let credentials =
                ClientCredentials { grant, token_url, client_id, client_secret, scope, audience };
            Ok(Authentication::OAuth2Client(credentials))
        }
        AuthType::ApiKey => Ok(Authentication::ApiKey(match &row.api_key_parameter {
            Some(parameter) => ApiKey::in_query(parameter, secret()?)?,
            None => ApiKey::new(row.api_key_header.as_deref().unwrap_or_default(), secret()?)?,
        })),
        AuthType::Basic => {
            let username = row.username.as_deref().unwrap_or_default();
            Ok(Authentication::Basic(BasicCredentials::new(username, secret()?)?))
        }
        AuthType::Bearer => Ok(Authentication::Bearer(BearerToken::new(secret()?)?)),
    }
}
