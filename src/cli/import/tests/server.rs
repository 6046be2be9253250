//! A small server that keeps what it is sent and answers as it is told: the other side of the sender's tests.

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

/// How one data request is answered instead of being carried out.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    /// This status, with `Retry-After: 0` if so told.
    Status(u16, bool),
    /// HTTP 200 with this code in the envelope.
    Code(i64),
    /// 401, and the tokens given so far are void.
    TokenVoid,
    /// Carried out, but the answer gets lost.
    LostAnswer,
    /// Never answered; whoever waits for `hung` is told.
    Hang,
}

#[derive(Default)]
pub(super) struct Kept {
    /// The accepted rows by id, and how often each came.
    pub(super) rows: BTreeMap<String, (Value, usize)>,
    /// The ids of each data request that was carried out.
    pub(super) requests: Vec<Vec<String>>,
    /// The path of the last data request, and its enterprise code.
    pub(super) path: String,
    pub(super) enterprise: Option<String>,
    pub(super) tokens: usize,
    /// Answers for the next data requests, the first one first.
    pub(super) script: VecDeque<Option<Reply>>,
    /// Ids that are refused with this message.
    pub(super) refused: BTreeMap<String, String>,
    /// Larger bodies are 413.
    pub(super) most_bytes: Option<usize>,
    /// 413 answers given.
    pub(super) too_large: usize,
}

#[derive(Clone, Default)]
pub(super) struct Server {
    kept: Arc<Mutex<Kept>>,
    pub(super) hung: Arc<Notify>,
}

impl Server {
    /// Starts on a free port; the address.
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

    pub(super) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap()
    }

    /// Answers the next data requests so.
    pub(super) fn script(&self, replies: impl IntoIterator<Item = Option<Reply>>) {
        self.kept().script.extend(replies);
    }

    /// The answer to a data request that is not carried out.
    async fn intercept(&self, headers: &HeaderMap, body: &str) -> Result<bool, Response> {
        let authorization = headers["authorization"].to_str().unwrap().to_owned();
        let reply = {
            let mut kept = self.kept();
            if authorization != format!("Bearer token-{}", kept.tokens) {
                return Err(envelope(StatusCode::UNAUTHORIZED, "token is void"));
            }
            if kept.most_bytes.is_some_and(|most| body.len() > most) {
                kept.too_large += 1;
                return Err(envelope(StatusCode::PAYLOAD_TOO_LARGE, "body is too large"));
            }
            kept.enterprise = headers.get("indicated-e-code").map(|code| code.to_str().unwrap().to_owned());
            kept.script.pop_front().flatten()
        };
        match reply {
            None => Ok(true),
            Some(Reply::LostAnswer) => Ok(false),
            Some(Reply::Code(code)) => {
                Err(axum::Json(json!({"code": code, "message": "business"})).into_response())
            }
            Some(Reply::TokenVoid) => {
                // Whoever asks for the next one gets another number.
                self.kept().tokens += 1;
                Err(envelope(StatusCode::UNAUTHORIZED, "token is void"))
            }
            Some(Reply::Status(status, is_timed)) => {
                let mut response = envelope(StatusCode::from_u16(status).unwrap(), "as scripted");
                if is_timed {
                    response.headers_mut().insert("retry-after", "0".parse().unwrap());
                }
                Err(response)
            }
            Some(Reply::Hang) => {
                self.hung.notify_one();
                std::future::pending().await
            }
        }
    }

    /// Keeps the rows; those refused by id.
    fn keep(&self, body: &str, id_name: &str) -> Vec<(String, String)> {
        let rows: Vec<Value> = serde_json::from_str(body).unwrap();
        let mut kept = self.kept();
        let id_of = |row: &Value| row[id_name].as_str().unwrap().to_owned();
        kept.requests.push(rows.iter().map(id_of).collect());
        let mut failures = Vec::new();
        for row in rows {
            let id = id_of(&row);
            if let Some(message) = kept.refused.get(&id) {
                failures.push((id, message.clone()));
            } else {
                let entry = kept.rows.entry(id).or_default();
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

async fn issue_token(State(server): State<Server>, headers: HeaderMap, body: String) -> Response {
    use base64::Engine;
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("{CLIENT_ID}:{CLIENT_SECRET}"));
    if headers["authorization"] != format!("Basic {basic}") {
        let refusal = json!({"error": "invalid_client", "error_description": "unknown client"});
        return (StatusCode::UNAUTHORIZED, axum::Json(refusal)).into_response();
    }
    assert_eq!(body, "grant_type=client_credentials");
    let mut kept = server.kept();
    kept.tokens += 1;
    let token = format!("token-{}", kept.tokens);
    axum::Json(json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": "s"}))
        .into_response()
}

async fn put_contents(
    State(server): State<Server>,
    Path(module): Path<String>,
    headers: HeaderMap,
    body: String,
) -> Response {
    server.kept().path = format!("/v1/contents/{module}");
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

async fn create_tasks(State(server): State<Server>, headers: HeaderMap, body: String) -> Response {
    server.kept().path = "/api/todo/batch_create".to_owned();
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
