//! How each external source has been since the server started, for its operator (decisions 6.3, 7.2).

mod hedge;
mod history;
mod kept;
#[cfg(test)]
mod tests;
mod watch;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use metrics::Histogram;
use serde::Serialize;

use self::{
    hedge::{Budget, Hedges},
    history::History,
};
use super::{
    answer::Status,
    clock::Clock,
    external::SourcePage,
    source::SourceFailure,
    suspension::{Change, Permission, Suspended, Suspension, Verdict},
};
use crate::{
    config::Suspension as Rules,
    latencies::{Latencies, Latency},
    store::now_millis,
    telemetry::series::source_call_seconds,
};

pub use self::{history::MinuteOfCalls, kept::CacheUse};

/// How the last call of a source ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    /// It was not called yet.
    Unknown,
    /// It answered.
    Ok,
    /// It did not answer in time.
    Timeout,
    /// It could not be reached, or took no calls.
    Unavailable,
    /// It refused our credentials.
    Unauthorized,
    /// It broke the contract.
    Invalid,
    /// Anything else; also when its settings are not usable.
    Error,
}

impl From<Status> for HealthStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Ok => Self::Ok,
            Status::Timeout => Self::Timeout,
            Status::Unavailable => Self::Unavailable,
            Status::Unauthorized => Self::Unauthorized,
            Status::Invalid => Self::Invalid,
            Status::Error => Self::Error,
        }
    }
}

/// How a source is, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// How its last call ended.
    pub status: HealthStatus,
    /// What there was to say of it, for people.
    pub message: Option<String>,
    /// Until when and why it is not asked; null while it is.
    pub suspended: Option<Suspended>,
    /// How long its last 512 calls took that were answered or timed out; null before the first.
    pub latency_ms: Option<Latency>,
}

/// Calls by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Calls {
    /// Answered by the contract.
    pub ok: u64,
    /// Not answered in time.
    pub timeout: u64,
    /// Not reached, or turned away for now.
    pub unavailable: u64,
    /// Credentials refused.
    pub unauthorized: u64,
    /// The contract broken.
    pub invalid: u64,
    /// Anything else.
    pub error: u64,
}

/// How a source has been since the server started. Times are epoch milliseconds, null when never.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceHealth {
    /// The source's id.
    pub id: String,
    /// Whether searches ask it.
    pub enabled: bool,
    /// How its last call ended, what there was to say of it, whether it is suspended, and how long calls took.
    #[serde(flatten)]
    pub summary: Summary,
    /// When a call last ended with status ok.
    pub last_success_time: Option<i64>,
    /// When a call last ended otherwise.
    pub last_failure_time: Option<i64>,
    /// Its calls by how they ended.
    pub calls: Calls,
    /// Requests that were sent once more because the first one was late; `calls` counts both as one.
    pub hedges: Hedges,
    /// How its calls ended in the last hour, by minutes: the oldest first, none left out since the server started.
    pub history: Vec<MinuteOfCalls>,
    /// How often searches were answered from what it had answered before.
    pub cache: CacheUse,
    /// When the server started.
    pub since: i64,
}

/// What is remembered of one source, whatever becomes of its registration meanwhile.
pub(super) struct SourceState {
    tenant_id: i64,
    source_id: String,
    clock: Arc<dyn Clock>,
    /// How long its calls took, in the metrics; made at the first one, as the number of such series is bounded.
    seconds: OnceLock<Histogram>,
    kept: kept::Counts,
    record: Mutex<Record>,
}

impl fmt::Debug for SourceState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SourceState").field("source_id", &self.source_id).finish_non_exhaustive()
    }
}

struct Record {
    suspension: Suspension,
    /// It is suspended, and counted as such.
    counted: Option<CountedSuspension>,
    /// A call of it outlives its search.
    has_follower: bool,
    last: Option<(Status, Option<String>)>,
    last_success: Option<i64>,
    last_failure: Option<i64>,
    calls: Calls,
    latencies: Latencies,
    history: History,
    budget: Budget,
    hedges: Hedges,
}

