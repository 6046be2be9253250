//! What every request goes through, in order, with the reason for each place.

use std::{any::Any, sync::Arc, time::Instant};

use axum::{
    Router,
    extract::{MatchedPath, Request},
    http::{Method, Uri},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
};
use tower::ServiceBuilder;
use tower_http::{
    catch_panic::CatchPanicLayer,
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, RequestId, SetRequestIdLayer},
};
use tracing::Instrument;

use super::access;
use crate::{app::App, error::Error};

/// Wraps the routes. What stands further out runs first: below, the layers of the builder from its first to its last,
/// then the routes' own.
pub fn wrap(router: Router<Arc<App>>, app: Arc<App>) -> Router {
    router
        // Innermost, and only for routes that exist: who calls, and may he.
        .route_layer(from_fn_with_state(Arc::clone(&app), access::enforce))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        // One layer of several, since the router boxes each layer's service and future anew for every request.
        .layer(
            ServiceBuilder::new()
                // The request id, which has to be there before anything is logged …
                .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
                .layer(PropagateRequestIdLayer::x_request_id())
                // … then what counts and logs every answer …
                .layer(from_fn(observe))
                // … a panic's envelope among them, wherever below it came from.
                .layer(CatchPanicLayer::custom(into_envelope)),
        )
        .with_state(app)
}

async fn unknown_path(uri: Uri) -> Error {
    Error::not_found(format!("there is no {} here; /docs lists what there is", uri.path()))
}

async fn wrong_method(method: Method, uri: Uri) -> Error {
    Error::method_not_allowed(format!(
        "{} does not answer {method}; the Allow header lists what it answers",
        uri.path()
    ))
}

#[allow(clippy::needless_pass_by_value, reason = "the layer hands the payload over")]
fn into_envelope(panic: Box<dyn Any + Send>) -> Response {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a text");
    Error::internal(text.to_owned()).into_response()
}

/// One span, one log event and the metrics of a request. Neither holds the query string: keywords are private.
async fn observe(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let id = request
        .extensions()
        .get::<RequestId>()
        .and_then(|id| id.header_value().to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let span = tracing::info_span!("request", id, %method);
    let response = next.run(request).instrument(span.clone()).await;

    let status = response.status();
    let took = started.elapsed();
    let route = route.as_ref().map_or("unknown", MatchedPath::as_str).to_owned();
    let _entered = span.enter();
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    if status.is_server_error() {
        tracing::warn!(route, status = status.as_u16(), took_ms, "answered");
    } else {
        tracing::debug!(route, status = status.as_u16(), took_ms, "answered");
    }
    let labels = [("route", route), ("method", method.to_string()), ("status", status.as_u16().to_string())];
    metrics::histogram!("trawl_http_request_seconds", &labels).record(took.as_secs_f64());
    response
}
