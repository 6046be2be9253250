//! Concurrent calls of several sources. Failures, panics and lateness cost their own source only.
//!
//! All requests share the search's task and one timer; large answers are parsed elsewhere. The search's deadline is the only limit here.

#[cfg(test)]
mod tests;

use std::{collections::VecDeque, mem, panic::AssertUnwindSafe, pin::Pin, sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};
use tracing::{Instrument, Span, field::Empty};
use trawl_engine::relevance::RankedBy;

use crate::{
    module::ModuleSource,
    panics::CaughtPanic,
    source::{PagedSource, Position, SourceFailure, SourcePage, SourceRequest, Status},
    sources::builtin::{self, BuiltinSource},
};

/// A call for the next page of each source at these places.
pub(crate) struct SourceCall {
    pub(crate) places: Vec<usize>,
    pub(crate) sources: CalledSources,
}

pub(crate) enum CalledSources {
    Single(ModuleSource, Position),
    /// Ranked as one, by what earlier pages were ranked by. Those behind the places are at their end.
    Ranked(Vec<(Arc<BuiltinSource>, Position)>, Option<Arc<RankedBy>>),
}

impl SourceCall {
    fn ids(&self) -> Vec<&str> {
        match &self.sources {
            CalledSources::Single(source, _) => vec![source.id()],
            CalledSources::Ranked(sources, _) => {
                sources.iter().take(self.places.len()).map(|(source, _)| source.id()).collect()
            }
        }
    }
}

pub(crate) struct CallOutcome {
    pub(crate) place: usize,
    pub(crate) result: Result<SourcePage, SourceFailure>,
    pub(crate) took: Duration,
}

/// At most one call of each source.
pub(crate) struct FanOut {
    request: Arc<SourceRequest>,
    running: FuturesUnordered<BoxFuture<'static, Vec<CallOutcome>>>,
    /// Further outcomes of a call that asked several sources.
    arrived: VecDeque<CallOutcome>,
    timer: Pin<Box<Sleep>>,
    in_flight: Vec<(usize, Instant)>,
}

impl FanOut {
    pub(crate) fn new(request: Arc<SourceRequest>) -> Self {
        let timer = Box::pin(sleep_until(request.search.deadline));
        let (running, arrived) = (FuturesUnordered::new(), VecDeque::new());
        Self { request, running, arrived, timer, in_flight: Vec::new() }
    }

    pub(crate) fn begin(&mut self, call: SourceCall) {
        let now = Instant::now();
        self.in_flight.extend(call.places.iter().map(|place| (*place, now)));
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
        loop {
            if let Some(outcome) = self.arrived.pop_front() {
                self.in_flight.retain(|(place, _)| *place != outcome.place);
                return Some(outcome);
            }
            let outcomes = tokio::select! {
                // The timer comes first: many answers may be ready, and each takes time to read.
                biased;
                () = &mut self.timer => return None,
                Some(outcomes) = self.running.next() => outcomes,
            };
            let in_flight = &self.in_flight;
            let is_awaited =
                |outcome: &CallOutcome| in_flight.iter().any(|(place, _)| *place == outcome.place);
            self.arrived.extend(outcomes.into_iter().filter(is_awaited));
        }
    }

    pub(crate) fn give_up(&mut self, place: usize) -> Option<CallOutcome> {
        let number = self.in_flight.iter().position(|(other, _)| *other == place)?;
        let (place, since) = self.in_flight.swap_remove(number);
        if let Some(arrived) = self.arrived.iter().position(|outcome| outcome.place == place) {
            return self.arrived.remove(arrived);
        }
        let took = since.elapsed();
        Some(CallOutcome { place, result: Err(SourceFailure::timed_out(took)), took })
    }
}

pub(crate) fn call_source(
    request: Arc<SourceRequest>,
    call: SourceCall,
    limit: Option<Instant>,
) -> impl Future<Output = Vec<CallOutcome>> {
    let span = source_span(&call);
    let ended = span.clone();
    let asking = async move {
        let started = Instant::now();
        let guard = SpanGuard { span: ended, started, deadline: request.search.deadline };
        let outcomes = ask(request, call, started, limit).await;
        guard.end(&outcomes);
        outcomes
    };
    asking.instrument(span)
}

async fn ask(
    request: Arc<SourceRequest>,
    call: SourceCall,
    started: Instant,
    limit: Option<Instant>,
) -> Vec<CallOutcome> {
    let pages = AssertUnwindSafe(pages(&request, &call.sources)).catch_unwind();
    let ended = match limit {
        Some(limit) => timeout_at(limit, pages).await,
        None => Ok(pages.await),
    };
    let result = match ended {
        Ok(Ok(result)) => result,
        Ok(Err(payload)) => {
            Err(SourceFailure::from_panic(&call.ids().join(","), &CaughtPanic::new(&*payload)))
        }
        Err(_elapsed) => Err(SourceFailure::timed_out(started.elapsed())),
    };
    let took = started.elapsed();
    let places = call.places.into_iter();
    match result {
        Ok(pages) => {
            places.zip(pages).map(|(place, page)| CallOutcome { place, result: Ok(page), took }).collect()
        }
        Err(failure) => {
            places.map(|place| CallOutcome { place, result: Err(failure.clone()), took }).collect()
        }
    }
}

/// One page of each source.
async fn pages(request: &SourceRequest, sources: &CalledSources) -> Result<Vec<SourcePage>, SourceFailure> {
    match sources {
        CalledSources::Single(source, position) => Ok(vec![source.page(request, position).await?]),
        CalledSources::Ranked(sources, ranked_by) => {
            let sources: Vec<_> = sources.iter().map(|(source, position)| (&**source, position)).collect();
            builtin::ranked_together(request, &sources, ranked_by.as_ref()).await
        }
    }
}

/// The span omits the keyword.
fn source_span(call: &SourceCall) -> Span {
    let ids = call.ids();
    tracing::debug_span!(
        "source",
        source = ids.join(","),
        place = call.places.first(),
        otel.kind = if ids.iter().all(|id| builtin::is_id(id)) { "internal" } else { "client" },
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
    /// Sources that are called together end alike.
    fn end(mut self, outcomes: &[CallOutcome]) {
        let Some(outcome) = outcomes.first() else { return };
        let status = match &outcome.result {
            Ok(page) if page.broken.is_some() => Status::Invalid,
            Ok(_) => Status::Ok,
            Err(failure) => failure.status(),
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
