//! HTTP client of the commands that call a running server.
//!
//! It classifies failures and never retries: an import waits where a benchmark must not.

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

use crate::{config, json};

const RENEWAL_MARGIN: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Enough for a full batch over a slow connection.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(2);

/// Server and application.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ServerOptions {
    /// Address of the running server
    #[arg(long, env = "TRAWL_SERVER", value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub(super) server: Url,
    /// Id of the calling application, from `trawl app create`
    #[arg(long, env = "TRAWL_CLIENT_ID", value_name = "ID")]
    pub(super) client_id: Option<String>,
    /// File with the application's secret [default: `TRAWL_CLIENT_SECRET`]
    #[arg(long, value_name = "FILE")]
    pub(super) client_secret_file: Option<PathBuf>,
    /// Enterprise code to act on, for domain and admin applications
    #[arg(long, value_name = "CODE")]
    pub(super) indicated_e_code: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallError {
    /// 429 or 503 with `Retry-After`.
    #[error("HTTP {status}: {message}")]
    Busy { status: u16, message: String, wait: Duration },
    /// Refused, broken, unresolved or timed out: transient.
    #[error("{0}")]
    Unreachable(String),
    /// 5xx, or 429 without `Retry-After`: transient.
    #[error("HTTP {status}: {message}")]
    Server { status: u16, message: String },
    #[error("HTTP 413: {0}")]
    TooLarge(String),
    /// Another 4xx, or a business code of the envelope: permanent.
    #[error("{status}: {message}")]
    Refused {
        /// HTTP status, or the envelope's code where that is 200.
        status: i64,
        message: String,
    },
    #[error("the answer is not a trawl server's: {0}")]
    Unreadable(String),
}

impl CallError {
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Server { .. })
    }
}

#[derive(Debug, Deserialize)]
struct AnswerEnvelope<T> {
    code: i64,
    message: Option<String>,
    data: Option<T>,
}

/// RFC 6749 §5.1.
#[derive(Deserialize)]
struct AccessTokenAnswer {
    access_token: SecretString,
    expires_in: Option<u64>,
}

/// RFC 6749 §5.2.
#[derive(Deserialize)]
struct AccessTokenRefusal {
    error: String,
    error_description: Option<String>,
}

struct AccessToken {
    value: SecretString,
    /// Time of renewal; `None` if the server gave no lifetime.
    renew_at: Option<Instant>,
}

pub(super) struct ApiClient {
    http: reqwest::Client,
    server: Url,
    application: String,
    secret: SecretString,
    enterprise: HeaderMap,
    /// Locked during a fetch, so that requests share it.
    token: Mutex<Option<AccessToken>>,
}

impl ApiClient {
    /// # Errors
    /// A message that names the wrong option.
    pub(super) fn new(options: &ServerOptions) -> Result<Self, String> {
        let application = options.client_id.clone().filter(|id| !id.is_empty());
        let application = application.ok_or("--client-id or TRAWL_CLIENT_ID: is required")?;
        let ("http" | "https", Some(host)) = (options.server.scheme(), options.server.host()) else {
            return Err(format!("--server: must be an http or https address, not {}", options.server));
        };
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .user_agent(concat!("trawl/", env!("CARGO_PKG_VERSION")))
            // A redirect must not carry the token elsewhere.
            .redirect(redirect::Policy::none());
        if is_loopback(&host) {
            builder = builder.no_proxy();
        }
        let mut enterprise = HeaderMap::new();
        if let Some(code) = &options.indicated_e_code {
            let code = code.parse();
            let code = code.map_err(|_| "--indicated-e-code: must be plain text without line breaks")?;
            enterprise.insert("indicated-e-code", code);
        }
        Ok(Self {
            http: builder
                .build()
                .map_err(|error| format!("cannot build the HTTP client: {}", error_chain(&error)))?,
            server: options.server.clone(),
            application,
            secret: read_secret(options)?,
            enterprise,
            token: Mutex::new(None),
        })
    }

