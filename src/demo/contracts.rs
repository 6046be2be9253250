//! External system of the demo: search contract, token endpoint, pages.

use std::{
    collections::HashSet,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use minijinja::{Environment, value::Serde};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::content;
use crate::{auth::secrets, time::rfc3339};

pub(super) const HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;
pub(super) const CLIENT_ID: &str = "trawl";

const PAGE: &str = include_str!("contract.html");
const PAGE_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";

const DEFAULT_LIMIT: usize = 10;
const MAX_LIMIT: usize = 100;

pub(super) struct ContractSystem {
    address: SocketAddr,
    client_secret: SecretString,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

struct ContractRegister {
    /// Newest first.
    contracts: Vec<Map<String, Value>>,
    client_secret: SecretString,
    tokens: Mutex<HashSet<String>>,
}

impl ContractSystem {
    /// Starts on a free loopback port.
    ///
    /// With `has_pages`, contracts lead to their pages.
    pub(super) async fn start(now: i64, has_pages: bool) -> std::io::Result<Self> {
        let listener = TcpListener::bind((HOST, 0)).await?;
        let address = listener.local_addr()?;
        let mut contracts = content::with_display_times(include_str!("data/contracts.jsonl"), now)
            .map_err(std::io::Error::other)?;
        contracts.sort_by_key(|contract| std::cmp::Reverse(contract["displayTime"].as_i64()));
        for contract in contracts.iter_mut().filter(|_| has_pages) {
            let path = format!("/contracts/{}", contract["id"].as_str().unwrap_or_default());
            let lines = format!("[OpenUrl]\nurl=http://{address}{path}");
            contract.insert("action".to_owned(), json!({ "web": lines }).to_string().into());
        }
        let client_secret = secrets::generate().map_err(std::io::Error::other)?;
        let register = Arc::new(ContractRegister {
            contracts,
            client_secret: client_secret.clone(),
            tokens: Mutex::default(),
        });
        let service = Router::new()
            .route("/oauth2/token", post(issue_token))
            .route("/contracts/search", get(search))
            .route("/contracts/{id}", get(show))
            .with_state(register);
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, service).with_graceful_shutdown(stopped).await {
                tracing::error!(%error, "the demo's contract system ended");
            }
        });
        Ok(Self { address, client_secret, stop, task })
    }

    /// The address of a path below the system.
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn client_secret(&self) -> SecretString {
        self.client_secret.clone()
    }

    pub(super) async fn stop(self) {
        self.stop.cancel();
        // Kept-alive connections would delay a graceful stop.
        self.task.abort();
        drop(self.task.await);
    }
}

async fn issue_token(State(register): State<Arc<ContractRegister>>, headers: HeaderMap) -> Response {
    let expected = format!("{CLIENT_ID}:{}", register.client_secret.expose_secret());
    let given = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Basic "))
        .and_then(|encoded| BASE64_STANDARD.decode(encoded).ok());
    if given.as_deref() != Some(expected.as_bytes()) {
        return (StatusCode::UNAUTHORIZED, Json(json!({"error": "invalid_client"}))).into_response();
    }
    let Ok(token) = secrets::generate() else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let token = token.expose_secret().to_owned();
    register.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(token.clone());
    Json(json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600})).into_response()
}

#[derive(Deserialize)]
struct ContractQuery {
    #[serde(default)]
    keyword: String,
    limit: Option<usize>,
    cursor: Option<String>,
}

/// Finds contracts with every word. The cursor counts the items sent.
async fn search(
    State(register): State<Arc<ContractRegister>>,
    headers: HeaderMap,
    Query(parameters): Query<ContractQuery>,
) -> Response {
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    let known = |token: &str| register.tokens.lock().unwrap_or_else(PoisonError::into_inner).contains(token);
    if !token.is_some_and(known) {
        return refuse(StatusCode::UNAUTHORIZED, "no or bad credentials");
    }
    if parameters.keyword.trim().is_empty() {
        return refuse(StatusCode::BAD_REQUEST, "keyword: is required");
    }
    let Ok(skip) = parameters.cursor.as_deref().unwrap_or("0").parse::<usize>() else {
        return refuse(StatusCode::BAD_REQUEST, "cursor: must be one of an earlier page");
    };
    let limit = parameters.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let words: Vec<String> = parameters.keyword.split_whitespace().map(str::to_lowercase).collect();
    let matches = |contract: &&Map<String, Value>| {
        let text = ["id", "title", "subTitle", "brief"]
            .map(|field| contract.get(field).and_then(Value::as_str).unwrap_or_default().to_lowercase())
            .join("\n");
        words.iter().all(|word| text.contains(word.as_str()))
    };
    let found: Vec<_> = register.contracts.iter().filter(matches).collect();
    let data: Vec<_> = found.iter().skip(skip).take(limit).collect();
    let sent = skip + data.len();
    let page = json!({
        "code": 200,
        "message": null,
        "total": found.len(),
        "count": data.len(),
        "cursor": (sent < found.len()).then(|| sent.to_string()),
        "data": data,
    });
    answer(StatusCode::OK, &page)
}

/// A contract's own page, for everybody on this machine.
async fn show(State(register): State<Arc<ContractRegister>>, Path(id): Path<String>) -> Response {
    let found = register.contracts.iter().find(|contract| contract["id"] == id.as_str());
    let Some(contract) = found else { return StatusCode::NOT_FOUND.into_response() };
    let day =
        rfc3339(contract["displayTime"].as_i64().unwrap_or_default()).chars().take(10).collect::<String>();
    let shown = Serde(json!({ "contract": contract, "day": day }));
    // The name `.html` turns on escaping.
    match Environment::new().render_named_str("contract.html", PAGE, shown) {
        Ok(page) => ([(header::CONTENT_SECURITY_POLICY, PAGE_POLICY)], Html(page)).into_response(),
        Err(error) => {
            tracing::error!(%error, "the demo's page of a contract cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn refuse(status: StatusCode, message: &str) -> Response {
    answer(status, &json!({"code": status.as_u16(), "message": message, "data": null}))
}

/// The contract requires the charset.
fn answer(status: StatusCode, envelope: &Value) -> Response {
    let content_type = [(header::CONTENT_TYPE, "application/json;charset=UTF-8")];
    (status, content_type, envelope.to_string()).into_response()
}
