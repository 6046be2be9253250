//! Forms of external sources, and the rules of their fields.

mod identity_form;

use std::ops::RangeInclusive;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};
use trawl_connectors::{DEFAULT_API_KEY_HEADER, Grant, Mapping};
use url::Url;

use self::identity_form::identity;
use super::{
    forms::{number, optional, required, weight},
    repo::sources::SourceRow,
};
use crate::{
    error::{Error, Result},
    json,
};

pub use self::identity_form::IdentityForm;

const NAME_BYTES: usize = 256;
const URL_BYTES: usize = 2 << 10;
const CREDENTIAL_BYTES: usize = 4 << 10;

const TIMEOUT_MS: RangeInclusive<i64> = 50..=10_000;
const DEFAULT_TIMEOUT_MS: i64 = 2_000;
pub(super) const PAGE_SIZE: RangeInclusive<i64> = 1..=1_000;
const DEFAULT_PAGE_SIZE: i64 = 20;
const MAX_CONCURRENCY: RangeInclusive<i64> = 1..=256;
const DEFAULT_MAX_CONCURRENCY: i64 = 8;
const REQUESTS_PER_MINUTE: RangeInclusive<i64> = 1..=60_000;

pub(super) const GET: &str = "GET";
pub(super) const POST: &str = "POST";
pub(super) const TIME: &str = "time";
pub(super) const RELEVANCE: &str = "relevance";

/// The name of an operation in the place of ids.
const TRY: &str = "try";

/// A source that keeps the contract.
pub(super) const CONTRACT: &str = "contract";
/// A source whose own search is mapped to the contract.
pub(super) const MAPPING: &str = "mapping";

/// How calls of a source authenticate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuthType {
    None,
    OAuth2(Grant),
    ApiKey,
    Basic,
    Bearer,
}

impl AuthType {
    const ALL: [Self; 7] = [
        Self::None,
        Self::OAuth2(Grant::ClientCredentials),
        Self::OAuth2(Grant::JwtBearer),
        Self::OAuth2(Grant::TokenExchange),
        Self::ApiKey,
        Self::Basic,
        Self::Bearer,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::OAuth2(Grant::ClientCredentials) => "OAUTH2_CLIENT",
            Self::OAuth2(Grant::JwtBearer) => "OAUTH2_JWT_BEARER",
            Self::OAuth2(Grant::TokenExchange) => "OAUTH2_TOKEN_EXCHANGE",
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
            Self::OAuth2(_) => Some("auth.clientSecret"),
            Self::ApiKey => Some("auth.key"),
            Self::Basic => Some("auth.password"),
            Self::Bearer => Some("auth.token"),
        }
    }
}

/// The form of an external source.
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
    #[serde(default, deserialize_with = "json::object")]
    pub mapping: Option<Mapping>,
    /// The credentials. Required.
    #[serde(default, deserialize_with = "json::object")]
    pub auth: Option<AuthForm>,
    /// How the source learns for whom it is called: `assertion`, or an object; absent for the application.
    #[serde(default, deserialize_with = "identity")]
    pub identity: Option<IdentityForm>,
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
    /// The most calls in a minute of each replica: 1 to 60000; without a limit if absent.
    ///
    /// Beyond it, the source is `unavailable` until a call is free.
    pub requests_per_minute: Option<i64>,
    /// Whether searches with `typing=true` ask it; true if absent.
    ///
    /// If false, the search page asks it once typing rests for 600 ms, or at Enter.
    pub while_typing: Option<bool>,
    /// The public address where people open what is found, if `url` is that of an interface or a proxy. With the kind `mapping` only.
    pub site: Option<String>,
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
    /// The id of the person who asks. Required if the source has an identity.
    pub person: Option<String>,
}

/// The form of a source's credentials.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthForm {
    /// `OAUTH2_CLIENT`, `API_KEY`, `BASIC`, `BEARER`, or `NONE` if the server allows it or the source takes assertions. Required.
    ///
    /// `OAUTH2_JWT_BEARER` (RFC 7523) and `OAUTH2_TOKEN_EXCHANGE` (RFC 8693) fetch a token of the person who searches.
    /// A PUT without the secret keeps the stored one. The type, the origins of `url` and `tokenUrl`, `clientId` and `username` must stay.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The token endpoint. Required with the `OAUTH2` types.
    pub token_url: Option<String>,
    /// The client account. Required with the `OAUTH2` types.
    pub client_id: Option<String>,
    /// The secret, never shown. Required with the `OAUTH2` types.
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

impl SourceForm {
    /// Texts are validated by `validate` alone.
    pub(super) fn into_row(self, id: String) -> Result<(SourceRow, Option<SecretString>)> {
        if id == TRY {
            return Err(Error::bad_request("id: must not be `try`, which is an operation of sources"));
        }
        let uses_person = self.mapping.as_ref().is_some_and(Mapping::uses_person);
        let mapping = match (self.kind.as_deref().unwrap_or(CONTRACT), self.mapping) {
            (CONTRACT, None) => None,
            (CONTRACT, Some(_)) => {
                return Err(Error::bad_request("mapping: is for the kind mapping only"));
            }
            (MAPPING, Some(mapping)) => Some(serde_json::to_string(&mapping).map_err(Error::internal)?),
            (MAPPING, None) => return Err(Error::bad_request("mapping: is required for the kind mapping")),
            _ => return Err(Error::bad_request("kind: must be contract or mapping")),
        };
        let is_mapped = mapping.is_some();
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
            requests_per_minute: self
                .requests_per_minute
                .map(|requests| {
                    number("requestsPerMinute", Some(requests), requests, &REQUESTS_PER_MINUTE, "calls")
                })
                .transpose()?,
            while_typing: self.while_typing.unwrap_or(true),
            site: site(self.site, is_mapped)?,
            ..SourceRow::default()
        };
        let auth = self.auth.unwrap_or_default();
        row.auth_type = auth.kind.unwrap_or_default();
        let Some(kind) = AuthType::named(&row.auth_type) else { return Ok((row, None)) };
        let grants_people = matches!(kind, AuthType::OAuth2(grant) if grant.is_of_people());
        let identity = self.identity.or_else(|| IdentityForm::implied(grants_people, uses_person));
        let identity = identity.map(|identity| identity.checked(grants_people, uses_person)).transpose()?;
        row.identity =
            identity.map(|identity| serde_json::to_string(&identity)).transpose().map_err(Error::internal)?;
        let secret = match kind {
            AuthType::None => None,
            AuthType::OAuth2(_) => {
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

/// # Errors
/// 400 for no address of the web, or a source that links its items itself.
fn site(site: Option<String>, is_mapped: bool) -> Result<Option<String>> {
    let Some(site) = optional("site", site, URL_BYTES)? else { return Ok(None) };
    if !is_mapped {
        return Err(Error::bad_request("site: is for the kind mapping only"));
    }
    let is_public = Url::parse(&site).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    });
    if !is_public {
        let right =
            "site: must be an absolute address without a query, such as https://example.atlassian.net";
        return Err(Error::bad_request(right));
    }
    Ok(Some(site))
}

fn check_secret(field: &str, secret: &str) -> Result<()> {
    if secret.is_empty() || secret.len() > CREDENTIAL_BYTES || secret.chars().any(char::is_control) {
        return Err(Error::bad_request(format!(
            "{field}: must be 1 to {CREDENTIAL_BYTES} bytes of UTF-8 without control characters; omit it to keep the stored one"
        )));
    }
    Ok(())
}
