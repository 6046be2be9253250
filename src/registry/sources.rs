//! External sources as registered, and their rules (decisions 7.1, 7.2).

use std::ops::RangeInclusive;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize};
use trawl_connectors::{
    DEFAULT_API_KEY_HEADER, Mapping,
    check::{Report, Verdict},
};
use trawl_search::{
    Weight, normalise,
    sources::external::health::{HealthStatus, Summary},
};
use url::Url;

use super::{
    forms::{number, optional, required, weight},
    repo::sources::SourceRow,
};
use crate::{
    error::{Error, Result},
    json,
    store::{FromRow, now_millis},
};

const MAX_SOURCES: usize = 1_000;
const NAME_BYTES: usize = 256;
const URL_BYTES: usize = 2 << 10;
const CREDENTIAL_BYTES: usize = 4 << 10;

const TIMEOUT_MS: RangeInclusive<i64> = 50..=10_000;
const DEFAULT_TIMEOUT_MS: i64 = 2_000;
pub(super) const PAGE_SIZE: RangeInclusive<i64> = 1..=1_000;
const DEFAULT_PAGE_SIZE: i64 = 20;
const MAX_CONCURRENCY: RangeInclusive<i64> = 1..=256;
const DEFAULT_MAX_CONCURRENCY: i64 = 8;

pub(super) const GET: &str = "GET";
pub(super) const POST: &str = "POST";
pub(super) const TIME: &str = "time";
pub(super) const RELEVANCE: &str = "relevance";

/// The name of an operation in the place of ids.
const TRY: &str = "try";

/// A source that keeps the contract.
const CONTRACT: &str = "contract";
/// A source whose own search is mapped to the contract.
const MAPPING: &str = "mapping";

/// How a source is convinced of the caller (decisions 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuthType {
    None,
    OAuth2Client,
    ApiKey,
    Basic,
    Bearer,
}

impl AuthType {
    const ALL: [Self; 5] = [Self::None, Self::OAuth2Client, Self::ApiKey, Self::Basic, Self::Bearer];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::OAuth2Client => "OAUTH2_CLIENT",
            Self::ApiKey => "API_KEY",
            Self::Basic => "BASIC",
            Self::Bearer => "BEARER",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The field of its secret, if it has one.
    pub(super) fn secret_field(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::OAuth2Client => Some("auth.clientSecret"),
            Self::ApiKey => Some("auth.key"),
            Self::Basic => Some("auth.password"),
            Self::Bearer => Some("auth.token"),
        }
    }
}

/// The form of an external source (decisions 7.1).
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceForm {
    /// The id: 1 to 64 of A-Z, a-z, 0-9, _ and -; generated if absent.
    pub id: Option<String>,
    /// The name. Required.
    pub name: Option<String>,
    /// `contract`, or `mapping` for a system with a search of its own; contract if absent.
    pub kind: Option<String>,
    /// The URL: https, or http to a host of the server's settings. Required.
    pub url: Option<String>,
    /// `GET` or `POST`; GET if absent.
    pub method: Option<String>,
    /// How the system's own search becomes the contract. Required with the kind `mapping`.
    pub mapping: Option<Mapping>,
    /// The credentials. Required.
    #[serde(default, deserialize_with = "json::object")]
    pub auth: Option<AuthForm>,
    /// The order of matches: `time` or `relevance`; time if absent.
    pub order: Option<String>,
    /// The limit of one call in milliseconds: 50 to 10000, 2000 if absent.
    pub timeout_ms: Option<i64>,
    /// Items of one call: 1 to 1000, 20 if absent.
    pub page_size: Option<i64>,
    /// Concurrent calls: 1 to 256, 8 if absent.
    pub max_concurrency: Option<i64>,
    /// Whether searches ask it; true if absent.
    pub enabled: Option<bool>,
    /// The weight in `sort=relevance`: 0.01 to 100 with up to 3 decimals.
    /// Default: 1, as for built-in sources.
    #[schema(minimum = 0.01, maximum = 100)]
    pub weight: Option<f64>,
    /// Whether calls beyond the 95th percentile are sent a second time; false if absent.
    pub hedging: Option<bool>,
}

