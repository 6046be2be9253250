//! Kept-alive connections to the server: hyper's own, since a request over them takes about half of the processor time
//! that it takes through reqwest's layers, and what the load generator takes a server on the same machine has not.

use std::{
    sync::{Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    HeaderMap, Method, Request, StatusCode, Uri,
    client::conn::http1::{self, SendRequest},
    header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT},
    http::uri::PathAndQuery,
};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use secrecy::{ExposeSecret, SecretString};
use tower::ServiceExt;
use url::Url;

use super::answer::Failure;
use crate::cli::client::error_chain;

/// The largest answer that is read: far above any page.
const MOST_BODY_BYTES: usize = 256 << 20;

type Sender = SendRequest<Full<Bytes>>;

/// A request as it is prepared before the run.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) method: Method,
    pub(super) path: PathAndQuery,
}

/// Connections to one server as one application.
pub(super) struct Connections {
    connector: HttpsConnector<HttpConnector>,
    /// Scheme, host and port.
    address: Uri,
    /// The server's own path, without a slash at its end.
    base: String,
    /// What every request says of itself, with the current token.
    headers: RwLock<HeaderMap>,
    /// The last one that was given back is the next to be used, so that there are no more than it takes.
    idle: Mutex<Vec<Sender>>,
    timeout: Duration,
}

impl Connections {
    /// Connections to a server; none is opened yet. Every request bears `headers`, and takes `timeout` at the most.
    ///
    /// # Errors
    /// The address is none of a server.
    pub(super) fn new(server: &Url, mut headers: HeaderMap, timeout: Duration) -> Result<Self, String> {
        let host = server.host_str().unwrap_or_default();
        let authority = match server.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let wrong = |error: &dyn std::error::Error| format!("{authority}: {error}");
        headers.insert(HOST, authority.parse().map_err(|error| wrong(&error))?);
        headers
            .insert(USER_AGENT, HeaderValue::from_static(concat!("trawl-bench/", env!("CARGO_PKG_VERSION"))));
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(timeout));
        let connector = HttpsConnectorBuilder::new().with_platform_verifier().https_or_http().enable_http1();
        Ok(Self {
            connector: connector.wrap_connector(tcp),
            address: format!("{}://{authority}", server.scheme()).parse().map_err(|error| wrong(&error))?,
            base: server.path().trim_end_matches('/').to_owned(),
            headers: RwLock::new(headers),
            idle: Mutex::new(Vec::new()),
            timeout,
        })
    }

    /// Has every further request bear this token.
    pub(super) fn use_token(&self, token: &SecretString) -> Result<(), String> {
        let mut value: HeaderValue = format!("Bearer {}", token.expose_secret())
            .parse()
            .map_err(|_| "the token cannot be sent in a header".to_owned())?;
        value.set_sensitive(true);
        self.headers.write().unwrap_or_else(PoisonError::into_inner).insert(AUTHORIZATION, value);
        Ok(())
    }

    /// A request to a path below the server's address; `path` begins with a slash and is percent-encoded.
    ///
    /// # Errors
    /// The path cannot be sent.
    pub(super) fn target(&self, method: Method, path: &str) -> Result<Target, String> {
        let path = format!("{}{path}", self.base).parse().map_err(|error| format!("{path}: {error}"))?;
        Ok(Target { method, path })
    }

    /// Sends a request, with a JSON body where there is one, and reads its answer.
    ///
    /// # Errors
    /// No connection, a broken one, or no whole answer in time.
    pub(super) async fn exchange(
        &self,
        target: &Target,
        body: Option<Bytes>,
    ) -> Result<(StatusCode, Bytes), Failure> {
        let exchange = self.exchange_in_any_time(self.request(target, body));
        // A connection whose answer did not come is dropped with the future, and closed.
        tokio::time::timeout(self.timeout, exchange).await.unwrap_or_else(|_| {
            Err(Failure::unanswered("timeout", format_args!("no answer within {:?}", self.timeout)))
        })
    }

    fn request(&self, target: &Target, body: Option<Bytes>) -> Request<Full<Bytes>> {
        let has_body = body.is_some();
        let mut request = Request::new(body.map_or_else(Full::default, Full::new));
        *request.method_mut() = target.method.clone();
        *request.uri_mut() = Uri::from(target.path.clone());
        request.headers_mut().clone_from(&self.headers.read().unwrap_or_else(PoisonError::into_inner));
        if has_body {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        request
    }

    async fn exchange_in_any_time(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), Failure> {
        loop {
            let kept = self.take().await;
            let was_kept = kept.is_some();
            let mut sender = match kept {
                Some(sender) => sender,
                None => self.open().await?,
            };
            match sender.try_send_request(request).await {
                Ok(response) => {
                    let status = response.status();
                    let body = Limited::new(response.into_body(), MOST_BODY_BYTES).collect().await;
                    let body =
                        body.map_err(|error| Failure::unanswered("broken off", error_chain(&*error)))?;
                    self.idle().push(sender);
                    return Ok((status, body.to_bytes()));
                }
                // A kept connection that the server closed before it saw the request says nothing of the request.
                Err(mut error) => match error.take_message().filter(|_| was_kept) {
                    Some(unsent) => request = unsent,
                    None => {
                        return Err(Failure::unanswered("broken off", error_chain(&error.into_error())));
                    }
                },
            }
        }
    }

    /// A kept connection that is still open.
    async fn take(&self) -> Option<Sender> {
        loop {
            let mut sender = self.idle().pop()?;
            if sender.ready().await.is_ok() {
                return Some(sender);
            }
        }
    }

    async fn open(&self) -> Result<Sender, Failure> {
        let stream = self
            .connector
            .clone()
            .oneshot(self.address.clone())
            .await
            .map_err(|error| Failure::unanswered("connect", error_chain(&*error)))?;
        let (sender, connection) = http1::handshake(stream)
            .await
            .map_err(|error| Failure::unanswered("connect", error_chain(&error)))?;
        // How a connection ends is told to the request that is on it.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Sender>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
