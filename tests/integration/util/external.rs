//! An external system that answers the contract, or breaks it, as a test says (specification, "Search data sources").

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

/// How the system answers searches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// By the contract.
    Good,
    /// With this HTTP status.
    Status(u16),
    /// With this HTTP status and so many seconds as `Retry-After`.
    RetryAfter(u16, u64),
    /// With this body.
    Body(String),
    /// Never.
    Silent,
    /// By the contract, but its pages are in the wrong order.
    Disordered,
    /// By the contract, but its cursor does not move.
    Stuck,
}

/// One search as the system was asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) keyword: String,
    pub(crate) limit: usize,
    pub(crate) cursor: String,
    pub(crate) authorization: String,
    /// Empty where it is not there.
    pub(crate) traceparent: String,
    pub(crate) tracestate: String,
}

#[derive(Debug)]
struct Script {
    /// In the contract's order: by time, newest first.
    items: Vec<Value>,
    mood: Mood,
    /// With this cursor the mood is another one.
    mood_at: Option<(String, Mood)>,
    /// Answers 401 to any other token.
    token: Option<String>,
    /// The token endpoint's answer is a refusal.
    refuses_tokens: bool,
    tokens: usize,
    asked: Vec<Asked>,
    /// Answers wait until it is closed.
    held: Option<Arc<Semaphore>>,
    /// So many searches from now on are never answered.
    swallows: usize,
    /// The next search with a cursor is answered so.
    next_cursor: Option<Mood>,
}

/// A running external system; it ends with its test's runtime, or by [`ExternalSystem::stop`].
pub(crate) struct ExternalSystem {
    base: Url,
    script: Arc<Mutex<Script>>,
    server: JoinHandle<()>,
}

