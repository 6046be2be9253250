//! Lists that are read page by page: a limit, and a cursor that the page before gave.

use serde::{Deserialize, Serialize};

use crate::{
    api::envelope::Envelope,
    error::{Error, Result},
};

/// Rows of a page where nothing is said, and at the most.
const LIMIT: u64 = 100;
const MOST: u64 = 1_000;

/// Which page.
#[derive(Clone, Copy, Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// What the page before gave as its `cursor`.
    cursor: Option<i64>,
    /// Rows, 1 to 1,000; 100 where nothing is said.
    limit: Option<i64>,
}

impl PageQuery {
    /// The page that these parameters ask for.
    pub(super) fn new(cursor: Option<i64>, limit: Option<i64>) -> Self {
        Self { cursor, limit }
    }

    /// The position that the page before ended at.
    pub(super) fn cursor(self) -> Option<i64> {
        self.cursor
    }

    /// # Errors
    /// 400 that names the field.
    pub(super) fn limit(self) -> Result<u64> {
        match self.limit.map(u64::try_from) {
            None => Ok(LIMIT),
            Some(Ok(limit)) if (1..=MOST).contains(&limit) => Ok(limit),
            Some(_) => Err(Error::bad_request(format!("limit: must be 1 to {MOST}"))),
        }
    }
}

/// The envelope of one page.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Page<T> {
    /// 200.
    code: u16,
    /// null.
    message: Option<String>,
    /// The rows.
    data: Vec<T>,
    /// Number of rows in this answer.
    count: usize,
    /// What the next page is asked for with; null at the end.
    cursor: Option<String>,
}

impl<T> Page<T> {
    /// The page of so many rows that begins `data`, which was read with one row more than that; `position` is where a row stands.
    pub(super) fn of(mut data: Vec<T>, limit: u64, position: impl FnOnce(&T) -> i64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = data.len() > limit;
        data.truncate(limit);
        let last = data.last().filter(|_| has_more);
        let cursor = last.map(|row| position(row).to_string());
        let Envelope { code, message, data, .. } = Envelope::of(data);
        Self { code, message, count: data.len(), data, cursor }
    }
}

impl<T: Serialize> axum::response::IntoResponse for Page<T> {
    fn into_response(self) -> axum::response::Response {
        crate::api::envelope::json(axum::http::StatusCode::OK, &self)
    }
}
