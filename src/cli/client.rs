//! The HTTP client shared by the commands that talk to a running server: options, credentials, token, envelope.
//!
//! It sends one request and says what came of it; trying again is the command's decision, since an import waits
//! where a benchmark must not.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Method, StatusCode, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use url::Url;

/// A token is renewed this long before it expires, so that none expires on the way.
const RENEWAL_MARGIN: Duration = Duration::from_secs(30);
/// How long the server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long one request may take: a full batch on a slow line.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(2);

/// Where the server is and who calls it (decisions 1).
#[derive(Debug, Clone, clap::Args)]
pub struct ServerOptions {
    /// Address of the running server
    #[arg(long, env = "TRAWL_SERVER", value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub server: Url,
    /// Id of the calling application, as `trawl app create` printed it
    #[arg(long, env = "TRAWL_CLIENT_ID", value_name = "ID")]
    pub client_id: Option<String>,
    /// File that holds the application's secret (or the secret itself in the environment: `TRAWL_CLIENT_SECRET`)
    #[arg(long, value_name = "FILE")]
    pub client_secret_file: Option<PathBuf>,
    /// Enterprise to act on, for domain and admin applications
    #[arg(long, value_name = "CODE")]
    pub indicated_e_code: Option<String>,
}

/// Why a client could not be made: the options are wrong (exit code 2).
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// No application was named.
    #[error("no application is named: give --client-id or set TRAWL_CLIENT_ID")]
    NoClientId,
    /// No secret was given.
    #[error("no secret is given: give --client-secret-file or set TRAWL_CLIENT_SECRET")]
    NoSecret,
    /// The file of the secret cannot be read.
    #[error("the secret cannot be read from {path}: {source}")]
    SecretFile {
        /// The file as given.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The address is not an HTTP one.
    #[error("{0} is not an http or https address")]
    Address(Url),
    /// The enterprise code cannot be a header value.
    #[error("the enterprise code must be plain text without line breaks")]
    EnterpriseCode,
    /// The HTTP client could not be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Http(String),
}

/// What went wrong with one request, sorted by what the caller can do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// 429 or 503 with `Retry-After`: come again after the wait.
    #[error("HTTP {status}: {message}")]
    Busy {
        /// The HTTP status.
        status: u16,
        /// The server's message.
        message: String,
        /// How long the server asks to wait.
        wait: Duration,
    },
    /// No answer: connection refused or broken, name unknown, too late. May pass.
    #[error("{0}")]
    Unreachable(String),
    /// The server failed (5xx, or 429 without a time). May pass.
    #[error("HTTP {status}: {message}")]
    Server {
        /// The HTTP status.
        status: u16,
        /// The server's message.
        message: String,
    },
    /// 413: the body is larger than the server takes.
    #[error("HTTP 413: {0}")]
    TooLarge(String),
    /// The server says no (another 4xx, or a business code in the envelope). Trying again does not help.
    #[error("{status}: {message}")]
    Refused {
        /// The HTTP status, or the envelope's code where the status is 200.
        status: i64,
        /// The server's message.
        message: String,
    },
    /// The answer is not what a trawl server answers.
    #[error("the answer is not a trawl server's: {0}")]
    Unreadable(String),
}

impl Failure {
    /// Whether the same request may succeed a little later without the server having named a time.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Server { .. })
    }
}

/// The common envelope (decisions 2); `T` is the shape of `data`.
#[derive(Debug, Deserialize)]
struct Envelope<T> {
    code: i64,
    message: Option<String>,
    data: Option<T>,
}

/// The answer of the token endpoint (RFC 6749 §5.1).
#[derive(Deserialize)]
struct TokenAnswer {
    access_token: SecretString,
    expires_in: Option<u64>,
}

/// The refusal of the token endpoint (RFC 6749 §5.2).
#[derive(Deserialize)]
struct TokenRefusal {
    error: String,
    error_description: Option<String>,
}

struct Token {
    value: SecretString,
    /// When to fetch the next one; never, if the server gave no lifetime.
    renew_at: Option<Instant>,
}

/// A caller of one server as one application.
pub struct Client {
    http: reqwest::Client,
    server: Url,
    application: String,
    secret: SecretString,
    enterprise: HeaderMap,
    /// Held while a token is fetched, so that however many requests wait, one is fetched.
    token: Mutex<Option<Token>>,
}

impl Client {
    /// Makes a client; nothing is sent yet. The secret is read here, once.
    pub fn new(options: &ServerOptions) -> Result<Self, SetupError> {
        let application =
            options.client_id.clone().filter(|id| !id.is_empty()).ok_or(SetupError::NoClientId)?;
        let ("http" | "https", Some(host)) = (options.server.scheme(), options.server.host()) else {
            return Err(SetupError::Address(options.server.clone()));
        };
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .user_agent(concat!("trawl/", env!("CARGO_PKG_VERSION")))
            // A token must not follow a redirect to somewhere else.
            .redirect(redirect::Policy::none());
        if is_loopback(&host) {
            builder = builder.no_proxy();
        }
        let mut enterprise = HeaderMap::new();
        if let Some(code) = &options.indicated_e_code {
            enterprise.insert("indicated-e-code", code.parse().map_err(|_| SetupError::EnterpriseCode)?);
        }
        Ok(Self {
            http: builder.build().map_err(|error| SetupError::Http(error_chain(&error)))?,
            server: options.server.clone(),
            application,
            secret: read_secret(options)?,
            enterprise,
            token: Mutex::new(None),
        })
    }

