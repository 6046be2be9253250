//! Layer in front of the reference source, where faults act.

use std::collections::HashSet;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};
use tokio::sync::{Notify, Semaphore};
use tower::Service;
use url::form_urlencoded;

use super::fault::Act;
use super::reference::tokens::IssuedTokens;

pub(super) struct Faulty {
    act: Act,
    reference: Router,
    tokens: IssuedTokens,
    state: Arc<FaultState>,
}

pub(super) struct FaultState {
    pub(super) calls: AtomicUsize,
    /// Cursors or keywords of earlier searches.
    pub(super) used: Mutex<HashSet<String>>,
    pub(super) places: Semaphore,
    /// When no permit is left.
    pub(super) crowded: Notify,
}

impl Default for FaultState {
    fn default() -> Self {
        Self {
            calls: AtomicUsize::new(0),
            used: Mutex::default(),
            places: Semaphore::new(4),
            crowded: Notify::new(),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct SourceRequest {
    pub(super) path: String,
    pub(super) query: String,
    pub(super) keyword: Option<String>,
    pub(super) limit: Option<String>,
    pub(super) cursor: Option<String>,
    pub(super) authorization: Option<HeaderValue>,
    pub(super) accepts_gzip: bool,
}

pub(super) struct Call {
    pub(super) request: SourceRequest,
    pub(super) reference: Reference,
    pub(super) tokens: IssuedTokens,
    pub(super) state: Arc<FaultState>,
}

#[derive(Clone)]
pub(super) struct Reference(Router);

impl Faulty {
    pub(super) fn new(act: Act, reference: Router, tokens: IssuedTokens) -> Self {
        Self { act, reference, tokens, state: Arc::default() }
    }
}

pub(super) async fn misbehave(State(faulty): State<Arc<Faulty>>, request: Request) -> Response {
    let request = SourceRequest::read(request).await;
    let reference = Reference(faulty.reference.clone());
    if let Act::Search(answer) = faulty.act {
        let (tokens, state) = (faulty.tokens.clone(), Arc::clone(&faulty.state));
        return answer(Call { request, reference, tokens, state }).await;
    }
    let mut page = match reference.page(&request).await {
        Ok(page) => page,
        Err(refusal) => return refusal,
    };
    match faulty.act {
        Act::Page(change) => change(&request, &mut page),
        Act::Item(change) => page["data"].as_array_mut().unwrap().iter_mut().for_each(change),
        Act::Send(send) => return send(&request, page.to_string()),
        Act::Bytes(_) | Act::Search(_) | Act::Token(_) => {}
    }
    send_json(page.to_string())
}

impl SourceRequest {
    async fn read(request: Request) -> Self {
        let (parts, body) = request.into_parts();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
        let fields: Map<String, Value> = if body.is_empty() {
            let pairs = form_urlencoded::parse(query.as_bytes());
            pairs.map(|(name, value)| (name.into_owned(), Value::from(value.into_owned()))).collect()
        } else {
            serde_json::from_slice(&body).unwrap_or_default()
        };
        let text = |name| match fields.get(name)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let encodings = parts.headers.get_all(header::ACCEPT_ENCODING);
        Self {
            path: parts.uri.path().to_owned(),
            keyword: text("keyword"),
            limit: text("limit"),
            cursor: text("cursor"),
            authorization: parts.headers.get(header::AUTHORIZATION).cloned(),
            accepts_gzip: encodings
                .iter()
                .any(|value| value.to_str().is_ok_and(|text| text.contains("gzip"))),
            query,
        }
    }

    fn to_request(&self) -> Request {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("keyword", &self.keyword), ("limit", &self.limit), ("cursor", &self.cursor)] {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        let mut request = Request::get(format!("/search?{}", query.finish())).body(Body::empty()).unwrap();
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
        }
        request
    }

    pub(super) fn with_limit(&self, limit: usize) -> Self {
        Self { limit: Some(limit.to_string()), ..self.clone() }
    }

    pub(super) fn after(&self, cursor: Option<String>) -> Self {
        Self { cursor, ..self.clone() }
    }

    pub(super) fn limit_or_default(&self) -> usize {
        self.limit.as_deref().and_then(|limit| limit.parse().ok()).unwrap_or(10)
    }
}

impl Reference {
    pub(super) async fn ask(&self, request: &SourceRequest) -> Response {
        let Ok(response) = self.0.clone().call(request.to_request()).await;
        response
    }

    pub(super) async fn page(&self, request: &SourceRequest) -> Result<Value, Response> {
        let response = self.ask(request).await;
        if response.status() != StatusCode::OK {
            return Err(response);
        }
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Ok(serde_json::from_slice(&body).unwrap())
    }
}

pub(super) fn send_json(text: impl Into<Body>) -> Response {
    send_as("application/json;charset=UTF-8", text)
}

pub(super) fn send_as(content_type: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, content_type)], body.into()).into_response()
}
