//! Asks several sources at once. A panic, an error or lateness is that source's result, nobody else's.

#[cfg(test)]
mod tests;

use std::{mem, panic::AssertUnwindSafe, pin::Pin, sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};
use tracing::{Instrument, Span, field::Empty};

use super::{
    answer::Status,
    builtin,
    source::{Ask, FailureKind, Page, Position, Source, SourceFailure},
};

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
///
/// They share the search's task and one timer: what a request does besides waiting is short. Large answers are parsed on other
/// threads.
pub(super) struct Gather {
    ask: Arc<Ask>,
    running: FuturesUnordered<BoxFuture<'static, Outcome>>,
    /// Ends the present wait.
    late: Pin<Box<Sleep>>,
    /// The places of what is under way, and since when.
    under_way: Vec<(usize, Instant)>,
}

impl Gather {
    /// None so far.
    pub(super) fn new(ask: Arc<Ask>) -> Self {
        let late = Box::pin(sleep_until(ask.deadline));
        Self { ask, running: FuturesUnordered::new(), late, under_way: Vec::new() }
    }

    /// Begins a request, which is to be given up at the search's deadline.
    pub(super) fn begin(&mut self, call: Call) {
        self.under_way.push((call.place, Instant::now()));
        let own_limit = own_limit(&call).filter(|own_limit| *own_limit < self.ask.deadline);
        self.running.push(run_until(Arc::clone(&self.ask), call, own_limit).boxed());
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
        if self.late.deadline() != until {
            self.late.as_mut().reset(until);
        }
        let outcome = tokio::select! {
            // The time first: many answers may come at once, and each of them takes a moment to read.
            biased;
            () = &mut self.late => return None,
            Some(outcome) = self.running.next() => outcome,
        };
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
pub(super) fn run(ask: Arc<Ask>, call: Call) -> impl Future<Output = Outcome> {
    let limit = own_limit(&call).map_or(ask.deadline, |own_limit| own_limit.min(ask.deadline));
    run_until(ask, call, Some(limit))
}

/// When a request to its source has taken as long as it may; `None` where it may take as long as it likes.
fn own_limit(call: &Call) -> Option<Instant> {
    Instant::now().checked_add(call.source.timeout())
}

/// Carries one request through, by `limit` where there is one, in a span of its own below that of the search.
fn run_until(ask: Arc<Ask>, call: Call, limit: Option<Instant>) -> impl Future<Output = Outcome> {
    let span = source_span(&call);
    let ended = span.clone();
    let asking = async move {
        let started = Instant::now();
        let unended = Unended { span: ended, started, deadline: ask.deadline };
        let outcome = ask_source(ask, call, started, limit).await;
        unended.end(&outcome);
        outcome
    };
    asking.instrument(span)
}

async fn ask_source(ask: Arc<Ask>, call: Call, started: Instant, limit: Option<Instant>) -> Outcome {
    let Call { place, source, position } = call;
    let page = AssertUnwindSafe(async { source.page(&ask, &position).await }).catch_unwind();
    let ended = match limit {
        Some(limit) => timeout_at(limit, page).await,
        None => Ok(page.await),
    };
    let result = match ended {
        Ok(Ok(result)) => result,
        Ok(Err(_panic)) => Err(SourceFailure::new(FailureKind::Error, "the source failed inside the server")),
        Err(_elapsed) => Err(SourceFailure::timed_out(started.elapsed())),
    };
    Outcome { place, result, took: started.elapsed() }
}

/// What is seen of one request to one source. What was searched for is no part of it.
fn source_span(call: &Call) -> Span {
    tracing::debug_span!(
        "source",
        source = call.source.id(),
        place = call.place,
        otel.kind = if call.source.id().starts_with(builtin::ID_PREFIX) { "internal" } else { "client" },
        otel.status_code = Empty,
        status = Empty,
        took_ms = Empty,
    )
}

/// A request whose end its span has not been told yet.
struct Unended {
    span: Span,
    started: Instant,
    deadline: Instant,
}

impl Unended {
    fn end(mut self, outcome: &Outcome) {
        let status = match &outcome.result {
            Ok(page) if page.broken.is_some() => Status::Invalid,
            Ok(_) => Status::Ok,
            Err(failure) => failure.kind.into(),
        };
        let span = mem::replace(&mut self.span, Span::none());
        note_end(&span, status.name(), status != Status::Ok, outcome.took);
    }
}

/// Given up: at the deadline, or because the caller went away.
impl Drop for Unended {
    fn drop(&mut self) {
        if self.span.is_disabled() {
            return;
        }
        let is_late = Instant::now() >= self.deadline;
        let status = if is_late { Status::Timeout.name() } else { "cancelled" };
        note_end(&self.span, status, is_late, self.started.elapsed());
    }
}

fn note_end(span: &Span, status: &'static str, failed: bool, took: Duration) {
    span.record("status", status);
    span.record("took_ms", u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    if failed {
        span.record("otel.status_code", "ERROR");
    }
}
