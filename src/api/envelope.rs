//! The common response envelope (decisions 2).

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::{
    error::{Error, Kind},
    store::now_millis,
};

/// The content type of every envelope.
pub const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/json;charset=UTF-8");

/// The envelope of a success.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Envelope<T> {
    /// 200.
    pub code: u16,
    /// null.
    pub message: Option<String>,
    /// The result.
    pub data: T,
    /// Total number of items, of lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Number of items in this answer, of lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
}

impl<T> Envelope<T> {
    /// A success.
    pub fn of(data: T) -> Self {
        Self { code: 200, message: None, data, total: None, count: None }
    }
}

impl<T> Envelope<Vec<T>> {
    /// A whole list.
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

/// The envelope of folder and file operations, which has the time (decisions 2.1). A business failure comes in it too, by HTTP
/// 200: `code` is its code, `message` says what is wrong, `data` is null.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TimedEnvelope<T> {
    /// 200, or the code of a business failure.
    pub code: u32,
    /// null; of a failure what is wrong, which field, and what would be right.
    pub message: Option<String>,
    /// The result; null of a failure.
    #[schema(required)]
    pub data: Option<T>,
    /// Total number of items, of lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Number of items in this answer, of lists.
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
    /// A whole list.
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

/// The envelope of a failure. Its answer carries it as an extension too, for who has to write it otherwise (`dated`).
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct FailureEnvelope {
    /// The HTTP status, or the code of a business failure.
    pub code: u32,
    /// What is wrong, which field, and what would be right.
    pub message: String,
    /// null.
    #[schema(value_type = Option<Object>)]
    pub data: (),
    /// Server time, epoch milliseconds.
    pub date: i64,
}

/// The failures that every operation with a caller may answer, for the interface's description.
#[derive(utoipa::IntoResponses)]
pub enum Refusals {
    /// The request is malformed or a value is out of range; the message names the field
    #[response(status = 400)]
    BadRequest(FailureEnvelope),
    /// No or bad credentials
    #[response(status = 401)]
    Unauthorized(FailureEnvelope),
    /// The wrong identity, or a scope is missing
    #[response(status = 403)]
    Forbidden(FailureEnvelope),
    /// More calls than a limit allows; `Retry-After` says when to come back
    #[response(status = 429)]
    TooManyRequests(FailureEnvelope),
    /// The server cannot take this now; `Retry-After` says when to come back
    #[response(status = 503)]
    Unavailable(FailureEnvelope),
}

/// The failures of operations that read a body, besides.
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
    /// Logs the failure when it is ours.
    pub fn log(&self) {
        if let Some(cause) = self.cause() {
            tracing::error!(kind = ?self.kind, cause, "a request failed");
        }
    }

    /// What `Retry-After` is to say, where coming back makes sense.
    pub fn retry_after_header(&self) -> Option<HeaderValue> {
        self.retry_after.map(|wait| HeaderValue::from(wait.as_secs().max(1)))
    }
}

impl IntoResponse for Error {
    /// The one place where a failure is answered in the envelope.
    fn into_response(self) -> Response {
        self.log();
        let retry_after = self.retry_after_header();
        let status = StatusCode::from_u16(self.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let envelope =
            FailureEnvelope { code: self.kind.code(), message: self.message, data: (), date: now_millis() };
        let mut response = json(status, &envelope);
        response.extensions_mut().insert(envelope);
        let headers = response.headers_mut();
        if self.kind == Kind::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(retry_after) = retry_after {
            headers.insert(header::RETRY_AFTER, retry_after);
        }
        response
    }
}

/// A JSON answer. What cannot be written as JSON is a failure of ours.
pub fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => json_text(status, body),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written as JSON");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// An answer whose body is JSON already.
pub fn json_text(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, CONTENT_TYPE);
    response
}
