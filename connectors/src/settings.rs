//! Settings of a source.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::{Url, form_urlencoded};

use crate::addresses::AddressRefusal;

/// Default limit of a body, received or inflated: 2 MiB (decisions 6.2).
pub const DEFAULT_MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// The HTTP method of a source's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Parameters in the query.
    Get,
    /// Parameters in a JSON body.
    Post,
}

impl Method {
    /// The method's name in HTTP.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// Declared order of a source's matches (decisions 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredOrder {
    /// `displayTime` descending.
    Time,
    /// By relevance, or any other order.
    Relevance,
}

/// How trawl authenticates at a source (decisions 7.1).
#[derive(Clone, Debug)]
pub enum Authentication {
    /// `NONE`: no credentials.
    None,
    /// `OAUTH2_CLIENT`: a bearer token by OAuth 2.0 client credentials.
    OAuth2Client(ClientCredentials),
}

/// Client credentials of one source (RFC 6749 §4.4). `Debug` hides the secret.
#[derive(Clone, Debug)]
pub struct ClientCredentials {
    /// The token endpoint.
    pub token_url: Url,
    /// The client id.
    pub client_id: String,
    /// The client secret.
    pub client_secret: SecretString,
    /// Requested scopes, separated by spaces.
    pub scope: Option<String>,
    /// The `audience` parameter, if the server needs one.
    pub audience: Option<String>,
}

impl ClientCredentials {
    /// Id and secret as in `client_secret_basic` (RFC 6749 §2.3.1), for redaction.
    pub(crate) fn pair(&self) -> String {
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        format!("{}:{}", encode(&self.client_id), encode(self.client_secret.expose_secret()))
    }
}

/// Settings of a [`SourceClient`](crate::SourceClient).
#[derive(Clone, Debug)]
pub struct SourceSettings {
    /// The search address. Its query parameters are kept.
    pub url: Url,
    /// The method of the calls.
    pub method: Method,
    /// The credentials.
    pub authentication: Authentication,
    /// Time limit of a search, waits for permit and token included.
    pub timeout: Duration,
    /// Searches in flight. Further ones wait within their timeout.
    pub max_concurrency: usize,
    /// Limit of a body in bytes, received or inflated.
    pub max_body_bytes: usize,
}

/// Why settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// An address that may not be called (decisions 7.4).
    #[error("{setting} {refusal}")]
    Address {
        /// The setting's name.
        setting: &'static str,
        /// The reason.
        refusal: AddressRefusal,
    },
    /// A limit of zero. Holds the setting's name.
    #[error("{0} must be greater than 0")]
    Zero(&'static str),
    /// No HTTP client on this machine, for example without TLS roots.
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
