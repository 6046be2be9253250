//! Whether the server lives, whether it is ready, and its metrics.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::{app::App, telemetry};

/// What `/readyz` says.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Readiness {
    /// Whether searches find everything that was acknowledged before the start.
    ready: bool,
    /// The change log's position that searches see.
    index_position: i64,
    /// The change log's last position.
    store_position: i64,
    /// Whether the index is being filled anew; what is there of it is searched, and answers are `partial`.
    rebuilding: bool,
    /// Items that this has put into the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    items_done: Option<u64>,
    /// Items that there were when it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    items_known: Option<u64>,
}

/// Answers as long as the process does.
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200, description = "Alive", body = String)))]
pub async fn healthz() -> &'static str {
    "ok"
}

/// Ready once the index has caught up with the database.
#[utoipa::path(get, path = "/readyz", tag = "operation", responses(
    (status = 200, description = "Ready", body = Readiness),
    (status = 503, description = "The index has not caught up yet", body = Readiness),
))]
pub async fn readyz(State(app): State<Arc<App>>) -> Response {
    let progress = app.index_progress.borrow().clone();
    let ready = progress.is_ready();
    let readiness = Readiness {
        ready,
        index_position: progress.position,
        store_position: *app.store.positions().borrow(),
        rebuilding: progress.is_rebuilding(),
        items_done: progress.is_rebuilding().then_some(progress.items_done),
        items_known: progress.is_rebuilding().then_some(progress.items_known),
    };
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    super::envelope::json(status, &readiness)
}

/// The metrics, in the text format of Prometheus. What nobody tells of by itself is looked at now.
#[utoipa::path(get, path = "/metrics", tag = "operation", responses((status = 200, description = "Metrics", body = String)))]
pub async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    telemetry::look();
    // The index's first: it goes on meanwhile, and is never ahead.
    let indexed = app.index_progress.borrow().position;
    let behind = (*app.store.positions().borrow() - indexed).max(0);
    metrics::gauge!("trawl_index_behind").set(u32::try_from(behind).unwrap_or(u32::MAX));
    let waiting = app.store.waiting_writes();
    metrics::gauge!("trawl_writes_waiting").set(u32::try_from(waiting).unwrap_or(u32::MAX));
    if let Some(free) = app.store.free_bytes() {
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 bytes")]
        metrics::gauge!("trawl_disk_free_bytes").set(free as f64);
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], app.metrics.render())
}