/// The form of one call that shows what becomes of it.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrialForm {
    /// The source. Without its secret, that of the registered source with its id is sent.
    #[serde(default)]
    pub source: SourceForm,
    /// The keyword. Required.
    pub keyword: Option<String>,
    /// Rows: 1 to 1000, 10 if absent.
    pub limit: Option<i64>,
    /// The cursor of the page before.
    pub cursor: Option<String>,
}

/// The form of a source's credentials.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthForm {
    /// `OAUTH2_CLIENT`, `API_KEY`, `BASIC`, `BEARER`, or `NONE` if the server allows it. Required.
    ///
    /// A PUT without the secret keeps the stored one. The type, the origins of `url` and `tokenUrl`, `clientId` and `username` must stay.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The token endpoint. Required with `OAUTH2_CLIENT`.
    pub token_url: Option<String>,
    /// The client account. Required with `OAUTH2_CLIENT`.
    pub client_id: Option<String>,
    /// The secret, never shown. Required with `OAUTH2_CLIENT`.
    #[serde(default, deserialize_with = "secret")]
    #[schema(value_type = Option<String>, write_only)]
    pub client_secret: Option<SecretString>,
    /// Scopes, separated by spaces.
    pub scope: Option<String>,
    /// The `audience`.
    pub audience: Option<String>,
    /// The header of an `API_KEY`; `X-API-Key` if absent.
    ///
    /// 1 to 64 of A-Z, a-z, 0-9, - and _. Headers of the connection, and headers that trawl sets, are refused: `Host`, `Cookie` and others.
    pub header: Option<String>,
    /// The query parameter of an `API_KEY`, instead of a header. Logs of proxies and servers may show it.
    pub parameter: Option<String>,
    /// The key, never shown: printable ASCII. Required with `API_KEY`.
    #[serde(default, deserialize_with = "secret")]
    #[schema(value_type = Option<String>, write_only)]
    pub key: Option<SecretString>,
    /// The user name without a colon. Required with `BASIC`.
    pub username: Option<String>,
    /// The password, never shown. Required with `BASIC`.
    #[serde(default, deserialize_with = "secret")]
    #[schema(value_type = Option<String>, write_only)]
    pub password: Option<SecretString>,
    /// The bearer token, never shown: printable ASCII. Required with `BEARER`.
    #[serde(default, deserialize_with = "secret")]
    #[schema(value_type = Option<String>, write_only)]
    pub token: Option<SecretString>,
}

/// The failure does not repeat the value, which may be a secret.
fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::Null => Ok(None),
        serde_json::Value::String(text) => Ok(Some(text.into())),
        _ => Err(serde::de::Error::custom("must be a text")),
    }
}

/// An external source without its secret (decisions 7.2).
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredSource {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
    /// `contract` or `mapping`.
    pub kind: &'static str,
    /// The URL.
    pub url: String,
    /// `GET` or `POST`.
    pub method: String,
    /// How the system's own search becomes the contract; null for the kind `contract`.
    pub mapping: Option<Mapping>,
    /// The credentials.
    pub auth: RegisteredAuth,
    /// `time` or `relevance`.
    pub order: String,
    /// The limit of one call in milliseconds.
    pub timeout_ms: i64,
    /// Items of one call.
    pub page_size: i64,
    /// Concurrent calls.
    pub max_concurrency: i64,
    /// Whether searches ask it.
    pub enabled: bool,
    /// The weight.
    pub weight: f64,
    /// Whether late calls are hedged.
    pub hedging: bool,
    /// The health in short.
    pub health: Summary,
    /// The last check; null if none was made of the present address, credentials and order.
    pub last_check: Option<LastCheck>,
}

/// Result of a conformance check in numbers of clauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, FromRow, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastCheck {
    /// Its end, epoch milliseconds.
    pub checked_at: i64,
    /// Clauses kept.
    pub passed: i64,
    /// Clauses broken.
    pub failed: i64,
    /// Clauses that could not be decided.
    pub unknown: i64,
}

