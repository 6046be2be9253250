//! Kept-alive connections by hyper.
//!
//! They take half the processor time of reqwest.

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

use super::response::RequestFailure;
use crate::cli::client::error_chain;

const MAX_BODY_BYTES: usize = 256 << 20;

type HttpSender = SendRequest<Full<Bytes>>;

#[derive(Clone, Debug)]
pub(super) struct PreparedRequest {
    pub(super) method: Method,
    pub(super) path: PathAndQuery,
}

pub(super) struct ConnectionPool {
    connector: HttpsConnector<HttpConnector>,
    address: Uri,
    /// Path of the server, without a trailing slash.
    base: String,
    headers: RwLock<HeaderMap>,
    /// Last in, first out, to keep few connections.
    idle: Mutex<Vec<HttpSender>>,
    timeout: Duration,
}

impl ConnectionPool {
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

    pub(super) fn use_token(&self, token: &SecretString) -> Result<(), String> {
        let mut value: HeaderValue = format!("Bearer {}", token.expose_secret())
            .parse()
            .map_err(|_| "the token cannot be sent in a header".to_owned())?;
        value.set_sensitive(true);
        self.headers.write().unwrap_or_else(PoisonError::into_inner).insert(AUTHORIZATION, value);
        Ok(())
    }

    /// `path` begins with a slash and is percent-encoded.
    pub(super) fn target(&self, method: Method, path: &str) -> Result<PreparedRequest, String> {
        let path = format!("{}{path}", self.base).parse().map_err(|error| format!("{path}: {error}"))?;
        Ok(PreparedRequest { method, path })
    }

    pub(super) async fn exchange(
        &self,
        target: &PreparedRequest,
        body: Option<Bytes>,
    ) -> Result<(StatusCode, Bytes), RequestFailure> {
        let exchange = self.exchange_in_any_time(self.request(target, body));
        // The dropped future closes its connection.
        tokio::time::timeout(self.timeout, exchange).await.unwrap_or_else(|_| {
            Err(RequestFailure::unanswered("timeout", format_args!("no answer within {:?}", self.timeout)))
        })
    }

    fn request(&self, target: &PreparedRequest, body: Option<Bytes>) -> Request<Full<Bytes>> {
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
    ) -> Result<(StatusCode, Bytes), RequestFailure> {
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
                    let body = Limited::new(response.into_body(), MAX_BODY_BYTES).collect().await;
                    let body =
                        body.map_err(|error| RequestFailure::unanswered("broken off", error_chain(&*error)))?;
                    self.idle().push(sender);
                    return Ok((status, body.to_bytes()));
                }
                // Closed before the server saw the request: try another.
                Err(mut error) => match error.take_message().filter(|_| was_kept) {
                    Some(unsent) => request = unsent,
                    None => {
                        return Err(RequestFailure::unanswered(
                            "broken off",
                            error_chain(&error.into_error()),
                        ));
                    }
                },
            }
        }
    }

    async fn take(&self) -> Option<HttpSender> {
        loop {
            let mut sender = self.idle().pop()?;
            if sender.ready().await.is_ok() {
                return Some(sender);
            }
        }
    }

    async fn open(&self) -> Result<HttpSender, RequestFailure> {
        let stream = self
            .connector
            .clone()
            .oneshot(self.address.clone())
            .await
            .map_err(|error| RequestFailure::unanswered("connect", error_chain(&*error)))?;
        let (sender, connection) = http1::handshake(stream)
            .await
            .map_err(|error| RequestFailure::unanswered("connect", error_chain(&error)))?;
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<HttpSender>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
