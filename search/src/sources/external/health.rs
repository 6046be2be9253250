//! Health of external sources since the start.

mod call_seconds;
mod history;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use metrics::Histogram;
use serde::Serialize;

use self::{call_seconds::call_seconds, history::CallHistory};
use super::{
    call_rate::CallRate,
    hedge_budget::{HedgeBudget, Hedges},
    lateness::Lateness,
    page_cache::PageOrigin,
    raw_page::RawPage,
    suspension::{CallEnd, Permission, Suspended, Suspension, Transition},
};
use crate::{
    clock::{Clock, now_millis},
    latencies::{Latencies, Latency},
    settings::SuspensionSettings,
    source::{SourceFailure, Status},
};

pub use self::history::MinuteOfCalls;

/// The status of a source's last call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    /// No call yet.
    Unknown,
    /// It answered.
    Ok,
    /// No answer in time.
    Timeout,
    /// Not reached, or turned away.
    Unavailable,
    /// Credentials refused.
    Unauthorized,
    /// The contract broken.
    Invalid,
    /// Anything else, such as invalid settings.
    Error,
}

impl From<Status> for HealthStatus {
    fn from(status: Status) -> Self {
        match status {
            // A skipped source is not called.
            Status::Ok | Status::Skipped => Self::Ok,
            Status::Timeout | Status::Late => Self::Timeout,
            Status::Unavailable => Self::Unavailable,
            Status::Unauthorized => Self::Unauthorized,
            Status::Invalid => Self::Invalid,
            Status::Error => Self::Error,
        }
    }
}

/// A source's health in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The status of the last call.
    pub status: HealthStatus,
    /// The message of the last call.
    pub message: Option<String>,
    /// The suspension; null while it is asked.
    pub suspended: Option<Suspended>,
    /// The latency of the last 512 answers and timeouts.
    pub latency_ms: Option<Latency>,
    /// Whether searches no longer wait for it.
    ///
    /// It was late three times in a row.
    pub late: bool,
}

/// Calls by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Calls {
    /// Answered by the contract.
    pub ok: u64,
    /// Not answered in time.
    pub timeout: u64,
    /// Not reached, or turned away.
    pub unavailable: u64,
    /// Credentials refused.
    pub unauthorized: u64,
    /// The contract broken.
    pub invalid: u64,
    /// Anything else.
    pub error: u64,
}

/// Pages by origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct CacheUse {
    /// Fresh pages.
    pub hits: u64,
    /// Calls begun or joined, without stale pages.
    pub misses: u64,
    /// Stale pages in place of failures.
    pub stale: u64,
}

/// Refusals of people in a row that count as a failure of the source.
const MANY_REFUSED_PEOPLE: u32 = 10;

/// A source's health since the start; times are epoch milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceHealth {
    /// The id.
    pub id: String,
    /// Whether searches ask it.
    pub enabled: bool,
    /// The health in short.
    #[serde(flatten)]
    pub summary: Summary,
    /// The last call with status ok.
    pub last_success_time: Option<i64>,
    /// The last call with another status.
    pub last_failure_time: Option<i64>,
    /// Calls by status.
    pub calls: Calls,
    /// Second requests; `calls` counts both as one.
    pub hedges: Hedges,
    /// The last hour by minute, oldest first.
    pub history: Vec<MinuteOfCalls>,
    /// Pages by origin.
    pub cache: CacheUse,
    /// The start of the server.
    pub since: i64,
}

/// Suspension and statistics, which outlive a registration.
pub struct SourceState {
    tenant_id: i64,
    pub(super) source_id: String,
    pub(super) clock: Arc<dyn Clock>,
    /// Made at the first call, since the number of series is bounded.
    seconds: OnceLock<Histogram>,
    record: Mutex<HealthRecord>,
}

impl fmt::Debug for SourceState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SourceState").field("source_id", &self.source_id).finish_non_exhaustive()
    }
}

pub(super) struct HealthRecord {
    pub(super) suspension: Suspension,
    counted: Option<CountedSuspension>,
    pub(super) lateness: Lateness,
    pub(super) rate: CallRate,
    /// A call outlives its search.
    pub(super) has_follower: bool,
    last: Option<(Status, Option<String>)>,
    /// Calls in a row whose person was refused.
    refused_people: u32,
    last_success: Option<i64>,
    last_failure: Option<i64>,
    calls: Calls,
    cache: CacheUse,
    pub(super) latencies: Latencies,
    history: CallHistory,
    pub(super) budget: HedgeBudget,
    pub(super) hedges: Hedges,
}

impl SourceState {
    /// Before the first call.
    pub fn new(
        tenant_id: i64,
        source_id: String,
        settings: SuspensionSettings,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let record = HealthRecord {
            suspension: Suspension::new(settings),
            counted: None,
            lateness: Lateness::default(),
            rate: CallRate::default(),
            has_follower: false,
            last: None,
            refused_people: 0,
            last_success: None,
            last_failure: None,
            calls: Calls::default(),
            cache: CacheUse::default(),
            latencies: Latencies::default(),
            history: CallHistory::default(),
            budget: HedgeBudget::default(),
            hedges: Hedges::default(),
        };
        Self { tenant_id, source_id, clock, seconds: OnceLock::new(), record: Mutex::new(record) }
    }

