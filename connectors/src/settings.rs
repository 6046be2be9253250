use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::{Url, form_urlencoded};

use crate::addresses::AddressRefusal;
use crate::credentials::{ApiKey, BasicCredentials, BearerToken, FixedCredentials};
use crate::mapping::MappedCalls;

/// Default limit of a body: 2 MiB (decisions 6.2).
pub const DEFAULT_MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// HTTP method of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Parameters in the query.
    Get,
    /// Parameters in a JSON body.
    Post,
}

impl Method {
    /// Method's name in HTTP.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// Order of a source's matches (decisions 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredOrder {
    /// `displayTime` descending.
    Time,
    /// By relevance, or any other order.
    Relevance,
}

/// Authentication at a source (decisions 7.1).
#[derive(Clone, Debug)]
pub enum Authentication {
    /// `NONE`.
    None,
    /// `OAUTH2_CLIENT`.
    OAuth2Client(ClientCredentials),
    /// `API_KEY`.
    ApiKey(ApiKey),
    /// `BASIC`.
    Basic(BasicCredentials),
    /// `BEARER`.
    Bearer(BearerToken),
}

impl Authentication {
    /// Those that need no token endpoint.
    pub(crate) fn fixed(&self) -> Option<&dyn FixedCredentials> {
        match self {
            Self::None | Self::OAuth2Client(_) => None,
            Self::ApiKey(credentials) => Some(credentials),
            Self::Basic(credentials) => Some(credentials),
            Self::Bearer(credentials) => Some(credentials),
        }
    }
}

/// Client credentials (RFC 6749 §4.4). `Debug` hides the secret.
#[derive(Clone, Debug)]
pub struct ClientCredentials {
    /// Token endpoint.
    pub token_url: Url,
    /// Client id.
    pub client_id: String,
    /// Client secret.
    pub client_secret: SecretString,
    /// Requested scopes, separated by spaces.
    pub scope: Option<String>,
    /// `audience`, if the server needs one.
    pub audience: Option<String>,
}

impl ClientCredentials {
    /// As in `client_secret_basic` (RFC 6749 §2.3.1), for redaction.
    pub(crate) fn pair(&self) -> String {
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        format!("{}:{}", encode(&self.client_id), encode(self.client_secret.expose_secret()))
    }
}

/// Settings of a [`SourceClient`](crate::SourceClient).
#[derive(Clone, Debug)]
pub struct SourceSettings {
    /// Search address; its query parameters are kept.
    pub url: Url,
    /// Method of the calls.
    pub method: Method,
    /// How the system's own search becomes the contract; `None` for a source that keeps the contract.
    pub mapping: Option<MappedCalls>,
    /// Credentials.
    pub authentication: Authentication,
    /// Limit of a search, waits for permit and token included.
    pub timeout: Duration,
    /// Searches in flight; further ones wait within their timeout.
    pub max_concurrency: usize,
    /// Limit of a body in bytes, received or inflated.
    pub max_body_bytes: usize,
}

/// Why settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Forbidden address (decisions 7.4).
    #[error("{setting} {refusal}")]
    Address {
        /// Setting's name.
        setting: &'static str,
        /// Reason.
        refusal: AddressRefusal,
    },
    /// Zero limit of this setting.
    #[error("{0} must be greater than 0")]
    Zero(&'static str),
    /// No HTTP client, for example without TLS roots.
    #[error("the HTTP client could not be set up: {0}")]
    Client(String),
}

impl SourceSettings {
    pub(crate) fn check_limits(&self) -> Result<(), SettingsError> {
        let limits = [
            ("timeout", self.timeout.is_zero()),
            ("maxConcurrency", self.max_concurrency == 0),
            ("maxBodyBytes", self.max_body_bytes == 0),
        ];
        match limits.into_iter().find(|(_, zero)| *zero) {
            Some((name, _)) => Err(SettingsError::Zero(name)),
            None => Ok(()),
        }
    }
}