impl LastCheck {
    /// The result that ends now.
    pub(super) fn of(report: &Report) -> Self {
        let count = |verdict| {
            let clauses = report.clauses.iter().filter(|clause| clause.verdict == verdict);
            i64::try_from(clauses.count()).unwrap_or(i64::MAX)
        };
        Self {
            checked_at: now_millis(),
            passed: count(Verdict::Pass),
            failed: count(Verdict::Fail),
            unknown: count(Verdict::Unknown),
        }
    }
}

/// Credentials without the secret.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredAuth {
    /// `OAUTH2_CLIENT`, `API_KEY`, `BASIC`, `BEARER` or `NONE`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The token endpoint of `OAUTH2_CLIENT`; else null.
    pub token_url: Option<String>,
    /// The client account of `OAUTH2_CLIENT`; else null.
    pub client_id: Option<String>,
    /// The scopes.
    pub scope: Option<String>,
    /// The `audience`.
    pub audience: Option<String>,
    /// The header of an `API_KEY`; else null.
    pub header: Option<String>,
    /// The query parameter of an `API_KEY`; null if it has a header.
    pub parameter: Option<String>,
    /// The user name of `BASIC`; else null.
    pub username: Option<String>,
}

impl RegisteredSource {
    /// Invalid settings precede the last call.
    pub(super) fn new(
        row: SourceRow,
        last: Summary,
        invalid: Option<String>,
        last_check: Option<LastCheck>,
    ) -> Self {
        let health = match invalid {
            Some(message) => {
                Summary { status: HealthStatus::Error, message: Some(message), suspended: None, ..last }
            }
            None => last,
        };
        Self {
            id: row.id,
            name: row.name,
            kind: if row.mapping.is_some() { MAPPING } else { CONTRACT },
            url: row.url,
            method: row.method,
            mapping: row.mapping.and_then(|mapping| serde_json::from_str(&mapping).ok()),
            auth: RegisteredAuth {
                kind: row.auth_type,
                token_url: row.token_url,
                client_id: row.client_id,
                scope: row.scope,
                audience: row.audience,
                header: row.api_key_header,
                parameter: row.api_key_parameter,
                username: row.username,
            },
            order: row.result_order,
            timeout_ms: row.timeout_ms,
            page_size: row.page_size,
            max_concurrency: row.max_concurrency,
            enabled: row.enabled,
            weight: Weight::from_thousandths(row.weight).value(),
            hedging: row.hedging,
            health,
            last_check,
        }
    }
}

impl SourceForm {
    /// Texts are validated by `validate` alone.
    pub(super) fn into_row(self, id: String) -> Result<(SourceRow, Option<SecretString>)> {
        if id == TRY {
            return Err(Error::bad_request("id: must not be `try`, which is an operation of sources"));
        }
        let mapping = match (self.kind.as_deref().unwrap_or(CONTRACT), self.mapping) {
            (CONTRACT, None) => None,
            (CONTRACT, Some(_)) => {
                return Err(Error::bad_request("mapping: is for the kind mapping only"));
            }
            (MAPPING, Some(mapping)) => Some(serde_json::to_string(&mapping).map_err(Error::internal)?),
            (MAPPING, None) => return Err(Error::bad_request("mapping: is required for the kind mapping")),
            _ => return Err(Error::bad_request("kind: must be contract or mapping")),
        };
        let mut row = SourceRow {
            id,
            name: required("name", self.name, NAME_BYTES)?,
            url: required("url", self.url, URL_BYTES)?,
            method: self.method.unwrap_or_else(|| GET.to_owned()),
            mapping,
            result_order: self.order.unwrap_or_else(|| TIME.to_owned()),
            timeout_ms: number(
                "timeoutMs",
                self.timeout_ms,
                DEFAULT_TIMEOUT_MS,
                &TIMEOUT_MS,
                "milliseconds",
            )?,
            page_size: number("pageSize", self.page_size, DEFAULT_PAGE_SIZE, &PAGE_SIZE, "items")?,
            max_concurrency: number(
                "maxConcurrency",
                self.max_concurrency,
                DEFAULT_MAX_CONCURRENCY,
                &MAX_CONCURRENCY,
                "calls",
            )?,
            enabled: self.enabled.unwrap_or(true),
            weight: weight("weight", self.weight)?.thousandths(),
            hedging: self.hedging.unwrap_or(false),
            ..SourceRow::default()
        };
        let auth = self.auth.unwrap_or_default();
        row.auth_type = auth.kind.unwrap_or_default();
        let Some(kind) = AuthType::named(&row.auth_type) else { return Ok((row, None)) };
        let secret = match kind {
            AuthType::None => None,
            AuthType::OAuth2Client => {
                row.token_url = Some(required("auth.tokenUrl", auth.token_url, URL_BYTES)?);
                row.client_id = Some(required("auth.clientId", auth.client_id, CREDENTIAL_BYTES)?);
                row.scope = optional("auth.scope", auth.scope, CREDENTIAL_BYTES)?;
                row.audience = optional("auth.audience", auth.audience, CREDENTIAL_BYTES)?;
                auth.client_secret
            }
            AuthType::ApiKey => {
                let header = optional("auth.header", auth.header, CREDENTIAL_BYTES)?;
                row.api_key_parameter = optional("auth.parameter", auth.parameter, CREDENTIAL_BYTES)?;
                if row.api_key_parameter.is_none() {
                    row.api_key_header = Some(header.unwrap_or_else(|| DEFAULT_API_KEY_HEADER.to_owned()));
                } else if header.is_some() {
                    return Err(Error::bad_request("auth.parameter: must not stand beside auth.header"));
                }
                auth.key
            }
            AuthType::Basic => {
                row.username = Some(required("auth.username", auth.username, CREDENTIAL_BYTES)?);
                auth.password
            }
            AuthType::Bearer => auth.token,
        };
        if let (Some(field), Some(secret)) = (kind.secret_field(), &secret) {
            check_secret(field, secret.expose_secret())?;
        }
        Ok((row, secret))
    }
}

