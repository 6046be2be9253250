//! The common response envelope (book: reference/errors.md).

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::{
    error::{Error, ErrorKind},
    time::now_millis,
};

/// The envelope's content type.
pub const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/json;charset=UTF-8");

/// The envelope of a success.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Envelope<T> {
    /// 200.
    pub code: u16,
    /// null.
    pub message: Option<String>,
    /// Result.
    pub data: T,
    /// Total items of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Items in this answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
}

impl<T> Envelope<T> {
    /// A success.
    pub fn of(data: T) -> Self {
        Self { code: 200, message: None, data, total: None, count: None }
    }
}

/// The data `{}`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Empty {}

impl Envelope<Empty> {
    /// A success that has nothing to tell.
    pub fn empty() -> Self {
        Self::of(Empty {})
    }
}

impl<T> Envelope<Vec<T>> {
    /// A complete list.
    pub fn list(data: Vec<T>) -> Self {
        let count = data.len();
        Self { total: Some(count as u64), count: Some(count), ..Self::of(data) }
    }
}

impl<T: Serialize> IntoResponse for Envelope<T> {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self)
    }
}

/// The envelope of folders and files.
///
/// Business failures use it with HTTP 200 and null `data`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TimedEnvelope<T> {
    /// 200, or the business code.
    pub code: u32,
    /// null; of a failure, the problem, the field and the correct form.
    pub message: Option<String>,
    /// Result; null on failure.
    #[schema(required)]
    pub data: Option<T>,
    /// Total items of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Items in this answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// Server time, epoch milliseconds.
    pub date: i64,
}

impl<T> TimedEnvelope<T> {
    /// A success, now.
    pub fn of(data: T) -> Self {
        Self { code: 200, message: None, data: Some(data), total: None, count: None, date: now_millis() }
    }
}

impl<T> TimedEnvelope<Vec<T>> {
    /// A complete list.
    pub fn list(data: Vec<T>) -> Self {
        let count = data.len();
        Self { total: Some(count as u64), count: Some(count), ..Self::of(data) }
    }
}

impl<T: Serialize> IntoResponse for TimedEnvelope<T> {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self)
    }
}

/// The envelope of a failure, also a response extension (`dated`).
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct FailureEnvelope {
    /// HTTP status or the business code.
    pub code: u32,
    /// The problem, the field and the correct form.
    pub message: String,
    /// null.
    #[schema(value_type = Option<Object>)]
    pub data: (),
    /// Server time, epoch milliseconds.
    pub date: i64,
}

/// The failures of every operation with a caller.
#[derive(utoipa::IntoResponses)]
pub enum Refusals {
    /// Malformed request; the message names the field
    #[response(status = 400)]
    BadRequest(FailureEnvelope),
    /// Missing or invalid credentials
    #[response(status = 401)]
    Unauthorized(FailureEnvelope),
    /// Wrong identity or missing scope
    #[response(status = 403)]
    Forbidden(FailureEnvelope),
    /// Rate limit exceeded
    #[response(status = 429)]
    TooManyRequests(FailureEnvelope),
    /// Temporarily unavailable
    #[response(status = 503)]
    Unavailable(FailureEnvelope),
}

/// Further failures of operations with a body.
#[derive(utoipa::IntoResponses)]
pub enum BodyRefusals {
    /// The body did not arrive in time
    #[response(status = 408)]
    RequestTimeout(FailureEnvelope),
    /// The body is larger than its limit
    #[response(status = 413)]
    TooLarge(FailureEnvelope),
    /// The body is not JSON in UTF-8
    #[response(status = 415)]
    UnsupportedMediaType(FailureEnvelope),
}

impl Error {
    /// Logs a server failure.
    pub fn log(&self) {
        if let Some(cause) = self.cause() {
            tracing::error!(kind = ?self.kind, cause, "a request failed");
        }
    }

    /// The `Retry-After` header, if any.
    pub fn retry_after_header(&self) -> Option<HeaderValue> {
        self.retry_after.map(|wait| HeaderValue::from(wait.as_secs().max(1)))
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        self.log();
        let retry_after = self.retry_after_header();
        let status = StatusCode::from_u16(self.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let envelope =
            FailureEnvelope { code: self.kind.code(), message: self.message, data: (), date: now_millis() };
        let mut response = json(status, &envelope);
        response.extensions_mut().insert(envelope);
        let headers = response.headers_mut();
        if self.kind == ErrorKind::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(retry_after) = retry_after {
            headers.insert(header::RETRY_AFTER, retry_after);
        }
        response
    }
}

/// A JSON answer; a serialisation failure becomes 500.
pub fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => json_text(status, body),
        Err(error) => {
            tracing::error!(%error, "an answer could not be serialised as JSON");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// An answer of serialised JSON.
pub fn json_text(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, CONTENT_TYPE);
    response
}