    /// Sends a JSON body to the path made of `segments` (each is percent-encoded) and gives the envelope's `data`,
    /// `None` where it is null. A 401 is answered by fetching a new token, once.
    pub async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        segments: &[&str],
        body: Bytes,
    ) -> Result<Option<T>, Failure> {
        let mut token = self.token(None).await?;
        let mut response = self.send_once(&method, segments, body.clone(), &token).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            token = self.token(Some(&token)).await?;
            response = self.send_once(&method, segments, body, &token).await?;
        }
        let status = response.status();
        let wait = retry_after(response.headers(), jiff::Timestamp::now());
        let answer = response.bytes().await.map_err(unreachable)?;
        if !status.is_success() {
            let message = serde_json::from_slice::<Envelope<serde::de::IgnoredAny>>(&answer)
                .ok()
                .and_then(|envelope| envelope.message);
            return Err(failure(status, message, wait));
        }
        let envelope: Envelope<T> =
            serde_json::from_slice(&answer).map_err(|error| Failure::Unreadable(error.to_string()))?;
        if envelope.code == 200 {
            Ok(envelope.data)
        } else {
            let message = envelope.message.unwrap_or_default();
            Err(Failure::Refused { status: envelope.code, message })
        }
    }

    async fn send_once(
        &self,
        method: &Method,
        segments: &[&str],
        body: Bytes,
        token: &SecretString,
    ) -> Result<reqwest::Response, Failure> {
        self.http
            .request(method.clone(), self.address(segments))
            .headers(self.enterprise.clone())
            .header(AUTHORIZATION, format!("Bearer {}", token.expose_secret()))
            .header(CONTENT_TYPE, "application/json")
            .body(body)
            .send()
            .await
            .map_err(unreachable)
    }

    /// The path below the server's address, which may itself have one (behind a proxy).
    fn address(&self, segments: &[&str]) -> Url {
        let mut address = self.server.clone();
        if let Ok(mut path) = address.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        address
    }

    /// The current token; a new one if there is none, if it is about to expire, or if it is the `refused` one.
    async fn token(&self, refused: Option<&SecretString>) -> Result<SecretString, Failure> {
        let mut current = self.token.lock().await;
        if let Some(token) = current.as_ref() {
            let is_refused = refused.is_some_and(|old| old.expose_secret() == token.value.expose_secret());
            let is_due = token.renew_at.is_some_and(|time| Instant::now() >= time);
            if !is_refused && !is_due {
                return Ok(token.value.clone());
            }
        }
        *current = None;
        let (value, usable) = self.new_token().await?;
        let renew_at = usable.and_then(|usable| Instant::now().checked_add(usable));
        *current = Some(Token { value: value.clone(), renew_at });
        Ok(value)
    }

    /// A new token, and how long it may be used before the next one is due; without end, if the server names none.
    pub(super) async fn new_token(&self) -> Result<(SecretString, Option<Duration>), Failure> {
        let answer = self.fetch_token().await?;
        let usable =
            answer.expires_in.map(|seconds| Duration::from_secs(seconds).saturating_sub(RENEWAL_MARGIN));
        Ok((answer.access_token, usable))
    }

    /// The headers that name the enterprise to act on, if one was given.
    pub(super) fn enterprise(&self) -> &HeaderMap {
        &self.enterprise
    }

    /// Client credentials by `client_secret_basic` (decisions 3.1).
    async fn fetch_token(&self) -> Result<TokenAnswer, Failure> {
        // RFC 6749 §2.3.1: both parts are form-encoded before they become Basic credentials.
        let encode = |part: &str| url::form_urlencoded::byte_serialize(part.as_bytes()).collect::<String>();
        let response = self
            .http
            .post(self.address(&["oauth2", "token"]))
            .basic_auth(encode(&self.application), Some(encode(self.secret.expose_secret())))
            .form(&[("grant_type", "client_credentials")])
            .send()
            .await
            .map_err(unreachable)?;
        let status = response.status();
        let wait = retry_after(response.headers(), jiff::Timestamp::now());
        let answer = response.bytes().await.map_err(unreachable)?;
        if status.is_success() {
            return serde_json::from_slice(&answer)
                .map_err(|_| Failure::Unreadable("no token in the token endpoint's answer".to_owned()));
        }
        let message = serde_json::from_slice::<TokenRefusal>(&answer).ok().map(|refusal| {
            let description = refusal.error_description.map(|text| format!(" ({text})")).unwrap_or_default();
            format!("no token: {}{description}", refusal.error)
        });
        Err(failure(status, message.or_else(|| Some("no token".to_owned())), wait))
    }
}

