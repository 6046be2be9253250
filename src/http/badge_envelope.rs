//! The badge envelope, with `date` as text (book: reference/favorites-and-badges.md).

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::envelope::{FailureEnvelope, json};
use crate::time::{now_millis, rfc3339};

const PATH: &str = "/v1/badge";

/// The envelope of a success.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct DatedEnvelope<T> {
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
    /// The next page's cursor; null at the end.
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
    /// HTTP status.
    pub code: u32,
    /// The problem, the field and the correct form.
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

/// Whether a path is of the badge operations, or below them.
pub fn covers(path: &str) -> bool {
    path.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Rewrites a failure to the badge envelope.
pub async fn rewrite(mut response: Response) -> Response {
    let Some(FailureEnvelope { code, message, data, date }) = response.extensions_mut().remove() else {
        return response;
    };
    let failure = DatedFailure { code, message, data, date: rfc3339(date) };
    *response.body_mut() = json(response.status(), &failure).into_body();
    response
}
