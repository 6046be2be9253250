//! A server that answers by keyword and issues a new token every time.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

#[derive(Default)]
struct Record {
    issued: usize,
    seen: BTreeSet<String>,
}

type Shared = Arc<(u64, Mutex<Record>)>;

#[derive(Deserialize)]
struct SearchQuery {
    keyword: String,
}

pub(super) struct Fake {
    pub(super) base: String,
    shared: Shared,
    serving: JoinHandle<()>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Fake {
    pub(super) async fn start(token_seconds: u64) -> Self {
        let shared = Shared::new((token_seconds, Mutex::default()));
        let router = Router::new()
            .route("/oauth2/token", post(issue_token))
            .route("/contents/search", post(search))
            .with_state(Arc::clone(&shared));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base, shared, serving }
    }

    pub(super) fn application() -> Value {
        json!({"clientId": "any", "clientSecret": "s3cret-of-any"})
    }

    pub(super) fn tokens_seen(&self) -> BTreeSet<String> {
        self.shared.1.lock().unwrap().seen.clone()
    }
}

async fn issue_token(State(shared): State<Shared>) -> Response {
    let mut record = shared.1.lock().unwrap();
    record.issued += 1;
    let token = format!("token-{}", record.issued);
    axum::Json(json!({"access_token": token, "token_type": "Bearer", "expires_in": shared.0})).into_response()
}

async fn search(
    State(shared): State<Shared>,
    Query(asked): Query<SearchQuery>,
    headers: HeaderMap,
) -> Response {
    let token = headers["authorization"].to_str().unwrap().strip_prefix("Bearer ").unwrap();
    shared.1.lock().unwrap().seen.insert(token.to_owned());
    let page = |partial: bool| {
        json!({"code": 200, "message": null, "data": [], "total": 0, "count": 0, "cursor": null,
            "partial": partial, "sources": []})
    };
    let failure = |code: u32, message: &str| json!({"code": code, "message": message, "data": null});
    match asked.keyword.as_str() {
        "good" => axum::Json(page(false)).into_response(),
        "partial" => axum::Json(page(true)).into_response(),
        "folder" => axum::Json(failure(430_001, "there is no such folder")).into_response(),
        "busy" => (StatusCode::SERVICE_UNAVAILABLE, axum::Json(failure(503, "come again"))).into_response(),
        _ => (StatusCode::BAD_GATEWAY, "<html>a proxy's own words</html>").into_response(),
    }
}
