//! The way of a trace through the server: from the caller's headers to the request's span, and on to the sources.
//!
//! Without export trawl takes no part in the trace: what came is handed on as it came.

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

/// Makes a request's span, which is not entered yet, part of its caller's trace.
pub fn continue_trace(span: &Span, headers: &HeaderMap) {
    let Some(trace) = TraceContext::read(headers) else { return };
    // What was checked and bounded, not what came.
    let mut checked = HeaderMap::new();
    trace.write(&mut checked);
    let caller =
        TraceContextPropagator::new().extract_with_context(&Context::new(), &HeaderExtractor(&checked));
    if let Err(error) = span.set_parent(caller) {
        tracing::debug!(%error, "a request is no part of its caller's trace");
    }
}

/// Says of an exported span what was asked and what was answered; `route` is none of a path that does not exist.
pub fn describe_request(span: &Span, method: &Method, route: Option<&'static str>, status: StatusCode) {
    let method = name_of(method);
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

/// What the source is told that is called from within this span, for a search whose caller said so.
///
/// A span is exported once nobody holds it any more, and a call may outlive its search; so this takes it.
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

/// How OpenTelemetry calls a method that is none of HTTP's.
const OTHER: &str = "_OTHER";

/// A method's name where it is one of HTTP's: others may be of any length and number.
pub fn name_of(method: &Method) -> &'static str {
    const KNOWN: [&str; 9] = ["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS", "CONNECT", "TRACE"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or(OTHER)
}
