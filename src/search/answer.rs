//! The answer to a search: the page, or why there is none, with an honest account of each source.

use std::time::Duration;

use serde::Serialize;

use super::source::{FailureKind, Item};
use crate::error::Error;

/// How a source took part in an answer (decisions 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It answered.
    Ok,
    /// It did not answer in time.
    Timeout,
    /// It cannot be reached, or takes no calls now.
    Unavailable,
    /// It refused our credentials.
    Unauthorized,
    /// It broke the contract.
    Invalid,
    /// Anything else.
    Error,
}

impl From<FailureKind> for Status {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Timeout => Self::Timeout,
            FailureKind::Unavailable => Self::Unavailable,
            FailureKind::Unauthorized => Self::Unauthorized,
            FailureKind::Invalid => Self::Invalid,
            FailureKind::Error => Self::Error,
        }
    }
}

impl Status {
    /// Its name in answers and metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::Unauthorized => "unauthorized",
            Self::Invalid => "invalid",
            Self::Error => "error",
        }
    }
}

/// The account of one source in an answer.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceReport {
    /// The source's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How it took part.
    pub status: Status,
    /// Milliseconds that its requests took in all.
    pub took_ms: u64,
    /// Its matches in all, where it says so.
    pub total: Option<u64>,
    /// What went wrong, for people.
    pub message: Option<String>,
    /// When it may be asked again, epoch milliseconds; only of a source that was not asked because it is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<i64>,
    /// Whether an earlier answer of it stands in for one that it did not give; `message` says why. Absent when not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
}

/// How many sources an answer had, for the log of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceCounts {
    /// Those that answered by the contract.
    pub ok: usize,
    /// All others.
    pub failed: usize,
}

impl SourceCounts {
    /// The counts of these reports.
    pub fn of(reports: &[SourceReport]) -> Self {
        let ok = reports.iter().filter(|report| report.status == Status::Ok).count();
        Self { ok, failed: reports.len() - ok }
    }
}

/// One page of a module.
#[derive(Debug)]
pub struct Answer {
    /// The items, in order.
    pub items: Vec<Item>,
    /// Every match, as far as the sources say (decisions 5.6).
    pub total: u64,
    /// What to send back for the next page; `None` at the end.
    pub cursor: Option<String>,
    /// Whether something is missing that was asked for.
    pub partial: bool,
    /// What was looked for instead of the keyword, which finds nothing (decisions 5.7).
    pub corrected: Option<String>,
    /// One report for each source of the module that took part.
    pub sources: Vec<SourceReport>,
}

/// Why there is no page.
#[derive(Debug)]
pub enum Failure {
    /// The request cannot be served.
    Refused(Error),
    /// No source answered: 504 when all timed out, else 502 (decisions 5.5).
    NoSource {
        /// Whether every source timed out.
        all_timed_out: bool,
        /// When the first of them may be asked again, where all are suspended.
        retry_after: Option<Duration>,
        /// One report for each source.
        sources: Vec<SourceReport>,
    },
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}
