//! The middleware stack, with the reason for its order.

use std::{
    any::Any,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version, header, uri::Authority},
    middleware::{Next, from_fn, from_fn_with_state, map_response},
    response::{IntoResponse, Response},
};
use metrics::Label;
use tower::ServiceBuilder;
use tower_http::{
    catch_panic::CatchPanicLayer,
    cors::{self, CorsLayer},
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, RequestId, SetRequestIdLayer},
};
use tracing::Instrument;
use trawl_search::{SourceCounts, panics::CaughtPanic};

use super::access;
use crate::{app::App, error::Error, http::badge_envelope, pages, telemetry};

/// Adds CORS for any origin.
pub fn from_any_origin(router: Router<Arc<App>>, app: &Arc<App>) -> Router<Arc<App>> {
    router
        .route_layer(from_fn_with_state(Arc::clone(app), access::enforce))
        .method_not_allowed_fallback(wrong_method)
        // Outside routing, as preflights (OPTIONS) have no route.
        .layer(any_origin())
}

/// Gives every failure of the badge operations their envelope.
pub fn with_badge_envelope(router: Router<Arc<App>>, app: &Arc<App>) -> Router<Arc<App>> {
    router
        .route_layer(from_fn_with_state(Arc::clone(app), access::enforce))
        .method_not_allowed_fallback(wrong_method)
        .layer(CatchPanicLayer::custom(into_envelope))
        .layer(map_response(badge_envelope::rewrite))
}

/// Wraps all routes; `others` have layers of their own.
///
/// The builder's layers run in order, then the routes' own.
pub fn wrap(
    router: Router<Arc<App>>,
    others: impl IntoIterator<Item = Router<Arc<App>>>,
    app: Arc<App>,
) -> Router {
    let router = router
        // Innermost and for existing routes only: access control.
        .route_layer(from_fn_with_state(Arc::clone(&app), access::enforce))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method);
    let router = others.into_iter().fold(router, Router::merge);
    router
        // One combined layer: the router boxes each layer per request.
        .layer(
            ServiceBuilder::new()
                .map_request(drop_invalid_request_id)
                // The request id, before any log …
                .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
                .layer(PropagateRequestIdLayer::x_request_id())
                // … then metrics and logs of every answer …
                .layer(from_fn_with_state(Arc::clone(&app), observe))
                // … including the envelope of a panic, and refusals of what has no clear host.
                .layer(CatchPanicLayer::custom(into_envelope))
                .layer(from_fn(require_host)),
        )
        .with_state(app)
}

/// Credentials are not allowed.
fn any_origin() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(cors::Any)
        .allow_methods([Method::GET, Method::HEAD, Method::PUT])
        .allow_headers(cors::Any)
        .expose_headers([
            header::ETAG,
            header::ACCEPT_RANGES,
            header::CONTENT_RANGE,
            header::CONTENT_LENGTH,
            header::CONTENT_DISPOSITION,
            header::LAST_MODIFIED,
            header::RETRY_AFTER,
            HeaderName::from_static("x-request-id"),
            REPLICA,
        ])
        .max_age(PREFLIGHT_MAX_AGE)
}

/// Names the replica that answers (book: how-to/scale-out.md).
const REPLICA: HeaderName = HeaderName::from_static("x-trawl-replica");

const PREFLIGHT_MAX_AGE: Duration = Duration::from_hours(1);

const REQUEST_ID_BYTES: usize = 128;

fn drop_invalid_request_id(mut request: Request) -> Request {
    let is_fit = |id: &HeaderValue| {
        (1..=REQUEST_ID_BYTES).contains(&id.len())
            && id.as_bytes().iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
    };
    if request.headers().get("x-request-id").is_some_and(|id| !is_fit(id)) {
        request.headers_mut().remove("x-request-id");
    }
    request
}

async fn unknown_path(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path();
    if let Some(page) = pages::missing_page(&method, &headers, path).await {
        return page;
    }
    refusal(path, Error::not_found(format!("there is no {path} here; /docs lists the operations"))).await
}

