//! What an external source is: as operators register it, as they see it, and what it has to be (decisions 7.1, 7.2).

use std::ops::RangeInclusive;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize};
use url::Url;

use super::{
    forms::{number, optional, required, weight},
    repo::sources::SourceRow,
};
use crate::{
    error::{Error, Result},
    json,
    search::{
        Weight,
        health::{HealthStatus, Summary},
    },
};

/// Sources that one tenant may have.
const MOST_SOURCES: usize = 1_000;
/// Bytes of a name.
const NAME_BYTES: usize = 256;
/// Bytes of an address.
const URL_BYTES: usize = 2 << 10;
/// Bytes of a client id, a secret, a scope or an audience.
const CREDENTIAL_BYTES: usize = 4 << 10;

const TIMEOUT_MS: RangeInclusive<i64> = 50..=10_000;
const DEFAULT_TIMEOUT_MS: i64 = 2_000;
const PAGE_SIZE: RangeInclusive<i64> = 1..=1_000;
const DEFAULT_PAGE_SIZE: i64 = 20;
const MAX_CONCURRENCY: RangeInclusive<i64> = 1..=256;
const DEFAULT_MAX_CONCURRENCY: i64 = 8;

pub(super) const GET: &str = "GET";
pub(super) const POST: &str = "POST";
pub(super) const TIME: &str = "time";
pub(super) const RELEVANCE: &str = "relevance";
pub(super) const NONE: &str = "NONE";
pub(super) const OAUTH2_CLIENT: &str = "OAUTH2_CLIENT";

/// An external source as it is registered (decisions 7.1).
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceForm {
    /// The id: 1 to 64 of A-Z, a-z, 0-9, _ and -; one is made when absent.
    pub id: Option<String>,
    /// A name for people. Required.
    pub name: Option<String>,
    /// The interface URL: https, or http to a host that the server's settings list. Required.
    pub url: Option<String>,
    /// `GET` or `POST`; GET when absent.
    pub method: Option<String>,
    /// Who trawl is for the source. Required.
    #[serde(default, deserialize_with = "json::object")]
    pub auth: Option<AuthForm>,
    /// In which order it sends its matches: `time` or `relevance`; time when absent.
    pub order: Option<String>,
    /// The longest that one call may take, in milliseconds: 50 to 10000, 2000 when absent.
    pub timeout_ms: Option<i64>,
    /// Items asked for in one call: 1 to 1000, 20 when absent.
    pub page_size: Option<i64>,
    /// Calls that may be under way at once: 1 to 256, 8 when absent.
    pub max_concurrency: Option<i64>,
    /// Whether searches ask it; true when absent.
    pub enabled: Option<bool>,
    /// How much it counts in `sort=relevance`: its items are scored weight / (60 + rank). 0.01 to 100 with at most three
    /// decimals; 1 when absent, as built-in sources have.
    #[schema(minimum = 0.01, maximum = 100)]
    pub weight: Option<f64>,
    /// Whether it is asked a second time where its answer comes later than 95 of 100 of its answers did, for at most 5 %
    /// more calls; false when absent.
    pub hedging: Option<bool>,
}

/// Who trawl is for a source, as it is registered.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthForm {
    /// `OAUTH2_CLIENT`, or `NONE` where the server's settings allow it. Required.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The token endpoint. Required with `OAUTH2_CLIENT`.
    pub token_url: Option<String>,
    /// The client account. Required with `OAUTH2_CLIENT`.
    pub client_id: Option<String>,
    /// The client secret; it is never answered. Required with `OAUTH2_CLIENT`, but a PUT without it keeps the one that
    /// is there, as long as `tokenUrl` stays at its origin and `clientId` what it is.
    #[serde(default, deserialize_with = "secret")]
    #[schema(value_type = Option<String>, write_only)]
    pub client_secret: Option<SecretString>,
    /// Scopes to ask for, separated by spaces.
    pub scope: Option<String>,
    /// The `audience` to ask for.
    pub audience: Option<String>,
}

/// Reads a secret. What was sent in its place is not repeated in the failure: it may be one all the same.
fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::Null => Ok(None),
        serde_json::Value::String(text) => Ok(Some(text.into())),
        _ => Err(serde::de::Error::custom("must be a text")),
    }
}

/// An external source as operators see it (decisions 7.2): what was registered but for the secret, and how it is.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredSource {
    /// The source's id.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The interface URL.
    pub url: String,
    /// `GET` or `POST`.
    pub method: String,
    /// Who trawl is for the source.
    pub auth: RegisteredAuth,
    /// `time` or `relevance`.
    pub order: String,
    /// The longest that one call may take, in milliseconds.
    pub timeout_ms: i64,
    /// Items asked for in one call.
    pub page_size: i64,
    /// Calls that may be under way at once.
    pub max_concurrency: i64,
    /// Whether searches ask it.
    pub enabled: bool,
    /// How much it counts in `sort=relevance`.
    pub weight: f64,
    /// Whether it is asked a second time where its answer is late.
    pub hedging: bool,
    /// How its last call ended, whether it is suspended (decisions 6.3), and how long its calls took.
    pub health: Summary,
}

