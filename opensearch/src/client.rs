//! HTTP client of a cluster: failover between its nodes, deadlines, classified failures.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::{Certificate, Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use trawl_engine::Failure;
use url::Url;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Of one try; the next node has as long again.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(2);
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

const UNREACHABLE: &str = "OpenSearch cannot be reached";
const BUSY: &str = "OpenSearch is overloaded";
const INCOMPLETE: &str = "OpenSearch lacks a part of the index";
const REFUSED: &str = "OpenSearch refuses trawl's credentials";

/// Connection to a cluster.
pub struct Client {
    http: reqwest::Client,
    /// Never empty.
    nodes: Vec<Url>,
    credentials: Credentials,
    /// The node that answered last.
    current: AtomicUsize,
}

/// Proof of who asks.
#[derive(Clone, Default)]
pub enum Credentials {
    /// A cluster without security.
    #[default]
    None,
    /// Of a user.
    Basic {
        /// User name.
        username: String,
        /// Their password.
        password: SecretString,
    },
    /// As sent in the header `Authorization: ApiKey`.
    ApiKey(SecretString),
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::None => "None",
            Self::Basic { .. } => "Basic",
            Self::ApiKey(_) => "ApiKey",
        })
    }
}

/// A request that any node may answer, more than once.
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    /// Below the node's address, with its parameters.
    pub(crate) path: &'a str,
    pub(crate) body: Option<Body>,
    timeout: Duration,
}

pub(crate) enum Body {
    Json(Value),
    /// One JSON value a line.
    Lines(Vec<u8>),
}

impl<'a> Call<'a> {
    pub(crate) fn search(path: &'a str, body: Body) -> Self {
        Self { method: Method::POST, path, body: Some(body), timeout: SEARCH_TIMEOUT }
    }

    pub(crate) fn write(method: Method, path: &'a str, body: Option<Body>) -> Self {
        Self { method, path, body, timeout: WRITE_TIMEOUT }
    }

    pub(crate) fn get(path: &'a str) -> Self {
        Self { method: Method::GET, path, body: None, timeout: SEARCH_TIMEOUT }
    }
}

/// Status and body of an answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
}

impl Answer {
    /// The body of a success.
    pub(crate) fn success(self) -> Result<Value, Failure> {
        if self.status.is_success() { Ok(self.body) } else { Err(failure(self.status, &self.body)) }
    }
}

impl Client {
    /// Connects to the nodes; PEM certificates of `authorities` are trusted instead of the system's.
    ///
    /// # Errors
    /// There is no node, or a certificate cannot be read.
    pub fn new(
        nodes: Vec<Url>,
        credentials: Credentials,
        authorities: Option<&[u8]>,
    ) -> Result<Self, Failure> {
        let invalid = |error: reqwest::Error| Failure::Failed(error.to_string());
        if nodes.is_empty() {
            return Err(Failure::Failed("OpenSearch has no address".to_owned()));
        }
        let mut http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .gzip(true);
        if let Some(authorities) = authorities {
            http = http.tls_certs_only(Certificate::from_pem_bundle(authorities).map_err(invalid)?);
        }
        let http = http.build().map_err(invalid)?;
        Ok(Self { http, nodes, credentials, current: AtomicUsize::new(0) })
    }

    /// Asks the node that answered last, then the others.
    pub(crate) async fn send(&self, call: Call<'_>) -> Result<Answer, Failure> {
        let Call { method, path, body, timeout } = call;
        let (content_type, body) = match body {
            None => ("application/json", Vec::new()),
            Some(Body::Json(value)) => ("application/json", value.to_string().into_bytes()),
            Some(Body::Lines(lines)) => ("application/x-ndjson", lines),
        };
        let first = self.current.load(Ordering::Relaxed);
        let mut failed = Failure::Unavailable(UNREACHABLE.to_owned());
        for try_number in 0..self.nodes.len() {
            let number = (first + try_number) % self.nodes.len();
            let Some(node) = self.nodes.get(number) else { continue };
            let address = format!("{}/{path}", node.as_str().trim_end_matches('/'));
            let mut request = self.http.request(method.clone(), address).timeout(timeout);
            request = match &self.credentials {
                Credentials::None => request,
                Credentials::Basic { username, password } => {
                    request.basic_auth(username, Some(password.expose_secret()))
                }
                Credentials::ApiKey(key) => {
                    request.header("authorization", format!("ApiKey {}", key.expose_secret()))
                }
            };
            // Bodies are searches and parts of a bulk; a clone is a copy of some KiB beside the network.
            let request = request.header("content-type", content_type).body(body.clone());
            let answered = async {
                let response = request.send().await?;
                Ok::<_, reqwest::Error>((response.status(), response.bytes().await?))
            };
            match answered.await {
                Err(error) => {
                    // Without the address, which may hold a password.
                    tracing::warn!(node = number, error = %error.without_url(), "a node of OpenSearch did not answer");
                }
                Ok((status, bytes)) => {
                    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
                    if matches!(status.as_u16(), 502..=504) {
                        failed = failure(status, &body);
                        continue;
                    }
                    self.current.store(number, Ordering::Relaxed);
                    return Ok(Answer { status, body });
                }
            }
        }
        Err(failed)
    }

    /// The answer's body, if it is a success.
    pub(crate) async fn call(&self, call: Call<'_>) -> Result<Value, Failure> {
        self.send(call).await?.success()
    }
}

/// Tells a cluster that cannot answer now from a request that it never will.
pub(crate) fn failure(status: StatusCode, body: &Value) -> Failure {
    let reason = body["error"]["reason"].as_str().or(body["error"].as_str()).unwrap_or("no reason is given");
    match status.as_u16() {
        401 | 403 => Failure::Unavailable(REFUSED.to_owned()),
        // The indexer creates what is missing.
        404 | 500..=599 => {
            tracing::warn!(%status, reason, "OpenSearch cannot answer");
            Failure::Unavailable(INCOMPLETE.to_owned())
        }
        429 => Failure::Unavailable(BUSY.to_owned()),
        _ => Failure::Failed(format!("OpenSearch refused a request with {status}: {reason}")),
    }
}
