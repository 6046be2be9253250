//! HTTP client of a cluster: failover between its nodes, deadlines, classified failures.

mod rest;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::{Certificate, Method, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use trawl_engine::Failure;
use url::Url;

use self::rest::{Admission, Rest};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Time of one try; the next node has as long again.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(2);
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Parameter of writes: OpenSearch waits less for a missing shard than this client for an answer.
pub(crate) const SHARD_TIMEOUT: &str = "timeout=15s";
/// A node fails if its caller gives up after as long.
const HANGING: Duration = Duration::from_secs(1);

/// Largest answer after decompression: a page of 1,000 items of 128 KiB.
const MAX_ANSWER_BYTES: usize = 128 << 20;

const UNREACHABLE: &str = "OpenSearch cannot be reached";
const BUSY: &str = "OpenSearch is overloaded";
const INCOMPLETE: &str = "OpenSearch lacks a part of the index";
const REFUSED: &str = "OpenSearch refuses trawl's credentials";

/// Connection to a cluster.
pub struct Client {
    http: reqwest::Client,
    /// Never empty.
    nodes: Vec<Node>,
    credentials: Credentials,
    /// Spreads calls over the nodes.
    calls: AtomicUsize,
}

struct Node {
    url: Url,
    rest: Mutex<Rest>,
}

/// A call to a node, whose outcome the node's pause depends on.
struct Attempt<'a> {
    node: &'a Node,
    began: Instant,
    admission: Admission,
    is_over: bool,
}

/// Proof of who asks.
#[derive(Clone, Default)]
pub enum Credentials {
    /// A cluster without security.
    #[default]
    None,
    /// A user's name and password.
    Basic {
        /// User name.
        username: String,
        /// Their password.
        password: SecretString,
    },
    /// Key that is sent in the header `Authorization: ApiKey`.
    ApiKey(SecretString),
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The rest of the addresses may hold a password.
        let hosts: Vec<_> =
            self.nodes.iter().map(|node| (node.url.host_str(), node.url.port_or_known_default())).collect();
        formatter
            .debug_struct("Client")
            .field("hosts", &hosts)
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
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
    pub(crate) body: Option<RequestBody>,
    timeout: Duration,
}

pub(crate) enum RequestBody {
    Json(Value),
    /// One JSON value a line.
    Lines(Vec<u8>),
}

impl<'a> Call<'a> {
    pub(crate) fn search(path: &'a str, body: RequestBody) -> Self {
        Self { method: Method::POST, path, body: Some(body), timeout: SEARCH_TIMEOUT }
    }

    pub(crate) fn write(method: Method, path: &'a str, body: Option<RequestBody>) -> Self {
        Self { method, path, body, timeout: WRITE_TIMEOUT }
    }

    pub(crate) fn get(path: &'a str) -> Self {
        Self { method: Method::GET, path, body: None, timeout: SEARCH_TIMEOUT }
    }
}

/// Status and body of an answer.
pub(crate) struct ClusterAnswer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
}

impl ClusterAnswer {
    /// The body of a success.
    pub(crate) fn success(self) -> Result<Value, Failure> {
        if self.status.is_success() { Ok(self.body) } else { Err(failure(self.status, &self.body)) }
    }
}

