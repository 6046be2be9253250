//! Asks several sources at once. A panic, an error or lateness is that source's result, nobody else's.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until, timeout_at},
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

/// The requests of one search that are under way, at most one of each source. Dropping it ends them.
pub(super) struct Gather {
    ask: Arc<Ask>,
    running: JoinSet<Outcome>,
    /// The places of what is under way, and since when.
    under_way: Vec<(usize, Instant)>,
}

impl Gather {
    /// None so far.
    pub(super) fn new(ask: Arc<Ask>) -> Self {
        Self { ask, running: JoinSet::new(), under_way: Vec::new() }
    }

    /// Begins a request, which ends by the search's deadline.
    pub(super) fn begin(&mut self, call: Call) {
        self.under_way.push((call.place, Instant::now()));
        self.running.spawn(run(Arc::clone(&self.ask), call));
    }

    /// Whether a request to this source is under way.
    pub(super) fn is_asking(&self, place: usize) -> bool {
        self.under_way.iter().any(|(asked, _)| *asked == place)
    }

    /// Whether none is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// The next request that ends before `until`, if one does.
    pub(super) async fn next(&mut self, until: Instant) -> Option<Outcome> {
        // A task that does not yield cannot time out by itself, so the waiting has its own limit.
        let Some(joined) = timeout_at(until, self.running.join_next()).await.ok()? else {
            // What is under way by our account was lost.
            sleep_until(until).await;
            return None;
        };
        let outcome = joined.ok()?;
        self.under_way.retain(|(place, _)| *place != outcome.place);
        Some(outcome)
    }

    /// Goes on without the request to this source, if one is under way: it timed out.
    pub(super) fn give_up(&mut self, place: usize) -> Option<Outcome> {
        let number = self.under_way.iter().position(|(asked, _)| *asked == place)?;
        let (place, since) = self.under_way.swap_remove(number);
        let took = since.elapsed();
        Some(Outcome { place, result: Err(SourceFailure::timed_out(took)), took })
    }
}

/// Carries one request through, by the search's deadline.
pub(super) async fn run(ask: Arc<Ask>, call: Call) -> Outcome {
    let started = Instant::now();
    let own_limit = started.checked_add(call.source.timeout());
    let limit = own_limit.map_or(ask.deadline, |own| own.min(ask.deadline));
    let page = AssertUnwindSafe(async { call.source.page(&ask, &call.position).await }).catch_unwind();
    let result = match timeout_at(limit, page).await {
        Ok(Ok(result)) => result,
        Ok(Err(_panic)) => Err(SourceFailure::new(FailureKind::Error, "the source failed inside the server")),
        Err(_elapsed) => Err(SourceFailure::timed_out(started.elapsed())),
    };
    Outcome { place: call.place, result, took: started.elapsed() }
}
