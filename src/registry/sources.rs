//! External sources as registered, and rules between them.

use serde::Serialize;
use trawl_connectors::{
    Mapping,
    check::{ClauseVerdict, Report},
};
use trawl_search::{
    Weight, normalise,
    sources::external::health::{HealthStatus, Summary},
};
use url::Url;

use super::{
    repo::sources::SourceRow,
    source_forms::{CONTRACT, IdentityForm, MAPPING},
};
use crate::{
    error::{Error, Result},
    store::{FromRow, now_millis},
};

const MAX_SOURCES: usize = 1_000;

/// An external source without its secret.
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
    /// How it learns for whom it is called; null if it is called as the application.
    pub identity: Option<IdentityForm>,
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
    /// The most calls in a minute; null without a limit.
    pub requests_per_minute: Option<i64>,
    /// Whether searches with `typing=true` ask it.
    pub while_typing: bool,
    /// The public address where people open what is found; null if it is `url`.
    pub site: Option<String>,
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
            passed: count(ClauseVerdict::Pass),
            failed: count(ClauseVerdict::Fail),
            unknown: count(ClauseVerdict::Unknown),
        }
    }
}

/// Credentials without the secret.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredAuth {
    /// `OAUTH2_CLIENT`, `OAUTH2_JWT_BEARER`, `OAUTH2_TOKEN_EXCHANGE`, `API_KEY`, `BASIC`, `BEARER` or `NONE`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The token endpoint of the `OAUTH2` types; else null.
    pub token_url: Option<String>,
    /// The client account of the `OAUTH2` types; else null.
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
            identity: row.identity.and_then(|identity| serde_json::from_str(&identity).ok()),
            order: row.result_order,
            timeout_ms: row.timeout_ms,
            page_size: row.page_size,
            max_concurrency: row.max_concurrency,
            enabled: row.enabled,
            weight: Weight::from_thousandths(row.weight).value(),
            hedging: row.hedging,
            requests_per_minute: row.requests_per_minute,
            while_typing: row.while_typing,
            site: row.site,
            health,
            last_check,
        }
    }
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