/// Who trawl is for a source, as operators see it.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredAuth {
    /// `OAUTH2_CLIENT` or `NONE`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The token endpoint; null with `NONE`.
    pub token_url: Option<String>,
    /// The client account; null with `NONE`.
    pub client_id: Option<String>,
    /// Scopes that are asked for.
    pub scope: Option<String>,
    /// The `audience` that is asked for.
    pub audience: Option<String>,
}

impl RegisteredSource {
    /// The source of a row. What keeps it from being used at all comes before how its last call ended.
    pub(super) fn new(row: SourceRow, last: Summary, unusable: Option<String>) -> Self {
        let health = match unusable {
            Some(message) => {
                Summary { status: HealthStatus::Error, message: Some(message), suspended: None, ..last }
            }
            None => last,
        };
        Self {
            id: row.id,
            name: row.name,
            url: row.url,
            method: row.method,
            auth: RegisteredAuth {
                kind: row.auth_type,
                token_url: row.token_url,
                client_id: row.client_id,
                scope: row.scope,
                audience: row.audience,
            },
            order: row.result_order,
            timeout_ms: row.timeout_ms,
            page_size: row.page_size,
            max_concurrency: row.max_concurrency,
            enabled: row.enabled,
            weight: Weight::from_thousandths(row.weight).value(),
            hedging: row.hedging,
            health,
        }
    }
}

impl SourceForm {
    /// The row that the form describes, and the secret to be sealed into it; `None` where the form gives none. What
    /// the texts mean is checked where they are read back.
    ///
    /// # Errors
    /// 400 that names the field.
    pub(super) fn into_row(self, id: String) -> Result<(SourceRow, Option<SecretString>)> {
        let mut row = SourceRow {
            id,
            name: required("name", self.name, NAME_BYTES)?,
            url: required("url", self.url, URL_BYTES)?,
            method: self.method.unwrap_or_else(|| GET.to_owned()),
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
        if row.auth_type != OAUTH2_CLIENT {
            return Ok((row, None));
        }
        row.token_url = Some(required("auth.tokenUrl", auth.token_url, URL_BYTES)?);
        row.client_id = Some(required("auth.clientId", auth.client_id, CREDENTIAL_BYTES)?);
        row.scope = optional("auth.scope", auth.scope, CREDENTIAL_BYTES)?;
        row.audience = optional("auth.audience", auth.audience, CREDENTIAL_BYTES)?;
        if let Some(secret) = &auth.client_secret {
            check_secret(secret.expose_secret())?;
        }
        Ok((row, auth.client_secret))
    }
}

fn check_secret(secret: &str) -> Result<()> {
    if secret.is_empty() || secret.len() > CREDENTIAL_BYTES || secret.chars().any(char::is_control) {
        return Err(Error::bad_request(format!(
            "auth.clientSecret: must be 1 to {CREDENTIAL_BYTES} bytes of UTF-8 without control characters; leave it \
             out to keep the one that is there"
        )));
    }
    Ok(())
}

/// # Errors
/// 409 when the tenant has as many sources as it may, or one of this id.
pub(super) fn check_beside(id: &str, others: &[String]) -> Result<()> {
    if others.iter().any(|other| other == id) {
        return Err(Error::conflict("id: is taken by another source"));
    }
    if others.len() >= MOST_SOURCES {
        return Err(Error::conflict(format!(
            "a tenant may have {MOST_SOURCES} sources, and has them already"
        )));
    }
    Ok(())
}

/// Whether the secret that `stored` has may serve `row` too: it is sent only where its operator sent it.
///
/// # Errors
/// 400 that asks for the secret anew.
pub(super) fn check_secret_stays(stored: &SourceRow, row: &SourceRow) -> Result<()> {
    let anew = |reason: &str| Err(Error::bad_request(format!("auth.clientSecret: must be given{reason}")));
    if stored.client_secret_sealed.is_none() {
        return anew(", as there is none yet");
    }
    let origin = |url: &Option<String>| Some(Url::parse(url.as_deref()?).ok()?.origin());
    if origin(&stored.token_url).is_none_or(|before| origin(&row.token_url) != Some(before)) {
        return anew(" anew, as auth.tokenUrl moves to another origin");
    }
    if stored.client_id != row.client_id {
        return anew(" anew, as auth.clientId changes");
    }
    Ok(())
}
