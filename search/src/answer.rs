use std::time::Duration;

use serde::Serialize;
use trawl_engine::correction::Correction;

use crate::{
    error::Error,
    pinned::Pinned,
    source::{ResultItem, Status},
};

/// The report of one source in an answer.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceReport {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The status.
    pub status: Status,
    /// Milliseconds of all requests.
    pub took_ms: u64,
    /// Matches on all pages, if stated.
    pub total: Option<u64>,
    /// The reason of a failure or violation, for people.
    pub message: Option<String>,
    /// When a suspended source may be asked again, epoch milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<i64>,
    /// Whether a cached answer stands in for the failure in `message`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
}

/// Numbers of sources for the request log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceCounts {
    /// Sources with status ok.
    pub ok: usize,
    /// Sources with any other status; skipped ones are not counted.
    pub failed: usize,
}

impl SourceCounts {
    /// Counts reports.
    pub fn of(reports: &[SourceReport]) -> Self {
        let ok = reports.iter().filter(|report| report.status == Status::Ok).count();
        let skipped = reports.iter().filter(|report| report.status == Status::Skipped).count();
        Self { ok, failed: reports.len() - ok - skipped }
    }
}

/// How a search that found nothing was relaxed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Relaxed {
    /// The words that were left out.
    pub left_out: Vec<String>,
}

/// One page of a module.
#[derive(Debug)]
pub struct SearchPage {
    /// Items that stand above the others, until [`Self::with_pinned_first`].
    pub(crate) pinned: Pinned,
    /// Items.
    pub items: Vec<ResultItem>,
    /// Matches on all pages, as far as stated.
    pub total: u64,
    /// Cursor of the next page.
    pub cursor: Option<String>,
    /// Whether matches may be missing.
    pub partial: bool,
    /// The corrected keyword.
    pub corrected: Option<Correction>,
    /// Words that were left out, if all together find nothing.
    pub relaxed: Option<Relaxed>,
    /// Counts of all matches, if asked for.
    pub facets: Option<Facets>,
    /// Reports of sources.
    pub sources: Vec<SourceReport>,
}

impl SearchPage {
    /// Pinned items count if the words match them.
    pub(crate) fn shows_a_match(&self) -> bool {
        !self.items.is_empty() || self.pinned.marks.ids.len() as u64 > self.pinned.marks.unmatched
    }

    /// All items in their order.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &ResultItem> {
        self.pinned.items.iter().chain(&self.items)
    }

    pub(crate) fn shown_mut(&mut self) -> impl Iterator<Item = &mut ResultItem> {
        self.pinned.items.iter_mut().chain(&mut self.items)
    }

    /// Only an answer that is not searched anew shows them as its own.
    pub(crate) fn with_pinned_first(mut self) -> Self {
        let Pinned { mut items, marks } = std::mem::take(&mut self.pinned);
        items.append(&mut self.items);
        Self { items, total: self.total.saturating_add(marks.unmatched), ..self }
    }
}

/// The facets of an answer, each with 20 values at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Facets {
    /// Modules by their codes, in the order of their counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<Vec<FacetValue>>,
    /// Sources by their ids, in the order of their counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Vec<FacetValue>>,
    /// Names of authors, in the order of their counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<Vec<FacetValue>>,
    /// Periods in `timeZone`, the latest first.
    ///
    /// These are days (`2026-11-27`), weeks (`2026-W48`), months (`2026-11`) or years (`2026`). The shortest are taken
    /// of which 20 reach from the first match to the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Vec<FacetValue>>,
    /// Whether matches are missing in the counts.
    #[serde(skip)]
    pub partial: bool,
}

/// A value of a facet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct FacetValue {
    /// The value.
    pub value: String,
    /// The matches that have it.
    pub count: u64,
}

/// Why there is no page.
#[derive(Debug)]
pub enum SearchFailure {
    /// The request cannot be served.
    Refused(Error),
    /// No source answered: 504 when all timed out, else 502.
    NoSource {
        /// Whether every source timed out.
        all_timed_out: bool,
        /// The least remaining suspension, if all are suspended.
        retry_after: Option<Duration>,
        /// Reports of sources.
        sources: Vec<SourceReport>,
    },
}

impl From<Error> for SearchFailure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}