impl SourceState {
    /// A source of which nothing is known yet.
    pub(super) fn new(tenant_id: i64, source_id: String, rules: Rules, clock: Arc<dyn Clock>) -> Self {
        let record = Record {
            suspension: Suspension::new(rules),
            counted: None,
            has_follower: false,
            last: None,
            last_success: None,
            last_failure: None,
            calls: Calls::default(),
            latencies: Latencies::default(),
            history: History::default(),
            budget: Budget::default(),
            hedges: Hedges::default(),
        };
        let (seconds, kept) = (OnceLock::new(), kept::Counts::default());
        Self { tenant_id, source_id, clock, seconds, kept, record: Mutex::new(record) }
    }

    /// The source was registered anew: it is asked again, whatever was before.
    pub(super) fn resume(&self) {
        let mut record = self.lock();
        record.suspension.reset();
        record.counted = None;
    }

    /// What the end of a call means for those to come.
    fn judge(&self, permission: Permission, verdict: Verdict) {
        let change = {
            let mut record = self.lock();
            let change = record.suspension.judge(self.clock.now(), permission, verdict, fastrand::f64());
            match change {
                Some(Change::Suspended(_)) => {
                    record.counted.get_or_insert_with(CountedSuspension::new);
                }
                Some(Change::Recovered { .. }) => record.counted = None,
                None => {}
            }
            change
        };
        let (tenant_id, source) = (self.tenant_id, &self.source_id);
        match change {
            Some(Change::Suspended(Suspended { until, cause, times })) => {
                let cause = Status::from(cause).name();
                metrics::counter!("trawl_source_suspensions_total", "cause" => cause).increment(1);
                // The source's own words stay out: they may hold a keyword.
                if times == 1 {
                    tracing::warn!(tenant_id, source, cause, until, "a source is suspended");
                } else {
                    tracing::debug!(tenant_id, source, cause, until, times, "a source is suspended again");
                }
            }
            Some(Change::Recovered { times }) => tracing::info!(tenant_id, source, times, "a source is back"),
            None => {}
        }
    }

    fn remember(&self, result: Result<&SourcePage, &SourceFailure>, took: Duration) {
        let (status, message) = match result {
            Ok(SourcePage { broken: Some(broken), .. }) => (Status::Invalid, Some(broken.clone())),
            Ok(page) => (Status::Ok, page.note.clone()),
            Err(failure) => (failure.kind.into(), Some(failure.message.clone())),
        };
        metrics::counter!("trawl_source_calls_total", "status" => status.name()).increment(1);
        let seconds = || source_call_seconds(self.tenant_id, &self.source_id);
        self.seconds.get_or_init(seconds).record(took.as_secs_f64());
        let now = now_millis();
        let time = self.clock.now();
        let mut record = self.lock();
        let calls = &mut record.calls;
        let count = match status {
            Status::Ok => &mut calls.ok,
            Status::Timeout => &mut calls.timeout,
            Status::Unavailable => &mut calls.unavailable,
            Status::Unauthorized => &mut calls.unauthorized,
            Status::Invalid => &mut calls.invalid,
            Status::Error => &mut calls.error,
        };
        *count += 1;
        if status == Status::Ok {
            record.last_success = Some(now);
        } else {
            record.last_failure = Some(now);
        }
        record.last = Some((status, message));
        // A refusal says nothing of how long an answer takes.
        let telling = (result.is_ok() || status == Status::Timeout).then_some(took);
        if let Some(took) = telling {
            record.latencies.add(took);
        }
        record.history.add(time, status == Status::Ok, telling);
    }

    /// How the last call ended.
    pub(super) fn summary(&self) -> Summary {
        self.lock().summary()
    }

    /// Everything that is remembered of the source with this id; the server started at `since`, by the clock of the history at
    /// `began`.
    pub(super) fn health(&self, id: String, enabled: bool, since: i64, began: i64) -> SourceHealth {
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
            cache: self.kept.show(),
            since,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    fn summary(&self) -> Summary {
        let (status, message) = match &self.last {
            Some((status, message)) => ((*status).into(), message.clone()),
            None => (HealthStatus::Unknown, None),
        };
        let (suspended, latency_ms) = (self.suspension.suspended(), self.latencies.quantiles());
        Summary { status, message, suspended, latency_ms }
    }
}

/// One suspended source in the metrics, for as long as it lives.
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
