//! A scripted external system.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    extract::{Request, State},
    http::{Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};
use tokio::{net::TcpListener, sync::Semaphore, task::JoinHandle};
use trawl_connectors::ClientCredentials;
use url::Url;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Good,
    Status(u16),
    /// Status, and `Retry-After` in seconds.
    RetryAfter(u16, u64),
    Body(String),
    Silent,
    /// A page in the wrong order.
    Disordered,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ReceivedSearch {
    pub(crate) method: String,
    pub(crate) keyword: String,
    pub(crate) limit: usize,
    pub(crate) cursor: String,
    pub(crate) authorization: String,
    pub(crate) api_key: String,
    pub(crate) traceparent: String,
    pub(crate) tracestate: String,
}

#[derive(Debug)]
struct Script {
    /// Newest first (contract).
    items: Vec<Value>,
    reply: Reply,
    /// Another reply for this cursor.
    reply_at: Option<(String, Reply)>,
    token: Option<String>,
    refuses_tokens: bool,
    tokens: usize,
    asked: Vec<ReceivedSearch>,
    /// Closing it releases the answers.
    held: Option<Arc<Semaphore>>,
    swallows: usize,
    next_cursor: Option<Reply>,
}

/// Stopped with its test's runtime or by [`ExternalSystem::stop`].
pub(crate) struct ExternalSystem {
    base: Url,
    script: Arc<Mutex<Script>>,
    server: JoinHandle<()>,
}

impl ExternalSystem {
    pub(crate) async fn start(items: Vec<Value>) -> Self {
        let script = Script {
            items,
            reply: Reply::Good,
            reply_at: None,
            token: None,
            refuses_tokens: false,
            tokens: 0,
            asked: Vec::new(),
            held: None,
            swallows: 0,
            next_cursor: None,
        };
        let script = Arc::new(Mutex::new(script));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&script));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base, script, server }
    }

    pub(crate) fn put_first(&self, item: Value) {
        self.script.lock().unwrap().items.insert(0, item);
    }

    pub(crate) fn remove_first(&self, count: usize) {
        self.script.lock().unwrap().items.drain(..count);
    }

    pub(crate) fn set_reply(&self, reply: Reply) {
        self.script.lock().unwrap().reply = reply;
    }

    pub(crate) fn set_reply_at(&self, cursor_and_mood: Option<(&str, Reply)>) {
        let reply_at = cursor_and_mood.map(|(cursor, reply)| (cursor.to_owned(), reply));
        self.script.lock().unwrap().reply_at = reply_at;
    }

    pub(crate) fn invalidate_tokens(&self) {
        self.script.lock().unwrap().token = Some("none".to_owned());
    }

    pub(crate) fn refuse_tokens(&self) {
        self.script.lock().unwrap().refuses_tokens = true;
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedSearch> {
        self.script.lock().unwrap().asked.clone()
    }

    /// Until [`ExternalSystem::release_answers`].
    pub(crate) fn hold_answers(&self) {
        self.script.lock().unwrap().held = Some(Arc::new(Semaphore::new(0)));
    }

    pub(crate) fn release_answers(&self) {
        if let Some(held) = self.script.lock().unwrap().held.take() {
            held.close();
        }
    }

    pub(crate) fn ignore_next(&self, searches: usize) {
        self.script.lock().unwrap().swallows = searches;
    }

    pub(crate) fn set_reply_at_next_cursor(&self, reply: Reply) {
        self.script.lock().unwrap().next_cursor = Some(reply);
    }

    pub(crate) fn issued_tokens(&self) -> usize {
        self.script.lock().unwrap().tokens
    }

    pub(crate) async fn stop(&mut self) {
        self.server.abort();
        assert!((&mut self.server).await.unwrap_err().is_cancelled());
    }

    /// Form of its registration: GET, no credentials, time order, pages of ten.
    pub(crate) fn registration(&self, id: &str) -> Value {
        json!({
            "id": id, "name": format!("System {id}"), "url": self.base.join("search").unwrap(), "method": "GET",
            "auth": {"type": "NONE"}, "order": "time", "timeoutMs": 10_000, "pageSize": 10, "maxConcurrency": 8,
            "enabled": true,
        })
    }

    /// From now on searches need a token of its token endpoint.
    pub(crate) fn credentials(&self) -> Value {
        self.invalidate_tokens();
        json!({
            "type": "OAUTH2_CLIENT", "tokenUrl": self.base.join("token").unwrap(), "clientId": "trawl",
            "clientSecret": SECRET,
        })
    }
}