    /// Ends a suspension and lateness.
    pub fn resume(&self) {
        let mut record = self.lock();
        record.suspension.reset();
        record.lateness = Lateness::default();
        record.counted = None;
    }

    pub(super) fn judge(&self, permission: Permission, end: CallEnd) {
        let transition = {
            let mut record = self.lock();
            let transition = record.suspension.judge(self.clock.now(), permission, end, fastrand::f64());
            match transition {
                Some(Transition::Suspended(_)) => {
                    record.counted.get_or_insert_with(CountedSuspension::new);
                }
                Some(Transition::Recovered { .. }) => record.counted = None,
                None => {}
            }
            transition
        };
        let (tenant_id, source) = (self.tenant_id, &self.source_id);
        match transition {
            Some(Transition::Suspended(Suspended { until, cause, times })) => {
                let cause = Status::from(cause).name();
                metrics::counter!("trawl_source_suspensions_total", "cause" => cause).increment(1);
                // The source's own message may hold a keyword.
                if times == 1 {
                    tracing::warn!(tenant_id, source, cause, until, "a source is suspended");
                } else {
                    tracing::debug!(tenant_id, source, cause, until, times, "a source is suspended again");
                }
            }
            Some(Transition::Recovered { times }) => {
                tracing::info!(tenant_id, source, times, "a source is back");
            }
            None => {}
        }
    }

    pub(super) fn record_end(&self, result: Result<&RawPage, &SourceFailure>, took: Duration) {
        let (status, message) = match result {
            Ok(RawPage { broken: Some(broken), .. }) => (Status::Invalid, Some(broken.clone())),
            Ok(page) => (Status::Ok, page.note.clone()),
            Err(failure) => (failure.kind.into(), Some(failure.message.clone())),
        };
        metrics::counter!("trawl_source_calls_total", "status" => status.name()).increment(1);
        let seconds = || call_seconds(self.tenant_id, &self.source_id);
        self.seconds.get_or_init(seconds).record(took.as_secs_f64());
        let now = now_millis();
        let time = self.clock.now();
        let mut record = self.lock();
        let calls = &mut record.calls;
        let count = match status {
            Status::Ok | Status::Skipped => &mut calls.ok,
            Status::Timeout | Status::Late => &mut calls.timeout,
            Status::Unavailable => &mut calls.unavailable,
            Status::Unauthorized => &mut calls.unauthorized,
            Status::Invalid => &mut calls.invalid,
            Status::Error => &mut calls.error,
        };
        *count += 1;
        let is_person_refused = result.is_err_and(|failure| failure.is_person_refused);
        record.refused_people = if is_person_refused { record.refused_people.saturating_add(1) } else { 0 };
        if is_person_refused && record.refused_people < MANY_REFUSED_PEOPLE {
            return;
        }
        if status == Status::Ok {
            record.last_success = Some(now);
        } else {
            record.last_failure = Some(now);
        }
        record.last = Some((status, message));
        // A refusal is no latency.
        let measured = (result.is_ok() || status == Status::Timeout).then_some(took);
        if let Some(took) = measured {
            record.latencies.add(took);
        }
        record.history.add(time, status == Status::Ok, measured);
    }

    pub(super) fn count_call(&self) {
        self.lock().cache.misses += 1;
    }

    pub(super) fn count_page(&self, origin: &PageOrigin) {
        let cache = &mut self.lock().cache;
        match origin {
            PageOrigin::Cache => cache.hits += 1,
            PageOrigin::Stale { was_called, .. } => {
                cache.stale += 1;
                cache.misses = cache.misses.saturating_sub(u64::from(*was_called));
            }
            PageOrigin::Call => {}
        }
    }

    /// Health in short.
    pub fn summary(&self) -> Summary {
        self.lock().summary()
    }

    /// `since` is the server's start, `began` that of the clock.
    pub fn health(&self, id: String, enabled: bool, since: i64, began: i64) -> SourceHealth {
        let now = self.clock.now();
        let record = self.lock();
        SourceHealth {
            id,
            enabled,
            summary: record.summary(),
            last_success_time: record.last_success,
            last_failure_time: record.last_failure,
            calls: record.calls,
            hedges: record.hedges,
            history: record.history.show(began, now),
            cache: record.cache,
            since,
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, HealthRecord> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HealthRecord {
    fn summary(&self) -> Summary {
        let (status, message) = match &self.last {
            Some((status, message)) => ((*status).into(), message.clone()),
            None => (HealthStatus::Unknown, None),
        };
        let (suspended, latency_ms) = (self.suspension.suspended(), self.latencies.quantiles());
        Summary { status, message, suspended, latency_ms, late: self.lateness.is_late(Duration::ZERO) }
    }
}

struct CountedSuspension;

impl CountedSuspension {
    fn new() -> Self {
        metrics::gauge!("trawl_sources_suspended").increment(1.0);
        Self
    }
}

impl Drop for CountedSuspension {
    fn drop(&mut self) {
        metrics::gauge!("trawl_sources_suspended").decrement(1.0);
    }
}
