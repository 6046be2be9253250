//! A system with a search of its own, whose answers are a test's.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::{Bytes, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

const MAX_BODY_BYTES: usize = 1 << 20;

#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl ReceivedRequest {
    /// The decoded value of a query parameter; empty if there is none.
    pub(crate) fn parameter(&self, name: &str) -> String {
        let query = self.uri.query().unwrap_or_default();
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find(|(found, _)| found == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
    }
}

type Respond = dyn Fn(&ReceivedRequest) -> Response + Send + Sync;

/// Stopped with its test's runtime.
pub(crate) struct OwnSearch {
    pub(crate) base: Url,
    state: Arc<SystemState>,
}

struct SystemState {
    respond: Box<Respond>,
    received: Mutex<Vec<ReceivedRequest>>,
}

impl OwnSearch {
    pub(crate) async fn start(
        respond: impl Fn(&ReceivedRequest) -> Response + Send + Sync + 'static,
    ) -> Self {
        let state = Arc::new(SystemState { respond: Box::new(respond), received: Mutex::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&state));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base, state }
    }

    pub(crate) async fn always(body: impl Into<String>) -> Self {
        let body = body.into();
        Self::start(move |_| body.clone().into_response()).await
    }

    /// Searches, without the requests that open a connection.
    pub(crate) fn received(&self) -> Vec<ReceivedRequest> {
        self.state.received.lock().unwrap().clone()
    }

    /// A mapped source without credentials.
    pub(crate) fn registration(&self, id: &str, mapping: &Value) -> Value {
        json!({
            "id": id, "name": format!("System {id}"), "kind": "mapping", "url": self.base, "method": "GET",
            "auth": {"type": "NONE"}, "order": "time", "timeoutMs": 10_000, "pageSize": 10, "mapping": mapping,
        })
    }
}

async fn answer(State(state): State<Arc<SystemState>>, request: Request) -> Response {
    if request.method() == Method::HEAD {
        return StatusCode::OK.into_response();
    }
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY_BYTES).await.unwrap();
    let received = ReceivedRequest { uri: parts.uri, headers: parts.headers, body };
    state.received.lock().unwrap().push(received.clone());
    (state.respond)(&received)
}