impl ExternalSystem {
    /// A system that holds these items, newest first, whatever the keyword.
    pub(crate) async fn start(items: Vec<Value>) -> Self {
        let script = Script {
            items,
            mood: Mood::Good,
            mood_at: None,
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

    /// Puts an item before all others.
    pub(crate) fn put_first(&self, item: Value) {
        self.script.lock().unwrap().items.insert(0, item);
    }

    /// Removes the first so many items.
    pub(crate) fn remove_first(&self, count: usize) {
        self.script.lock().unwrap().items.drain(..count);
    }

    pub(crate) fn set_mood(&self, mood: Mood) {
        self.script.lock().unwrap().mood = mood;
    }

    /// Another mood for one cursor; `None` ends that.
    pub(crate) fn set_mood_at(&self, cursor_and_mood: Option<(&str, Mood)>) {
        let mood_at = cursor_and_mood.map(|(cursor, mood)| (cursor.to_owned(), mood));
        self.script.lock().unwrap().mood_at = mood_at;
    }

    /// Tokens given out so far become void; the next one counts.
    pub(crate) fn void_tokens(&self) {
        self.script.lock().unwrap().token = Some("none".to_owned());
    }

    pub(crate) fn refuse_tokens(&self) {
        self.script.lock().unwrap().refuses_tokens = true;
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.script.lock().unwrap().asked.clone()
    }

    /// Holds every answer back from now on, until [`ExternalSystem::let_go`].
    pub(crate) fn hold(&self) {
        self.script.lock().unwrap().held = Some(Arc::new(Semaphore::new(0)));
    }

    /// Lets the answers go that were held back.
    pub(crate) fn let_go(&self) {
        if let Some(held) = self.script.lock().unwrap().held.take() {
            held.close();
        }
    }

    /// Never answers the next so many searches.
    pub(crate) fn swallow_next(&self, searches: usize) {
        self.script.lock().unwrap().swallows = searches;
    }

    /// Another mood for the next search with a cursor.
    pub(crate) fn set_mood_at_next_cursor(&self, mood: Mood) {
        self.script.lock().unwrap().next_cursor = Some(mood);
    }

    /// How many tokens were given out.
    pub(crate) fn tokens(&self) -> usize {
        self.script.lock().unwrap().tokens
    }

    /// Ends it: its address refuses connections from now on.
    pub(crate) async fn stop(&mut self) {
        self.server.abort();
        assert!((&mut self.server).await.unwrap_err().is_cancelled());
    }

    /// How it is registered: GET, without credentials, in time order, pages of ten.
    pub(crate) fn registration(&self, id: &str) -> Value {
        json!({
            "id": id, "name": format!("System {id}"), "url": self.base.join("search").unwrap(), "method": "GET",
            "auth": {"type": "NONE"}, "order": "time", "timeoutMs": 10_000, "pageSize": 10, "maxConcurrency": 8,
            "enabled": true,
        })
    }

    /// Credentials for its token endpoint; searches without a token of it are 401 from now on.
    pub(crate) fn credentials(&self) -> Value {
        self.void_tokens();
        json!({
            "type": "OAUTH2_CLIENT", "tokenUrl": self.base.join("token").unwrap(), "clientId": "trawl",
            "clientSecret": SECRET,
        })
    }
}

/// Credentials as they are registered.
pub(crate) fn auth(credentials: &ClientCredentials) -> Value {
    let ClientCredentials { token_url, client_id, client_secret, scope, audience } = credentials;
    json!({
        "type": "OAUTH2_CLIENT", "tokenUrl": token_url, "clientId": client_id,
        "clientSecret": client_secret.expose_secret(), "scope": scope, "audience": audience,
    })
}

/// The secret of [`ExternalSystem::credentials`].
pub(crate) const SECRET: &str = "very secret";

/// The same registration with another field.
pub(crate) fn with(mut registration: Value, field: &str, value: impl Into<Value>) -> Value {
    registration[field] = value.into();
    registration
}

async fn answer(State(script): State<Arc<Mutex<Script>>>, request: Request) -> Response {
    if request.method() == Method::HEAD {
        // That is how a connection is opened before the first search.
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
        let usual = script.mood.clone();
        if !asked.cursor.is_empty()
            && let Some(mood) = script.next_cursor.take()
        {
            script.mood = mood;
        }
        let reply = script.reply(&asked);
        script.mood = usual;
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

async fn read(request: Request) -> Asked {
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
    Asked {
        method: parts.method.to_string(),
        keyword: text("keyword"),
        limit: text("limit").parse().unwrap_or(10),
        cursor: text("cursor"),
        authorization: header("authorization"),
        traceparent: header("traceparent"),
        tracestate: header("tracestate"),
    }
}

impl Script {
    /// The answer; `None` is silence.
    fn reply(&self, asked: &Asked) -> Option<Response> {
        let expected = self.token.as_ref().map(|token| format!("Bearer {token}"));
        if expected.is_some_and(|expected| expected != asked.authorization) {
            return Some(StatusCode::UNAUTHORIZED.into_response());
        }
        let mood = match &self.mood_at {
            Some((cursor, mood)) if *cursor == asked.cursor => mood,
            _ => &self.mood,
        };
        Some(match mood {
            Mood::Silent => return None,
            Mood::Status(status) => StatusCode::from_u16(*status).unwrap().into_response(),
            Mood::RetryAfter(status, seconds) => {
                let status = StatusCode::from_u16(*status).unwrap();
                (status, [(header::RETRY_AFTER, seconds.to_string())]).into_response()
            }
            Mood::Body(body) => ([(header::CONTENT_TYPE, "application/json")], body.clone()).into_response(),
            Mood::Good | Mood::Disordered | Mood::Stuck => self.page(asked, mood),
        })
    }

    /// A page whose cursor is the offset of the next one.
    fn page(&self, asked: &Asked, mood: &Mood) -> Response {
        let offset: usize = asked.cursor.parse().unwrap_or(0);
        let mut data: Vec<Value> = self.items.iter().skip(offset).take(asked.limit).cloned().collect();
        let end = offset + data.len();
        let mut cursor = (end < self.items.len()).then(|| end.to_string());
        if *mood == Mood::Disordered {
            data.reverse();
        }
        if *mood == Mood::Stuck {
            cursor = Some("stuck".to_owned());
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
