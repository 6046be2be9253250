//! The layer in front of the reference source: what was asked, what the reference answers to that, and where a fault
//! comes in.

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
use super::reference::tokens::Tokens;

/// A running faulty source.
pub(super) struct Faulty {
    act: Act,
    reference: Router,
    /// The tokens that the reference takes.
    tokens: Tokens,
    memory: Arc<Memory>,
}

/// What some faults need to remember.
pub(super) struct Memory {
    /// Calls that were answered.
    pub(super) calls: AtomicUsize,
    /// Cursors that were used.
    pub(super) used: Mutex<HashSet<String>>,
    /// Places for searches under way, where there are only so many.
    pub(super) places: Semaphore,
    /// Told when there are none left.
    pub(super) crowded: Notify,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            calls: AtomicUsize::new(0),
            used: Mutex::default(),
            places: Semaphore::new(4),
            crowded: Notify::new(),
        }
    }
}

/// What a source was asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) path: String,
    pub(super) query: String,
    pub(super) keyword: Option<String>,
    pub(super) limit: Option<String>,
    pub(super) cursor: Option<String>,
    pub(super) authorization: Option<HeaderValue>,
    pub(super) accepts_gzip: bool,
}

/// One search, with all that is needed to answer it wrongly.
pub(super) struct Call {
    pub(super) asked: Asked,
    pub(super) reference: Reference,
    pub(super) tokens: Tokens,
    pub(super) memory: Arc<Memory>,
}

/// The reference source, to be asked as often as needed.
#[derive(Clone)]
pub(super) struct Reference(Router);

impl Faulty {
    pub(super) fn new(act: Act, reference: Router, tokens: Tokens) -> Self {
        Self { act, reference, tokens, memory: Arc::default() }
    }
}

/// Answers one request as the fault has it.
pub(super) async fn misbehave(State(faulty): State<Arc<Faulty>>, request: Request) -> Response {
    let asked = Asked::read(request).await;
    let reference = Reference(faulty.reference.clone());
    if let Act::Search(answer) = faulty.act {
        let (tokens, memory) = (faulty.tokens.clone(), Arc::clone(&faulty.memory));
        return answer(Call { asked, reference, tokens, memory }).await;
    }
    let mut page = match reference.page(&asked).await {
        Ok(page) => page,
        Err(refusal) => return refusal,
    };
    match faulty.act {
        Act::Page(change) => change(&asked, &mut page),
        Act::Item(change) => page["data"].as_array_mut().unwrap().iter_mut().for_each(change),
        Act::Send(send) => return send(&asked, page.to_string()),
        Act::Bytes(_) | Act::Search(_) | Act::Token(_) => {}
    }
    send_json(page.to_string())
}

impl Asked {
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

    /// The same page of another length.
    pub(super) fn of_length(&self, limit: usize) -> Self {
        Self { limit: Some(limit.to_string()), ..self.clone() }
    }

    /// The page after this cursor; `None`: the first.
    pub(super) fn after(&self, cursor: Option<String>) -> Self {
        Self { cursor, ..self.clone() }
    }

    /// How many items a page holds at the most.
    pub(super) fn length(&self) -> usize {
        self.limit.as_deref().and_then(|limit| limit.parse().ok()).unwrap_or(10)
    }
}

impl Reference {
    /// The reference's answer to this question.
    pub(super) async fn ask(&self, asked: &Asked) -> Response {
        let Ok(response) = self.0.clone().call(asked.to_request()).await;
        response
    }

    /// The envelope of the page that was asked for.
    ///
    /// # Errors
    /// The reference's refusal, to be passed on as it is.
    pub(super) async fn page(&self, asked: &Asked) -> Result<Value, Response> {
        let response = self.ask(asked).await;
        if response.status() != StatusCode::OK {
            return Err(response);
        }
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Ok(serde_json::from_slice(&body).unwrap())
    }
}

/// HTTP 200 with this JSON, as the contract has it.
pub(super) fn send_json(text: impl Into<Body>) -> Response {
    send_as("application/json;charset=UTF-8", text)
}

/// HTTP 200 with this body and content type.
pub(super) fn send_as(content_type: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, content_type)], body.into()).into_response()
}