fn read_secret(options: &ServerOptions) -> Result<SecretString, SetupError> {
    match &options.client_secret_file {
        Some(path) => read_secret_file(path),
        None => trim_secret(&std::env::var("TRAWL_CLIENT_SECRET").map_err(|_| SetupError::NoSecret)?),
    }
}

/// The secret that a file holds.
///
/// # Errors
/// [`SetupError::SecretFile`], and [`SetupError::NoSecret`] where it is empty.
pub(super) fn read_secret_file(path: &Path) -> Result<SecretString, SetupError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| SetupError::SecretFile { path: path.to_owned(), source })?;
    trim_secret(&text)
}

/// A file written by an editor or by `echo` ends with a line break that is no part of the secret.
fn trim_secret(text: &str) -> Result<SecretString, SetupError> {
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.is_empty() { Err(SetupError::NoSecret) } else { Ok(SecretString::from(secret)) }
}

/// A proxy cannot reach this machine's own loopback addresses.
fn is_loopback(host: &url::Host<&str>) -> bool {
    match host {
        url::Host::Domain(name) => *name == "localhost",
        url::Host::Ipv4(address) => address.is_loopback(),
        url::Host::Ipv6(address) => address.is_loopback(),
    }
}

fn failure(status: StatusCode, message: Option<String>, wait: Option<Duration>) -> Failure {
    let message =
        message.unwrap_or_else(|| status.canonical_reason().unwrap_or("no reason given").to_owned());
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => Failure::TooLarge(message),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE if wait.is_some() => {
            Failure::Busy { status: status.as_u16(), message, wait: wait.unwrap_or_default() }
        }
        _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            Failure::Server { status: status.as_u16(), message }
        }
        _ => Failure::Refused { status: i64::from(status.as_u16()), message },
    }
}

/// `Retry-After` as seconds or as an HTTP date (RFC 9110 §10.2.3), from `now` on.
fn retry_after(headers: &HeaderMap, now: jiff::Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

fn unreachable(error: reqwest::Error) -> Failure {
    Failure::Unreachable(error_chain(&error.without_url()))
}

/// An error with its causes: reqwest's own text alone does not say "connection refused".
pub(super) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_of(value: &str) -> Option<Duration> {
        let now: jiff::Timestamp = "1994-11-06T08:49:00Z".parse().unwrap();
        retry_after(&HeaderMap::from_iter([(RETRY_AFTER, value.parse().unwrap())]), now)
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(wait_of("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait_of("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(37)));
        assert_eq!(wait_of("Sun, 06 Nov 1994 08:48:00 GMT"), Some(Duration::ZERO), "a past date is now");
        assert_eq!(wait_of("soon"), None);
    }

    #[test]
    fn failures_are_sorted_by_what_can_be_done() {
        let second = Some(Duration::from_secs(1));
        assert!(matches!(failure(StatusCode::TOO_MANY_REQUESTS, None, second), Failure::Busy { .. }));
        assert!(failure(StatusCode::SERVICE_UNAVAILABLE, None, None).may_pass());
        assert!(failure(StatusCode::BAD_GATEWAY, None, second).may_pass());
        assert!(matches!(failure(StatusCode::PAYLOAD_TOO_LARGE, None, None), Failure::TooLarge(_)));
        let refused = failure(StatusCode::FORBIDDEN, Some("tenant is frozen".to_owned()), None);
        assert_eq!(refused.to_string(), "403: tenant is frozen");
        assert!(!refused.may_pass());
    }

    #[test]
    fn the_secret_comes_from_the_file_without_its_line_break_and_is_never_shown() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "s3cret \r\n").unwrap();
        let options = ServerOptions {
            server: "http://127.0.0.1:1/base/".parse().unwrap(),
            client_id: Some("app".to_owned()),
            client_secret_file: Some(file.path().to_owned()),
            indicated_e_code: None,
        };
        assert_eq!(read_secret(&options).unwrap().expose_secret(), "s3cret ");
        let client = Client::new(&options).unwrap();
        assert!(!format!("{:?}", client.secret).contains("s3cret"));
        assert_eq!(client.address(&["v1", "a/b"]).as_str(), "http://127.0.0.1:1/base/v1/a%2Fb");
    }

    #[test]
    fn wrong_options_are_named() {
        let mut options = ServerOptions {
            server: "ftp://example.org".parse().unwrap(),
            client_id: None,
            client_secret_file: Some("/nonexistent/secret".into()),
            indicated_e_code: None,
        };
        assert!(matches!(Client::new(&options), Err(SetupError::NoClientId)));
        options.client_id = Some("app".to_owned());
        assert!(matches!(Client::new(&options), Err(SetupError::Address(_))));
        options.server = "http://127.0.0.1".parse().unwrap();
        assert!(matches!(Client::new(&options), Err(SetupError::SecretFile { .. })));
    }
}