impl Node {
    /// `None` while the node is left out.
    fn attempt(&self) -> Option<Attempt<'_>> {
        let began = Instant::now();
        let admission = self.with_rest(|rest| rest.admit(began))?;
        Some(Attempt { node: self, began, admission, is_over: false })
    }

    /// Begins a pause, unless there is one.
    fn failed(&self, error: &str) {
        let host = self.url.host_str();
        if let Some(pause) = self.with_rest(|rest| rest.failed(Instant::now())) {
            tracing::warn!(host, error, ?pause, "a node of OpenSearch did not answer and is left out");
        }
    }

    fn with_rest<T>(&self, work: impl FnOnce(&mut Rest) -> T) -> T {
        work(&mut self.rest.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Attempt<'_> {
    fn answered(mut self) {
        self.is_over = true;
        self.node.with_rest(Rest::answered);
    }

    fn failed(mut self, error: &str) {
        self.is_over = true;
        self.node.failed(error);
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        // The caller's deadline has passed.
        if self.began.elapsed() >= HANGING {
            self.node.failed("its caller's deadline passed");
        } else {
            self.node.with_rest(|rest| rest.abandoned(self.admission));
        }
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
            let authorities = Certificate::from_pem_bundle(authorities).map_err(invalid)?;
            if authorities.is_empty() {
                return Err(Failure::Failed("there is no certificate of an authority".to_owned()));
            }
            http = http.tls_certs_only(authorities);
        }
        let http = http.build().map_err(invalid)?;
        let nodes = nodes.into_iter().map(|url| Node { url, rest: Mutex::default() }).collect();
        Ok(Self { http, nodes, credentials, calls: AtomicUsize::new(0) })
    }

    /// Asks the nodes that are not left out in turn, until one answers.
    ///
    /// A node that fails is left out for a while. Where all are, the one whose pause ends first is asked.
    pub(crate) async fn send(&self, call: Call<'_>) -> Result<ClusterAnswer, Failure> {
        let Call { method, path, body, timeout } = call;
        let (content_type, body) = match body {
            None => ("application/json", Vec::new()),
            Some(RequestBody::Json(value)) => ("application/json", value.to_string().into_bytes()),
            Some(RequestBody::Lines(lines)) => ("application/x-ndjson", lines),
        };
        let request = |node: &Node| {
            let address = format!("{}/{path}", node.url.as_str().trim_end_matches('/'));
            let request = self.http.request(method.clone(), address).timeout(timeout);
            // Bodies are searches and parts of a bulk; a clone is a copy of some KiB beside the network.
            self.with_credentials(request).header("content-type", content_type).body(body.clone())
        };
        let first = self.calls.fetch_add(1, Ordering::Relaxed) % self.nodes.len();
        let (earlier, later) = self.nodes.split_at(first);
        let mut failed = None;
        for node in later.iter().chain(earlier) {
            let Some(attempt) = node.attempt() else { continue };
            match ask(request(node), attempt).await {
                Err(Failure::Unavailable(text)) => failed = Some(Failure::Unavailable(text)),
                answer => return answer,
            }
        }
        if let Some(failed) = failed {
            return Err(failed);
        }
        let node = self.nodes.iter().min_by_key(|node| node.with_rest(|rest| rest.until()));
        let node = node.ok_or_else(unreachable)?;
        let attempt = Attempt { node, began: Instant::now(), admission: Admission::Regular, is_over: false };
        ask(request(node), attempt).await
    }

    /// The answer's body, if it is a success.
    pub(crate) async fn call(&self, call: Call<'_>) -> Result<Value, Failure> {
        self.send(call).await?.success()
    }

    fn with_credentials(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.credentials {
            Credentials::None => request,
            Credentials::Basic { username, password } => {
                request.basic_auth(username, Some(password.expose_secret()))
            }
            Credentials::ApiKey(key) => {
                request.header("authorization", format!("ApiKey {}", key.expose_secret()))
            }
        }
    }
}

/// [`Failure::Unavailable`] if another node may answer.
async fn ask(request: RequestBuilder, attempt: Attempt<'_>) -> Result<ClusterAnswer, Failure> {
    match read(request).await {
        Err(error) => {
            // The address may hold a password.
            attempt.failed(&with_causes(&error.without_url()));
            Err(unreachable())
        }
        Ok((status, bytes)) => {
            attempt.answered();
            let Some(bytes) = bytes else {
                let mebibytes = MAX_ANSWER_BYTES >> 20;
                return Err(Failure::Failed(format!("OpenSearch answered with more than {mebibytes} MiB")));
            };
            let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            if matches!(status.as_u16(), 502..=504) {
                return Err(failure(status, &body));
            }
            Ok(ClusterAnswer { status, body })
        }
    }
}

/// Status and body; `None` for one that is too long.
async fn read(request: RequestBuilder) -> Result<(StatusCode, Option<Vec<u8>>), reqwest::Error> {
    let mut response = request.send().await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if bytes.len() + chunk.len() > MAX_ANSWER_BYTES {
            return Ok((response.status(), None));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok((response.status(), Some(bytes)))
}

fn with_causes(error: &reqwest::Error) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
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
        429 => overloaded(),
        _ => Failure::Failed(format!("OpenSearch refused a request with {status}: {reason}")),
    }
}

/// The failure of a cluster that takes no more now.
pub(crate) fn overloaded() -> Failure {
    Failure::Unavailable(BUSY.to_owned())
}

/// The failure of a cluster that does not answer.
pub(crate) fn unreachable() -> Failure {
    Failure::Unavailable(UNREACHABLE.to_owned())
}

/// Whether an index or a shard was not there.
pub(crate) fn lacks_a_part(failure: &Failure) -> bool {
    matches!(failure, Failure::Unavailable(text) if text == INCOMPLETE)
}