    /// Sends JSON and returns the envelope's `data`.
    ///
    /// After a 401 it fetches a new token and tries once more.
    ///
    /// `segments` of the path are percent-encoded.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        segments: &[&str],
        body: Bytes,
    ) -> Result<Option<T>, CallError> {
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
            let message = serde_json::from_slice::<AnswerEnvelope<serde::de::IgnoredAny>>(&answer)
                .ok()
                .and_then(|envelope| envelope.message);
            return Err(failure(status, message, wait));
        }
        let envelope: AnswerEnvelope<T> = json::read(&answer).map_err(CallError::Unreadable)?;
        if envelope.code == 200 {
            Ok(envelope.data)
        } else {
            let message = envelope.message.unwrap_or_default();
            Err(CallError::Refused { status: envelope.code, message })
        }
    }

    async fn send_once(
        &self,
        method: &Method,
        segments: &[&str],
        body: Bytes,
        token: &SecretString,
    ) -> Result<reqwest::Response, CallError> {
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

    /// The server's scheme, host and port.
    pub(super) fn origin(&self) -> String {
        self.server.origin().ascii_serialization()
    }

    fn address(&self, segments: &[&str]) -> Url {
        let mut address = self.server.clone();
        if let Ok(mut path) = address.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        address
    }

    async fn token(&self, refused: Option<&SecretString>) -> Result<SecretString, CallError> {
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
        *current = Some(AccessToken { value: value.clone(), renew_at });
        Ok(value)
    }

    pub(super) async fn new_token(&self) -> Result<(SecretString, Option<Duration>), CallError> {
        let answer = self.fetch_token().await?;
        let usable =
            answer.expires_in.map(|seconds| Duration::from_secs(seconds).saturating_sub(RENEWAL_MARGIN));
        Ok((answer.access_token, usable))
    }

    pub(super) fn enterprise(&self) -> &HeaderMap {
        &self.enterprise
    }

    /// Fetches a token for client credentials, by `client_secret_basic`.
    async fn fetch_token(&self) -> Result<AccessTokenAnswer, CallError> {
        // RFC 6749 §2.3.1: form encoding before Basic.
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
                .map_err(|_| CallError::Unreadable("no token in the token endpoint's answer".to_owned()));
        }
        let message = serde_json::from_slice::<AccessTokenRefusal>(&answer).ok().map(|refusal| {
            let description = refusal.error_description.map(|text| format!(" ({text})")).unwrap_or_default();
            format!("no token: {}{description}", refusal.error)
        });
        Err(failure(status, message.or_else(|| Some("no token".to_owned())), wait))
    }
}

fn read_secret(options: &ServerOptions) -> Result<SecretString, String> {
    match &options.client_secret_file {
        Some(path) => read_secret_file("--client-secret-file", path),
        None => config::client_secret()
            .and_then(|secret| trim_secret(secret.expose_secret()))
            .ok_or_else(|| "--client-secret-file or TRAWL_CLIENT_SECRET: is required".to_owned()),
    }
}

pub(super) fn read_secret_file(option: &str, path: &Path) -> Result<SecretString, String> {
    let shown = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{option}: cannot read {shown}: {error}"))?;
    trim_secret(&text).ok_or_else(|| format!("{option}: {shown} holds no secret"))
}

/// Editors and `echo` end a file with a line break.
fn trim_secret(text: &str) -> Option<SecretString> {
    let secret = text.trim_end_matches(['\r', '\n']);
    (!secret.is_empty()).then(|| SecretString::from(secret))
}

/// A proxy cannot reach this machine's loopback addresses.
fn is_loopback(host: &url::Host<&str>) -> bool {
    match host {
        url::Host::Domain(name) => *name == "localhost",
        url::Host::Ipv4(address) => address.is_loopback(),
        url::Host::Ipv6(address) => address.is_loopback(),
    }
}

fn failure(status: StatusCode, message: Option<String>, wait: Option<Duration>) -> CallError {
    let message =
        message.unwrap_or_else(|| status.canonical_reason().unwrap_or("no reason given").to_owned());
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => CallError::TooLarge(message),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE if wait.is_some() => {
            CallError::Busy { status: status.as_u16(), message, wait: wait.unwrap_or_default() }
        }
        _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            CallError::Server { status: status.as_u16(), message }
        }
        _ => CallError::Refused { status: i64::from(status.as_u16()), message },
    }
}

/// `Retry-After` in seconds or as a date (RFC 9110 §10.2.3).
fn retry_after(headers: &HeaderMap, now: jiff::Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

fn unreachable(error: reqwest::Error) -> CallError {
    CallError::Unreachable(error_chain(&error.without_url()))
}

/// An error with its causes; reqwest's own text omits them.
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
    fn failures_are_classified_by_remedy() {
        let second = Some(Duration::from_secs(1));
        assert!(matches!(failure(StatusCode::TOO_MANY_REQUESTS, None, second), CallError::Busy { .. }));
        assert!(failure(StatusCode::SERVICE_UNAVAILABLE, None, None).may_pass());
        assert!(failure(StatusCode::BAD_GATEWAY, None, second).may_pass());
        assert!(matches!(failure(StatusCode::PAYLOAD_TOO_LARGE, None, None), CallError::TooLarge(_)));
        let refused = failure(StatusCode::FORBIDDEN, Some("tenant is frozen".to_owned()), None);
        assert_eq!(refused.to_string(), "403: tenant is frozen");
        assert!(!refused.may_pass());
    }

    #[test]
    fn secret_is_trimmed_and_never_shown() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "s3cret \r\n").unwrap();
        let options = ServerOptions {
            server: "http://127.0.0.1:1/base/".parse().unwrap(),
            client_id: Some("app".to_owned()),
            client_secret_file: Some(file.path().to_owned()),
            indicated_e_code: None,
        };
        assert_eq!(read_secret(&options).unwrap().expose_secret(), "s3cret ");
        let client = ApiClient::new(&options).unwrap();
        assert!(!format!("{:?}", client.secret).contains("s3cret"));
        assert_eq!(client.address(&["v1", "a/b"]).as_str(), "http://127.0.0.1:1/base/v1/a%2Fb");
    }
}
