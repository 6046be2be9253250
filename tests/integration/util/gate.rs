//! An external system that answers on release and counts its waiting callers.

use std::sync::Arc;

use axum::{Json, Router, extract::State, http::Method};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch};

use super::TIMEOUT;

pub(crate) struct Gate {
    base: String,
    state: Arc<GateState>,
}

struct GateState {
    items: Value,
    is_open: watch::Sender<bool>,
    under_way: watch::Sender<usize>,
}

impl Gate {
    pub(crate) async fn start(items: &[Value]) -> Self {
        let state = Arc::new(GateState {
            items: items.into(),
            is_open: watch::Sender::new(false),
            under_way: watch::Sender::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&state));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base, state }
    }

    pub(crate) fn registration(&self, id: &str) -> Value {
        json!({
            "id": id, "name": id, "url": self.base, "method": "GET", "auth": {"type": "NONE"}, "order": "time",
            "timeoutMs": 10_000,
        })
    }

    pub(crate) fn open(&self) {
        self.state.is_open.send_replace(true);
    }

    pub(crate) async fn wait_for(&self, calls: usize) {
        let mut under_way = self.state.under_way.subscribe();
        let waiting = under_way.wait_for(|under_way| *under_way == calls);
        tokio::time::timeout(TIMEOUT, waiting).await.expect("the calls did not come or go").unwrap();
    }
}

/// Dropped with the answer, or when the caller disconnects.
struct Visit<'a>(&'a GateState);

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.0.under_way.send_modify(|under_way| *under_way -= 1);
    }
}

async fn answer(State(state): State<Arc<GateState>>, method: Method) -> Json<Value> {
    if method == Method::HEAD {
        // The request that opens a connection before the first search.
        return Json(Value::Null);
    }
    state.under_way.send_modify(|under_way| *under_way += 1);
    let _visit = Visit(&state);
    state.is_open.subscribe().wait_for(|is_open| *is_open).await.unwrap();
    let total = state.items.as_array().unwrap().len();
    Json(json!({
        "code": 200, "message": null, "data": state.items, "count": total, "total": total, "cursor": null,
    }))
}
