//! Liveness, readiness and metrics.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use trawl_macros::operation;

use crate::{
    app::App,
    indexer::{EngineHealth, EngineStatus},
    telemetry,
};

/// The answer of `/readyz`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Readiness {
    /// Whether the index covers all writes acknowledged before the start.
    ready: bool,
    /// Indexed position of the change log.
    index_position: i64,
    /// Last position of the change log.
    store_position: i64,
    /// The engine that answers searches; its failure, which all replicas share, leaves a server ready.
    engine: EngineStatus,
    /// Whether a rebuild is running; searches are `partial` meanwhile.
    rebuilding: bool,
    /// Items indexed by the rebuild.
    #[serde(skip_serializing_if = "Option::is_none")]
    items_done: Option<u64>,
    /// Items known when the rebuild began.
    #[serde(skip_serializing_if = "Option::is_none")]
    items_known: Option<u64>,
}

/// Confirms that the process is alive.
#[operation(operation, 200 = "Alive": String)]
pub(super) async fn healthz() -> &'static str {
    "ok"
}

/// Succeeds once the index has caught up with the database.
#[operation(operation, 200 = "Ready": Readiness, 503 = "The index has not caught up yet": Readiness)]
pub(super) async fn readyz(State(app): State<Arc<App>>) -> Response {
    let progress = app.index_progress.borrow().clone();
    let ready = progress.is_ready();
    let readiness = Readiness {
        ready,
        index_position: progress.position,
        store_position: *app.store.positions().borrow(),
        engine: app.index.engine(),
        rebuilding: progress.is_rebuilding(),
        items_done: progress.is_rebuilding().then_some(progress.items_done),
        items_known: progress.is_rebuilding().then_some(progress.items_known),
    };
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    crate::http::envelope::json(status, &readiness)
}

/// Returns the metrics in Prometheus' text format, with gauges sampled now.
#[operation(operation, 200 = "Metrics": String)]
pub(super) async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    telemetry::update_gauges();
    // The index first, so it is never ahead of the store.
    let indexed = app.index_progress.borrow().position;
    let behind = (*app.store.positions().borrow() - indexed).max(0);
    ::metrics::gauge!("trawl_index_behind").set(u32::try_from(behind).unwrap_or(u32::MAX));
    let engine = app.index.engine().status;
    ::metrics::gauge!("trawl_engine_available").set(u32::from(engine != EngineHealth::Unavailable));
    ::metrics::gauge!("trawl_engine_degraded").set(u32::from(engine == EngineHealth::Degraded));
    ::metrics::gauge!("trawl_replicas").set(u32::try_from(app.replicas.alive()).unwrap_or(u32::MAX));
    let waiting = app.store.waiting_writes();
    ::metrics::gauge!("trawl_writes_waiting").set(u32::try_from(waiting).unwrap_or(u32::MAX));
    if let Some(free) = app.store.free_bytes() {
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 bytes")]
        ::metrics::gauge!("trawl_disk_free_bytes").set(free as f64);
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], app.metrics.render())
}
