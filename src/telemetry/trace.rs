//! Trace context, from the caller through the request's span to sources.
//!
//! The caller's context is passed on unchanged if nothing is exported.

use axum::http::{HeaderMap, Method, StatusCode};
use opentelemetry::{
    Context,
    propagation::TextMapPropagator,
    trace::{Status, TraceContextExt},
};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use trawl_connectors::TraceContext;

use super::export::exports;

/// Makes an unentered span a child of the caller's trace.
pub fn continue_trace(span: &Span, headers: &HeaderMap) {
    let Some(trace) = TraceContext::read(headers) else { return };
    // The validated context, not the raw headers.
    let mut checked = HeaderMap::new();
    trace.write(&mut checked);
    let caller =
        TraceContextPropagator::new().extract_with_context(&Context::new(), &HeaderExtractor(&checked));
    if let Err(error) = span.set_parent(caller) {
        tracing::debug!(%error, "cannot continue the caller's trace");
    }
}

/// Sets the attributes of an exported span; unknown paths have no `route`.
pub fn describe_request(span: &Span, method: &Method, route: Option<&'static str>, status: StatusCode) {
    let method = method_name(method);
    span.set_attribute("http.request.method", method);
    span.set_attribute("http.response.status_code", i64::from(status.as_u16()));
    let method = if method == OTHER { "HTTP" } else { method };
    let name = match route {
        Some(route) => {
            span.set_attribute("http.route", route);
            format!("{method} {route}")
        }
        None => method.to_owned(),
    };
    span.context().span().update_name(name);
    if status.is_server_error() {
        span.set_status(Status::error(""));
    }
}

/// Context for a source called within this span; `from_caller` without export.
///
/// A span is exported once dropped, and the call may outlive its search.
#[allow(clippy::needless_pass_by_value, reason = "so that it ends")]
pub fn hand_on(span: Span, from_caller: Option<TraceContext>) -> Option<TraceContext> {
    if exports() {
        let mut headers = HeaderMap::new();
        TraceContextPropagator::new().inject_context(&span.context(), &mut HeaderInjector(&mut headers));
        if let Some(own) = TraceContext::read(&headers) {
            return Some(own);
        }
    }
    from_caller
}

/// OpenTelemetry's name of unknown methods.
const OTHER: &str = "_OTHER";

/// Standard methods alone: others would be unbounded labels.
pub fn method_name(method: &Method) -> &'static str {
    const KNOWN: [&str; 9] = ["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS", "CONNECT", "TRACE"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or(OTHER)
}