fn check_secret(field: &str, secret: &str) -> Result<()> {
    if secret.is_empty() || secret.len() > CREDENTIAL_BYTES || secret.chars().any(char::is_control) {
        return Err(Error::bad_request(format!(
            "{field}: must be 1 to {CREDENTIAL_BYTES} bytes of UTF-8 without control characters; omit it to keep the stored one"
        )));
    }
    Ok(())
}

/// `others` are ids and names.
///
/// # Errors
/// 409 for too many sources, a taken id or name.
pub(super) fn check_beside(row: &SourceRow, others: &[(String, String)]) -> Result<()> {
    if others.iter().any(|(id, _)| *id == row.id) {
        return Err(Error::conflict("id: is taken by another source"));
    }
    if others.len() >= MAX_SOURCES {
        return Err(Error::conflict(format!("the tenant already has {MAX_SOURCES} sources, the maximum")));
    }
    check_name(row, others)
}

/// Names that a person would not tell apart are equal.
///
/// # Errors
/// 409 for the name of another source.
pub(super) fn check_name(row: &SourceRow, others: &[(String, String)]) -> Result<()> {
    let name = normalise(&row.name);
    match others.iter().find(|(id, other)| *id != row.id && normalise(other) == name) {
        Some((id, _)) => Err(Error::conflict(format!("name: is taken by the source {id}; choose another"))),
        None => Ok(()),
    }
}

/// A stored secret is sent only where the operator sent it.
///
/// # Errors
/// 400 that requires the secret.
pub(super) fn check_secret_stays(field: &str, stored: &SourceRow, row: &SourceRow) -> Result<()> {
    let anew = |reason: &str| Err(Error::bad_request(format!("{field}: must be given{reason}")));
    if stored.client_secret_sealed.is_none() {
        return anew(", as there is none yet");
    }
    if stored.auth_type != row.auth_type {
        return anew(" anew, as auth.type changes");
    }
    let origin = |url: Option<&str>| url.map(|url| Url::parse(url).ok().map(|url| url.origin()));
    // Tokens go there, too.
    if origin(Some(&stored.url)) != origin(Some(&row.url)) {
        return anew(" again, as url moves to another origin");
    }
    if origin(stored.token_url.as_deref()) != origin(row.token_url.as_deref()) {
        return anew(" again, as auth.tokenUrl moves to another origin");
    }
    if stored.client_id != row.client_id {
        return anew(" again, as auth.clientId changes");
    }
    if stored.username != row.username {
        return anew(" again, as auth.username changes");
    }
    Ok(())
}
