//! Pages of lists, by limit and cursor.

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    http::envelope::Envelope,
};

const LIMIT: u64 = 100;
const MAX_LIMIT: u64 = 1_000;

/// The page requested.
#[derive(Clone, Copy, Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Previous page's `cursor`.
    cursor: Option<i64>,
    /// Rows, 1 to 1,000; 100 by default.
    limit: Option<i64>,
}

impl PageQuery {
    /// A page query.
    pub fn new(cursor: Option<i64>, limit: Option<i64>) -> Self {
        Self { cursor, limit }
    }

    /// The previous page's end.
    pub fn cursor(self) -> Option<i64> {
        self.cursor
    }

    /// # Errors
    /// 400 that names the field.
    pub fn limit(self) -> Result<u64> {
        match self.limit.map(u64::try_from) {
            None => Ok(LIMIT),
            Some(Ok(limit)) if (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
            Some(_) => Err(Error::bad_request(format!("limit: must be 1 to {MAX_LIMIT}"))),
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
    /// Rows.
    data: Vec<T>,
    /// Rows in this answer.
    count: usize,
    /// The next page's cursor; null at the end.
    cursor: Option<String>,
}

impl<T> Page<T> {
    /// Cuts `data`, read with one row more; `position` gives the cursor.
    pub fn of<P: ToString>(mut data: Vec<T>, limit: u64, position: impl FnOnce(&T) -> P) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = data.len() > limit;
        data.truncate(limit);
        let cursor = data.last().filter(|_| has_more).map(|row| position(row).to_string());
        Self::new(data, cursor)
    }

    /// A page that ends before its limit, where its search has ended for now.
    pub fn ending_at(data: Vec<T>, cursor: i64) -> Self {
        Self::new(data, Some(cursor.to_string()))
    }

    fn new(data: Vec<T>, cursor: Option<String>) -> Self {
        let Envelope { code, message, data, .. } = Envelope::of(data);
        Self { code, message, count: data.len(), data, cursor }
    }
}

impl<T: Serialize> axum::response::IntoResponse for Page<T> {
    fn into_response(self) -> axum::response::Response {
        crate::http::envelope::json(axum::http::StatusCode::OK, &self)
    }
}
