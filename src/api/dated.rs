//! The envelope of operations whose every answer has a `date` as text: those of badges (specification, "Badges"; decisions 2.1).

use axum::{
    extract::Request,
    http::StatusCode,
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::envelope::{FailureEnvelope, json};
use crate::store::{now_millis, rfc3339};

/// The path of the operations, and what all others of them begin with.
const PATH: &str = "/v1/badge";

/// The envelope of a success.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct DatedEnvelope<T> {
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
    /// What the next page is asked for with, of lists; null at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub cursor: Option<Option<String>>,
    /// Server time, RFC 3339.
    pub date: String,
}

impl<T> DatedEnvelope<T> {
    /// A success, now.
    pub fn of(data: T) -> Self {
        let now = rfc3339(now_millis());
        Self { code: 200, message: None, data, total: None, count: None, cursor: None, date: now }
    }
}

impl<T> DatedEnvelope<Vec<T>> {
    /// A page of a list.
    pub fn page(data: Vec<T>, total: Option<u64>, cursor: Option<String>) -> Self {
        let count = data.len();
        Self { total, count: Some(count), cursor: Some(cursor), ..Self::of(data) }
    }
}

impl<T: Serialize> IntoResponse for DatedEnvelope<T> {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self)
    }
}

/// The envelope of a failure.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct DatedFailure {
    /// The HTTP status.
    pub code: u32,
    /// What is wrong, which field, and what would be right.
    pub message: String,
    /// null.
    #[schema(value_type = Option<Object>)]
    pub data: (),
    /// Server time, RFC 3339.
    pub date: String,
}

impl From<FailureEnvelope> for DatedFailure {
    fn from(failure: FailureEnvelope) -> Self {
        let FailureEnvelope { code, message, data, date } = failure;
        Self { code, message, data, date: rfc3339(date) }
    }
}

/// The failures that every one of these operations may answer; otherwise as `Refusals`.
#[derive(utoipa::IntoResponses)]
pub enum DatedRefusals {
    /// The request is malformed or a value is out of range; the message names the field
    #[response(status = 400)]
    BadRequest(DatedFailure),
    /// No or bad credentials
    #[response(status = 401)]
    Unauthorized(DatedFailure),
    /// The wrong identity, or a scope is missing
    #[response(status = 403)]
    Forbidden(DatedFailure),
    /// More calls than a limit allows; `Retry-After` says when to come back
    #[response(status = 429)]
    TooManyRequests(DatedFailure),
    /// The server cannot take this now; `Retry-After` says when to come back
    #[response(status = 503)]
    Unavailable(DatedFailure),
}

/// The failures of those that read a body, besides; otherwise as `BodyRefusals`.
#[derive(utoipa::IntoResponses)]
pub enum DatedBodyRefusals {
    /// The body did not arrive in time
    #[response(status = 408)]
    RequestTimeout(DatedFailure),
    /// The body is larger than its limit
    #[response(status = 413)]
    TooLarge(DatedFailure),
    /// The body is not JSON in UTF-8
    #[response(status = 415)]
    UnsupportedMediaType(DatedFailure),
}

/// Has the request answered; a failure of one of these operations, wherever it arose, gets its `date` as text.
pub(super) async fn answer(request: Request, next: Next) -> Response {
    let is_dated =
        request.uri().path().strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let mut response = next.run(request).await;
    if !is_dated {
        return response;
    }
    let Some(failure) = response.extensions_mut().remove::<FailureEnvelope>() else { return response };
    let body = json(response.status(), &DatedFailure::from(failure)).into_body();
    *response.body_mut() = body;
    response
}
