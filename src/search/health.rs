//! How each external source has been since the server started, for its operator (decisions 6.3, 7.2).

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::Serialize;
use tokio::time::{Instant, timeout};

use super::{
    answer::Status,
    source::{Ask, FailureKind, Page, SourceFailure},
};
use crate::store::now_millis;

/// Calls whose latency is remembered.
const REMEMBERED_LATENCIES: usize = 512;

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
pub struct Summary {
    /// How its last call ended.
    pub status: HealthStatus,
    /// What there was to say of it, for people.
    pub message: Option<String>,
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

/// How long calls took, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Latency {
    /// Half of them took at most this.
    pub p50: u64,
    /// Nine of ten.
    pub p90: u64,
    /// Ninety-nine of a hundred.
    pub p99: u64,
}

/// How a source has been since the server started. Times are epoch milliseconds, null when never.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceHealth {
    /// The source's id.
    pub id: String,
    /// Whether searches ask it.
    pub enabled: bool,
    /// How its last call ended, and what there was to say of it.
    #[serde(flatten)]
    pub summary: Summary,
    /// When a call last ended with status ok.
    pub last_success_time: Option<i64>,
    /// When a call last ended otherwise.
    pub last_failure_time: Option<i64>,
    /// Its calls by how they ended.
    pub calls: Calls,
    /// How long its last 512 calls took that were answered or timed out; null before the first.
    pub latency_ms: Option<Latency>,
    /// When the server started.
    pub since: i64,
}

/// What is remembered of one source, whatever becomes of its registration meanwhile.
#[derive(Debug, Default)]
pub(super) struct SourceState(Mutex<Record>);

#[derive(Debug, Default)]
struct Record {
    last: Option<(Status, Option<String>)>,
    last_success: Option<i64>,
    last_failure: Option<i64>,
    calls: Calls,
    latencies: VecDeque<Duration>,
}

impl SourceState {
    /// Carries one call through within the source's own limit and remembers how it ended. One that is given up at the
    /// search's deadline timed out; one whose caller went away before did not end.
    pub(super) async fn watch(
        &self,
        ask: &Ask,
        own_limit: Duration,
        call: impl Future<Output = Result<Page, SourceFailure>>,
    ) -> Result<Page, SourceFailure> {
        let started = Instant::now();
        let mut watched = WatchedCall { state: self, started, deadline: ask.deadline, ended: false };
        let result = timeout(own_limit, call).await;
        watched.ended = true;
        let took = started.elapsed();
        let result = result.unwrap_or_else(|_elapsed| Err(SourceFailure::timed_out(took)));
        self.remember(result.as_ref(), took);
        result
    }

    fn remember(&self, result: Result<&Page, &SourceFailure>, took: Duration) {
        let (status, message) = match result {
            Ok(Page { broken: Some(broken), .. }) => (Status::Invalid, Some(broken.clone())),
            Ok(page) => (Status::Ok, page.note.clone()),
            Err(failure) => (failure.kind.into(), Some(failure.message.clone())),
        };
        let now = now_millis();
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
        if result.is_ok() || status == Status::Timeout {
            if record.latencies.len() == REMEMBERED_LATENCIES {
                record.latencies.pop_front();
            }
            record.latencies.push_back(took);
        }
    }

    /// How the last call ended.
    pub(super) fn summary(&self) -> Summary {
        self.lock().summary()
    }

    /// Everything that is remembered of the source with this id.
    pub(super) fn health(&self, id: String, enabled: bool, since: i64) -> SourceHealth {
        let latencies = self.lock().latencies.iter().copied().collect();
        let latency_ms = latency(latencies);
        let record = self.lock();
        SourceHealth {
            id,
            enabled,
            summary: record.summary(),
            last_success_time: record.last_success,
            last_failure_time: record.last_failure,
            calls: record.calls,
            latency_ms,
            since,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    fn summary(&self) -> Summary {
        match &self.last {
            Some((status, message)) => Summary { status: (*status).into(), message: message.clone() },
            None => Summary { status: HealthStatus::Unknown, message: None },
        }
    }
}

/// A call under way; dropped before it ended, it tells why.
struct WatchedCall<'a> {
    state: &'a SourceState,
    started: Instant,
    deadline: Instant,
    ended: bool,
}

impl Drop for WatchedCall<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let took = self.started.elapsed();
        let failure = if std::thread::panicking() {
            SourceFailure::new(FailureKind::Error, "the source failed inside the server")
        } else if Instant::now() >= self.deadline {
            SourceFailure::timed_out(took)
        } else {
            return;
        };
        self.state.remember(Err(&failure), took);
    }
}

/// The quantiles by nearest rank; `None` without latencies.
fn latency(mut latencies: Vec<Duration>) -> Option<Latency> {
    latencies.sort_unstable();
    let quantile = |percent: usize| {
        let rank = (latencies.len() * percent).div_ceil(100).max(1);
        let took = latencies.get(rank - 1)?;
        u64::try_from(took.as_millis()).ok()
    };
    Some(Latency { p50: quantile(50)?, p90: quantile(90)?, p99: quantile(99)? })
}
