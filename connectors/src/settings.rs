use std::error::Error;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::{Url, form_urlencoded};

use crate::addresses::AddressRefusal;
use crate::credentials::{ApiKey, BasicCredentials, BearerToken, FixedCredentials};
use crate::identity::SourceIdentity;
use crate::mapping::MappedCalls;

/// Default limit of a body: 2 MiB.
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

/// Order of a source's matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredOrder {
    /// `displayTime` descending.
    Time,
    /// Relevance, or any other order.
    Relevance,
}

/// Authentication at a source.
#[derive(Clone, Debug)]
pub enum Authentication {
    /// `NONE`.
    None,
    /// `OAUTH2_CLIENT`, `OAUTH2_JWT_BEARER` or `OAUTH2_TOKEN_EXCHANGE`.
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
    pub(crate) fn fixed(&self) -> Option<&FixedCredentials> {
        match self {
            Self::None | Self::OAuth2Client(_) => None,
            Self::ApiKey(ApiKey(fixed))
            | Self::Basic(BasicCredentials(fixed))
            | Self::Bearer(BearerToken(fixed)) => Some(fixed),
        }
    }
}

/// The grant by which tokens are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// The client's own grant (RFC 6749 §4.4).
    ClientCredentials,
    /// The grant of an assertion's person (RFC 7523 §2.1).
    JwtBearer,
    /// The exchange of a person's assertion as subject token (RFC 8693).
    TokenExchange,
}

impl Grant {
    /// Whether tokens are of people.
    pub fn is_of_people(self) -> bool {
        self != Self::ClientCredentials
    }

    pub(crate) fn grant_type(self) -> &'static str {
        match self {
            Self::ClientCredentials => "client_credentials",
            Self::JwtBearer => "urn:ietf:params:oauth:grant-type:jwt-bearer",
            Self::TokenExchange => "urn:ietf:params:oauth:grant-type:token-exchange",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::ClientCredentials => "client credentials",
            Self::JwtBearer => "JWT bearer",
            Self::TokenExchange => "token exchange",
        }
    }

    pub(crate) fn not_allowed(self) -> String {
        format!("this client may not use the {} grant", self.name())
    }

    pub(crate) fn not_offered(self) -> String {
        format!("it does not offer the {} grant", self.name())
    }
}

/// A client account at a token endpoint. `Debug` hides the secret.
#[derive(Clone, Debug)]
pub struct ClientCredentials {
    /// Grant of its tokens.
    pub grant: Grant,
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
    /// Writes id and secret like `client_secret_basic` (RFC 6749 §2.3.1), for redaction.
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
    /// How it learns of people; `None` for calls as the application.
    pub identity: Option<SourceIdentity>,
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
    /// Forbidden address.
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
    /// Tokens or `$person` of a source without an identity.
    #[error("{0} needs `identity`")]
    NoIdentity(&'static str),
    /// A check or trial of a source with an identity names no person.
    #[error("a person is needed, as the source learns for whom it is called")]
    NoPerson,
    /// No HTTP client, for example without TLS roots.
    #[error("the HTTP client could not be set up: {0}")]
    Client(String),
}

impl SettingsError {
    /// Names the first cause: reqwest names only its builder.
    pub(crate) fn client(error: &(dyn Error + 'static)) -> Self {
        let mut cause = error;
        while let Some(earlier) = cause.source() {
            cause = earlier;
        }
        Self::Client(cause.to_string())
    }
}

impl SourceSettings {
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let limits = [
            ("timeout", self.timeout.is_zero()),
            ("maxConcurrency", self.max_concurrency == 0),
            ("maxBodyBytes", self.max_body_bytes == 0),
        ];
        if let Some((name, _)) = limits.into_iter().find(|(_, zero)| *zero) {
            return Err(SettingsError::Zero(name));
        }
        let grants_people = matches!(&self.authentication, Authentication::OAuth2Client(client) if client.grant.is_of_people());
        let uses = [
            ("the grant", grants_people),
            ("the variable `$person`", self.mapping.as_ref().is_some_and(MappedCalls::uses_person)),
        ];
        match uses.into_iter().find(|(_, uses)| *uses && self.identity.is_none()) {
            Some((name, _)) => Err(SettingsError::NoIdentity(name)),
            None => Ok(()),
        }
    }
}