pub(crate) fn auth(credentials: &ClientCredentials) -> Value {
    let ClientCredentials { token_url, client_id, client_secret, scope, audience, .. } = credentials;
    json!({
        "type": "OAUTH2_CLIENT", "tokenUrl": token_url, "clientId": client_id,
        "clientSecret": client_secret.expose_secret(), "scope": scope, "audience": audience,
    })
}

pub(crate) const SECRET: &str = "very secret";

pub(crate) fn with(mut registration: Value, field: &str, value: impl Into<Value>) -> Value {
    registration[field] = value.into();
    registration
}

async fn answer(State(script): State<Arc<Mutex<Script>>>, request: Request) -> Response {
    if request.method() == Method::HEAD {
        // The request that opens a connection before the first search.
        return StatusCode::OK.into_response();
    }
    if request.uri().path() == "/token" {
        return give_token(&mut script.lock().unwrap());
    }
    let asked = read(request).await;
    let (reply, held) = {
        let mut script = script.lock().unwrap();
        script.asked.push(asked.clone());
        let left = script.swallows.checked_sub(1);
        script.swallows = left.unwrap_or_default();
        let usual = script.reply.clone();
        if !asked.cursor.is_empty()
            && let Some(reply) = script.next_cursor.take()
        {
            script.reply = reply;
        }
        let reply = script.respond(&asked);
        script.reply = usual;
        (reply.filter(|_| left.is_none()), script.held.clone())
    };
    if let Some(held) = held {
        assert!(held.acquire().await.is_err(), "there are no permits");
    }
    match reply {
        Some(response) => response,
        None => std::future::pending().await,
    }
}

fn give_token(script: &mut Script) -> Response {
    if script.refuses_tokens {
        return (StatusCode::UNAUTHORIZED, r#"{"error":"invalid_client"}"#).into_response();
    }
    script.tokens += 1;
    let token = format!("token-{}", script.tokens);
    script.token = Some(token.clone());
    json_answer(&json!({"access_token": token, "token_type": "Bearer", "expires_in": 3_600}))
}

async fn read(request: Request) -> ReceivedSearch {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let fields: Map<String, Value> = if body.is_empty() {
        let pairs = url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        pairs.map(|(name, value)| (name.into_owned(), Value::from(value.into_owned()))).collect()
    } else {
        serde_json::from_slice(&body).unwrap()
    };
    let text = |name: &str| match fields.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let header = |name: &str| {
        parts.headers.get(name).map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
    };
    ReceivedSearch {
        method: parts.method.to_string(),
        keyword: text("keyword"),
        limit: text("limit").parse().unwrap_or(10),
        cursor: text("cursor"),
        authorization: header("authorization"),
        api_key: header("x-api-key"),
        traceparent: header("traceparent"),
        tracestate: header("tracestate"),
    }
}

impl Script {
    fn respond(&self, asked: &ReceivedSearch) -> Option<Response> {
        let expected = self.token.as_ref().map(|token| format!("Bearer {token}"));
        if expected.is_some_and(|expected| expected != asked.authorization) {
            return Some(StatusCode::UNAUTHORIZED.into_response());
        }
        let reply = match &self.reply_at {
            Some((cursor, reply)) if *cursor == asked.cursor => reply,
            _ => &self.reply,
        };
        Some(match reply {
            Reply::Silent => return None,
            Reply::Status(status) => StatusCode::from_u16(*status).unwrap().into_response(),
            Reply::RetryAfter(status, seconds) => {
                let status = StatusCode::from_u16(*status).unwrap();
                (status, [(header::RETRY_AFTER, seconds.to_string())]).into_response()
            }
            Reply::Body(body) => ([(header::CONTENT_TYPE, "application/json")], body.clone()).into_response(),
            Reply::Good | Reply::Disordered => self.page(asked, reply),
        })
    }

    fn page(&self, asked: &ReceivedSearch, reply: &Reply) -> Response {
        let offset: usize = asked.cursor.parse().unwrap_or(0);
        let mut data: Vec<Value> = self.items.iter().skip(offset).take(asked.limit).cloned().collect();
        let end = offset + data.len();
        let cursor = (end < self.items.len()).then(|| end.to_string());
        if *reply == Reply::Disordered {
            data.reverse();
        }
        json_answer(&json!({
            "code": 200, "message": null, "data": data, "count": data.len(), "total": self.items.len(),
            "cursor": cursor,
        }))
    }
}

fn json_answer(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json;charset=UTF-8")], value.to_string()).into_response()
}
