//! Asks several sources at once. A panic, an error or lateness is that source's result, nobody else's.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use tokio::{
    task::JoinSet,
    time::{Instant, timeout_at},
};

use super::source::{Ask, FailureKind, Page, Position, Source, SourceFailure};

/// One request to one source.
pub(super) struct Call {
    /// The source's place in the search.
    pub(super) place: usize,
    /// The source.
    pub(super) source: Arc<dyn Source>,
    /// Where the page begins.
    pub(super) position: Position,
}

/// How one request ended.
pub(super) struct Outcome {
    /// The source's place in the search.
    pub(super) place: usize,
    /// What came of it.
    pub(super) result: Result<Page, SourceFailure>,
    /// How long it took.
    pub(super) took: Duration,
}

/// Asks all of `calls` and answers by `deadline` with what has come in; what has not is a timeout. Dropping the
/// future ends every request it made.
pub(super) async fn gather(ask: Arc<Ask>, mut calls: Vec<Call>, deadline: Instant) -> Vec<Outcome> {
    let started = Instant::now();
    // One source needs no task of its own.
    if calls.len() == 1
        && let Some(call) = calls.pop()
    {
        return vec![run(ask, call, deadline).await];
    }
    let mut missing: Vec<usize> = calls.iter().map(|call| call.place).collect();
    let mut running = JoinSet::new();
    for call in calls {
        running.spawn(run(Arc::clone(&ask), call, deadline));
    }
    let mut outcomes = Vec::with_capacity(missing.len());
    // A task that does not yield cannot time out by itself, so the waiting has its own limit.
    while let Ok(Some(joined)) = timeout_at(deadline, running.join_next()).await {
        if let Ok(outcome) = joined {
            missing.retain(|place| *place != outcome.place);
            outcomes.push(outcome);
        }
    }
    outcomes.extend(missing.into_iter().map(|place| Outcome {
        place,
        result: Err(SourceFailure::timed_out(started.elapsed())),
        took: started.elapsed(),
    }));
    outcomes
}

async fn run(ask: Arc<Ask>, call: Call, deadline: Instant) -> Outcome {
    let started = Instant::now();
    let own_limit = started.checked_add(call.source.timeout());
    let limit = own_limit.map_or(deadline, |own| own.min(deadline));
    let page = AssertUnwindSafe(async { call.source.page(&ask, &call.position).await }).catch_unwind();
    let result = match timeout_at(limit, page).await {
        Ok(Ok(result)) => result,
        Ok(Err(_panic)) => Err(SourceFailure::new(FailureKind::Error, "the source failed inside the server")),
        Err(_elapsed) => Err(SourceFailure::timed_out(started.elapsed())),
    };
    Outcome { place: call.place, result, took: started.elapsed() }
}
