//! How a source is reached, because a source's address, identity and limits are an operator's to set.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::{Url, form_urlencoded};

use crate::addresses::AddressRefusal;

/// The largest body taken from a source where nothing else is set: 2 MiB, both as it comes and
/// inflated (decisions 6.2).
pub const DEFAULT_MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// The HTTP method by which a source is called; it is set when the source is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `keyword`, `limit` and `cursor` are query parameters.
    Get,
    /// `keyword`, `limit` and `cursor` are fields of a JSON body.
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

/// In which order a source says it sends its matches (decisions 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredOrder {
    /// `displayTime` descending.
    Time,
    /// By relevance, or any other order.
    Relevance,
}

/// Who trawl is for a source (decisions 7.1).
#[derive(Clone, Debug)]
pub enum Authentication {
    /// `NONE`: the source is called without credentials.
    None,
    /// `OAUTH2_CLIENT`: a bearer token obtained by OAuth 2.0 client credentials.
    OAuth2Client(ClientCredentials),
}

/// The application identity by which tokens for one source are obtained (RFC 6749 §4.4).
///
/// `Debug` shows everything but the secret.
#[derive(Clone, Debug)]
pub struct ClientCredentials {
    /// The token endpoint.
    pub token_url: Url,
    /// The client account.
    pub client_id: String,
    /// The client secret.
    pub client_secret: SecretString,
    /// Scopes to ask for, separated by spaces.
    pub scope: Option<String>,
    /// The `audience` parameter, for authorization servers that want one.
    pub audience: Option<String>,
}

impl ClientCredentials {
    /// Account and secret as `client_secret_basic` joins them (RFC 6749 §2.3.1): what its base64 must not show either.
    pub(crate) fn pair(&self) -> String {
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        format!("{}:{}", encode(&self.client_id), encode(self.client_secret.expose_secret()))
    }
}

/// Everything that a [`SourceClient`](crate::SourceClient) needs to know about its source.
#[derive(Clone, Debug)]
pub struct SourceSettings {
    /// The interface URL; query parameters that it already has are kept.
    pub url: Url,
    /// How the source is called.
    pub method: Method,
    /// Who trawl is for the source.
    pub authentication: Authentication,
    /// The longest that one search may take, waiting for a permit and a token included.
    pub timeout: Duration,
    /// How many searches may be under way at once; further ones wait within their own timeout.
    pub max_concurrency: usize,
    /// The largest body read, in bytes, both as it comes and inflated; see [`DEFAULT_MAX_BODY_BYTES`].
    pub max_body_bytes: usize,
}

/// Why a source's settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// An address may not be called (decisions 7.4).
    #[error("{setting} {refusal}")]
    Address {
        /// The name of the setting.
        setting: &'static str,
        /// Why not.
        refusal: AddressRefusal,
    },
    /// A limit is zero. Holds the name of the setting.
    #[error("{0} must be greater than 0")]
    Zero(&'static str),
    /// The HTTP client could not be set up on this machine (for want of TLS roots, for instance).
    #[error("the HTTP client could not be set up: {0}")]
    Client(String),
}

impl SourceSettings {
    /// Refuses limits that can never work, so that they fail where they are set and not at the first search.
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
