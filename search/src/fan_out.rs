//! Concurrent requests to several sources. Failures, panics and lateness cost their own source only.
//!
//! All requests share the search's task and one timer; large answers are parsed elsewhere. The search's deadline is the only limit here.

#[cfg(test)]
mod tests;

use std::{mem, panic::AssertUnwindSafe, pin::Pin, sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};
use tracing::{Instrument, Span, field::Empty};

use crate::{
    answer::Status,
    source::{Position, Source, SourceFailure, SourcePage, SourceRequest},
    sources::builtin,
};

pub(crate) struct SourceCall {
    pub(crate) place: usize,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) position: Position,
}

pub(crate) struct CallOutcome {
    pub(crate) place: usize,
    pub(crate) result: Result<SourcePage, SourceFailure>,
    pub(crate) took: Duration,
}

/// At most one request for each source.
pub(crate) struct FanOut {
    request: Arc<SourceRequest>,
    running: FuturesUnordered<BoxFuture<'static, CallOutcome>>,
    timer: Pin<Box<Sleep>>,
    in_flight: Vec<(usize, Instant)>,
}

impl FanOut {
    pub(crate) fn new(request: Arc<SourceRequest>) -> Self {
        let timer = Box::pin(sleep_until(request.search.deadline));
        Self { request, running: FuturesUnordered::new(), timer, in_flight: Vec::new() }
    }

    pub(crate) fn begin(&mut self, call: SourceCall) {
        self.in_flight.push((call.place, Instant::now()));
        self.running.push(call_source(Arc::clone(&self.request), call, None).boxed());
    }

    pub(crate) fn is_asking(&self, place: usize) -> bool {
        self.in_flight.iter().any(|(other, _)| *other == place)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    pub(crate) async fn next(&mut self, until: Instant) -> Option<CallOutcome> {
        if self.timer.deadline() != until {
            self.timer.as_mut().reset(until);
        }
        let outcome = tokio::select! {
            // The timer comes first: many answers may be ready, and each takes time to read.
            biased;
            () = &mut self.timer => return None,
            Some(outcome) = self.running.next() => outcome,
        };
        self.in_flight.retain(|(place, _)| *place != outcome.place);
        Some(outcome)
    }

    pub(crate) fn give_up(&mut self, place: usize) -> Option<CallOutcome> {
        let number = self.in_flight.iter().position(|(other, _)| *other == place)?;
        let (place, since) = self.in_flight.swap_remove(number);
        let took = since.elapsed();
        Some(CallOutcome { place, result: Err(SourceFailure::timed_out(took)), took })
    }
}

pub(crate) fn call_source(
    request: Arc<SourceRequest>,
    call: SourceCall,
    limit: Option<Instant>,
) -> impl Future<Output = CallOutcome> {
    let span = source_span(&call);
    let ended = span.clone();
    let asking = async move {
        let started = Instant::now();
        let guard = SpanGuard { span: ended, started, deadline: request.search.deadline };
        let outcome = ask(request, call, started, limit).await;
        guard.end(&outcome);
        outcome
    };
    asking.instrument(span)
}

async fn ask(
    request: Arc<SourceRequest>,
    call: SourceCall,
    started: Instant,
    limit: Option<Instant>,
) -> CallOutcome {
    let SourceCall { place, source, position } = call;
    let page = AssertUnwindSafe(async { source.page(&request, &position).await }).catch_unwind();
    let ended = match limit {
        Some(limit) => timeout_at(limit, page).await,
        None => Ok(page.await),
    };
    let result = match ended {
        Ok(Ok(result)) => result,
        Ok(Err(_panic)) => Err(SourceFailure::panicked()),
        Err(_elapsed) => Err(SourceFailure::timed_out(started.elapsed())),
    };
    CallOutcome { place, result, took: started.elapsed() }
}

/// The span omits the keyword.
fn source_span(call: &SourceCall) -> Span {
    tracing::debug_span!(
        "source",
        source = call.source.id(),
        place = call.place,
        otel.kind = if builtin::is_id(call.source.id()) { "internal" } else { "client" },
        otel.status_code = Empty,
        status = Empty,
        took_ms = Empty,
    )
}

/// Records the end of a request; a dropped one is late or cancelled.
struct SpanGuard {
    span: Span,
    started: Instant,
    deadline: Instant,
}

impl SpanGuard {
    fn end(mut self, outcome: &CallOutcome) {
        let status = match &outcome.result {
            Ok(page) if page.broken.is_some() => Status::Invalid,
            Ok(_) => Status::Ok,
            Err(failure) => failure.kind.into(),
        };
        let span = mem::replace(&mut self.span, Span::none());
        record_end(&span, status.name(), status != Status::Ok, outcome.took);
    }
}

impl Drop for SpanGuard {
    fn drop(&mut self) {
        if self.span.is_disabled() {
            return;
        }
        let is_late = Instant::now() >= self.deadline;
        let status = if is_late { Status::Timeout.name() } else { "cancelled" };
        record_end(&self.span, status, is_late, self.started.elapsed());
    }
}

fn record_end(span: &Span, status: &'static str, failed: bool, took: Duration) {
    span.record("status", status);
    span.record("took_ms", u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    if failed {
        span.record("otel.status_code", "ERROR");
    }
}