/// A failure outside of the routes, in the envelope of its path.
async fn refusal(path: &str, error: Error) -> Response {
    let response = error.into_response();
    if badge_envelope::covers(path) { badge_envelope::rewrite(response).await } else { response }
}

/// Refuses requests that programs on their way may take for another host's (RFC 9112 §3.2).
async fn require_host(request: Request, next: Next) -> Response {
    let is_host = |value: &HeaderValue| {
        let host = value.as_bytes();
        host.is_empty() || (!host.contains(&b'@') && Authority::try_from(host).is_ok())
    };
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let is_clear = match (hosts.next(), hosts.next()) {
        (Some(host), None) => is_host(host),
        (None, _) => request.version() < Version::HTTP_11,
        (Some(_), Some(_)) => false,
    };
    if is_clear {
        return next.run(request).await;
    }
    let expected = "Host: must be sent, once, with the host and port of the called address";
    refusal(request.uri().path(), Error::bad_request(expected)).await
}

async fn wrong_method(method: Method, uri: Uri) -> Error {
    Error::method_not_allowed(format!(
        "{} does not support {method}; the Allow header lists the supported methods",
        uri.path()
    ))
}

#[allow(clippy::needless_pass_by_value, reason = "the layer hands the payload over")]
fn into_envelope(panic: Box<dyn Any + Send>) -> Response {
    Error::internal(CaughtPanic::new(&*panic).to_string()).into_response()
}

/// Omits the query string: keywords are private.
async fn observe(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let id = request
        .extensions()
        .get::<RequestId>()
        .and_then(|id| id.header_value().to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let exports = telemetry::exports();
    let span = if exports {
        // Limits the length of invented methods.
        let method = telemetry::trace::method_name(&method);
        let span = tracing::info_span!("request", id, method, otel.kind = "server");
        telemetry::trace::continue_trace(&span, request.headers());
        span
    } else {
        tracing::info_span!("request", id, %method)
    };
    let has_token = request.headers().contains_key(header::AUTHORIZATION);
    let mut response = next.run(request).instrument(span.clone()).await;
    protect(&app, has_token, response.headers_mut());

    let status = response.status();
    let took = started.elapsed();
    // Labels come from fixed lists, to bound the series.
    let rule = route.and_then(|route| access::rule_for(&method, route.as_str()));
    if exports {
        telemetry::trace::describe_request(&span, &method, rule.map(|rule| rule.path), status);
    }
    let (route, method) = rule.map_or(("unknown", "any"), |rule| (rule.path, rule.method));
    let _entered = span.enter();
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let sources = response.extensions().get::<SourceCounts>();
    let (ok, failed) = (sources.map(|sources| sources.ok), sources.map(|sources| sources.failed));
    let code = status.as_u16();
    if status.is_server_error() {
        tracing::warn!(route, status = code, took_ms, sources.ok = ok, sources.failed = failed, "answered");
    } else {
        tracing::debug!(route, status = code, took_ms, sources.ok = ok, sources.failed = failed, "answered");
    }
    let labels = [
        Label::from_static_parts("route", route),
        Label::from_static_parts("method", method),
        Label::from_static_parts("status", status_label(status)),
    ];
    metrics::histogram!("trawl_http_request_seconds", labels.to_vec()).record(took.as_secs_f64());
    response
}

/// Headers of every answer.
fn protect(app: &App, has_token: bool, headers: &mut HeaderMap) {
    headers.insert(REPLICA, app.replica_header.clone());
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if app.public_url.starts_with("https:") {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    if has_token {
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
}

fn status_label(status: StatusCode) -> &'static str {
    const KNOWN: [&str; 21] = [
        "200", "206", "303", "304", "307", "400", "401", "403", "404", "405", "408", "409", "412", "413",
        "415", "416", "429", "500", "502", "503", "504",
    ];
    KNOWN.into_iter().find(|known| *known == status.as_str()).unwrap_or("other")
}
