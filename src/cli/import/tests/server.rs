//! A scripted server that records requests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{post, put};
use serde_json::{Value, json};
use tokio::sync::Notify;

pub(super) const CLIENT_ID: &str = "app";
pub(super) const CLIENT_SECRET: &str = "s3cret";

#[derive(Debug, Clone)]
pub(super) enum ScriptedReply {
    /// With `Retry-After: 0` if true.
    Status(u16, bool),
    /// In the envelope of HTTP 200.
    Code(i64),
    /// 401; all tokens become void.
    TokenVoid,
    /// Handled, but the answer is lost.
    LostAnswer,
    Hang,
}

#[derive(Default)]
pub(super) struct ServerState {
    /// By id, with the number of arrivals.
    pub(super) rows: BTreeMap<String, (Value, usize)>,
    pub(super) requests: Vec<Vec<String>>,
    pub(super) path: String,
    pub(super) enterprise: Option<String>,
    pub(super) tokens: usize,
    pub(super) script: VecDeque<Option<ScriptedReply>>,
    pub(super) refused: BTreeMap<String, String>,
    pub(super) max_bytes: Option<usize>,
    pub(super) too_large: usize,
}

#[derive(Clone, Default)]
pub(super) struct TestServer {
    state: Arc<Mutex<ServerState>>,
    pub(super) hung: Arc<Notify>,
}

impl TestServer {
    pub(super) async fn start(&self) -> String {
        let routes = Router::new()
            .route("/oauth2/token", post(issue_token))
            .route("/v1/contents/{module}", put(put_contents))
            .route("/api/todo/batch_create", post(create_tasks))
            .layer(axum::extract::DefaultBodyLimit::max(8 * 1024 * 1024))
            .with_state(self.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        format!("http://{address}")
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap()
    }

    pub(super) fn script(&self, replies: impl IntoIterator<Item = Option<ScriptedReply>>) {
        self.state().script.extend(replies);
    }

    /// Applies the script; whether the answer arrives.
    async fn intercept(&self, headers: &HeaderMap, body: &str) -> Result<bool, Response> {
        let authorization = headers["authorization"].to_str().unwrap().to_owned();
        let reply = {
            let mut state = self.state();
            if authorization != format!("Bearer token-{}", state.tokens) {
                return Err(envelope(StatusCode::UNAUTHORIZED, "token is void"));
            }
            if state.max_bytes.is_some_and(|most| body.len() > most) {
                state.too_large += 1;
                return Err(envelope(StatusCode::PAYLOAD_TOO_LARGE, "body is too large"));
            }
            state.enterprise = headers.get("indicated-e-code").map(|code| code.to_str().unwrap().to_owned());
            state.script.pop_front().flatten()
        };
        match reply {
            None => Ok(true),
            Some(ScriptedReply::LostAnswer) => Ok(false),
            Some(ScriptedReply::Code(code)) => {
                Err(axum::Json(json!({"code": code, "message": "business"})).into_response())
            }
            Some(ScriptedReply::TokenVoid) => {
                self.state().tokens += 1;
                Err(envelope(StatusCode::UNAUTHORIZED, "token is void"))
            }
            Some(ScriptedReply::Status(status, is_timed)) => {
                let mut response = envelope(StatusCode::from_u16(status).unwrap(), "as scripted");
                if is_timed {
                    response.headers_mut().insert("retry-after", "0".parse().unwrap());
                }
                Err(response)
            }
            Some(ScriptedReply::Hang) => {
                self.hung.notify_one();
                std::future::pending().await
            }
        }
    }

    fn keep(&self, body: &str, id_name: &str) -> Vec<(String, String)> {
        let rows: Vec<Value> = serde_json::from_str(body).unwrap();
        let mut state = self.state();
        let id_of = |row: &Value| row[id_name].as_str().unwrap().to_owned();
        state.requests.push(rows.iter().map(id_of).collect());
        let mut failures = Vec::new();
        for row in rows {
            let id = id_of(&row);
            if let Some(message) = state.refused.get(&id) {
                failures.push((id, message.clone()));
            } else {
                let entry = state.rows.entry(id).or_default();
                *entry = (row, entry.1 + 1);
            }
        }
        failures
    }
}

fn envelope(status: StatusCode, message: &str) -> Response {
    (status, axum::Json(json!({"code": status.as_u16(), "message": message, "data": null}))).into_response()
}

fn answer(data: &Value, is_lost: bool) -> Response {
    if is_lost {
        return envelope(StatusCode::BAD_GATEWAY, "the answer got lost");
    }
    axum::Json(json!({"code": 200, "message": null, "data": data})).into_response()
}

async fn issue_token(State(server): State<TestServer>, headers: HeaderMap, body: String) -> Response {
    use base64::Engine;
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("{CLIENT_ID}:{CLIENT_SECRET}"));
    if headers["authorization"] != format!("Basic {basic}") {
        let refusal = json!({"error": "invalid_client", "error_description": "unknown client"});
        return (StatusCode::UNAUTHORIZED, axum::Json(refusal)).into_response();
    }
    assert_eq!(body, "grant_type=client_credentials");
    let mut state = server.state();
    state.tokens += 1;
    let token = format!("token-{}", state.tokens);
    axum::Json(json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": "s"}))
        .into_response()
}

async fn put_contents(
    State(server): State<TestServer>,
    Path(module): Path<String>,
    headers: HeaderMap,
    body: String,
) -> Response {
    server.state().path = format!("/v1/contents/{module}");
    match server.intercept(&headers, &body).await {
        Err(response) => response,
        Ok(is_answered) => {
            let failures = server.keep(&body, "id");
            let failures: Vec<_> =
                failures.into_iter().map(|(id, message)| json!({"id": id, "message": message})).collect();
            answer(&failures.into(), !is_answered)
        }
    }
}

async fn create_tasks(State(server): State<TestServer>, headers: HeaderMap, body: String) -> Response {
    server.state().path = "/api/todo/batch_create".to_owned();
    match server.intercept(&headers, &body).await {
        Err(response) => response,
        Ok(is_answered) => {
            let failures = server.keep(&body, "appTaskId");
            let error: Vec<_> = failures
                .into_iter()
                .map(|(id, message)| json!({"id": null, "appTaskId": id, "message": message}))
                .collect();
            answer(&json!({"success": [], "error": error}), !is_answered)
        }
    }
}
