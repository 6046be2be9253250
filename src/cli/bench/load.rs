//! Drives a run.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use serde_json::json;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    connections::{ConnectionPool, PreparedRequest},
    options::RunOptions,
    pacer::{Arrival, Pacer},
    recorder::{BenchOperation, Recorder, Sample},
    response::{RequestFailure, judge_search, judge_write},
    schedule::Schedule,
    writes::WriteLoad,
};

const LEAD: Duration = Duration::from_millis(20);
const LOST_SERVER_TIMEOUT: Duration = Duration::from_secs(10);
/// Keeps a closed-loop client from spinning.
const UNREACHABLE_PAUSE: Duration = Duration::from_millis(100);
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LoadEnd {
    Completed,
    Interrupted(Duration),
    /// No answer for this time; the last failure.
    Unreachable(Duration, String),
}

pub(super) struct LoadOutcome {
    pub(super) ending: LoadEnd,
    pub(super) measured: Recorder,
    /// Measured requests; none in a closed loop or without writes.
    pub(super) searches_due: Option<u64>,
    pub(super) writes_due: Option<u64>,
}

pub(super) struct Load {
    options: Arc<RunOptions>,
    connections: Arc<ConnectionPool>,
    targets: Vec<PreparedRequest>,
    writes: Option<Arc<WriteLoad>>,
    searches: Pacer,
    write_arrivals: Option<Pacer>,
    begin: Instant,
    measured_from: Instant,
    recorder: Mutex<Recorder>,
    /// Begin of the time without answers, and the last failure.
    unanswered: Mutex<Option<(Instant, String)>>,
    stop: CancellationToken,
}

impl Load {
    pub(super) fn new(
        options: Arc<RunOptions>,
        connections: Arc<ConnectionPool>,
        targets: Vec<PreparedRequest>,
        writes: Option<Arc<WriteLoad>>,
        stop: CancellationToken,
    ) -> Result<Self, String> {
        let recorder = Recorder::new(options.duration).map_err(|error| error.to_string())?;
        let begin = Instant::now() + LEAD;
        let length = options.warm_up + options.duration;
        let by_schedule = |rate| {
            let schedule = Schedule::new(rate, length);
            Pacer::open(schedule, begin, length, options.request_timeout, stop.clone())
        };
        let closed = || Pacer::closed(begin, length, stop.clone());
        let searches = options.rate.map_or_else(closed, by_schedule);
        let write_arrivals = writes.as_ref().map(|writes| by_schedule(writes.per_second));
        Ok(Self {
            connections,
            targets,
            writes,
            searches,
            write_arrivals,
            begin,
            measured_from: begin + options.warm_up,
            recorder: Mutex::new(recorder),
            unanswered: Mutex::new(None),
            stop,
            options,
        })
    }

    /// Shows the time, requests and errors so far.
    pub(super) async fn run(
        self: Arc<Self>,
        show: impl Fn(Duration, u64, u64),
    ) -> Result<LoadOutcome, String> {
        let tasks = TaskTracker::new();
        for _ in 0..self.options.closed_loop_clients().unwrap_or(self.options.max_in_flight) {
            tasks.spawn(Arc::clone(&self).search_in_turn());
        }
        let no_thread = |error: std::io::Error| format!("cannot start the arrivals thread: {error}");
        self.searches.start().map_err(no_thread)?;
        if let (Some(writes), Some(arrivals)) = (&self.writes, &self.write_arrivals) {
            for _ in 0..self.options.max_in_flight {
                tasks.spawn(Arc::clone(&self).write_in_turn(Arc::clone(writes)));
            }
            arrivals.start().map_err(no_thread)?;
        }
        tasks.close();
        let mut given_up = None;
        while tokio::time::timeout(PROGRESS_INTERVAL, tasks.wait()).await.is_err() {
            let (requests, errors) = self.recorder().counts();
            show(self.begin.elapsed(), requests, errors);
            if let Some(reason) = self.gave_no_answer() {
                given_up.get_or_insert(reason);
                self.stop.cancel();
            }
        }
        Ok(self.outcome(given_up))
    }

    fn outcome(&self, given_up: Option<String>) -> LoadOutcome {
        let elapsed = self.begin.elapsed();
        let measured_for = self.measured_from.elapsed().min(self.options.duration);
        let ending = match given_up {
            Some(reason) => LoadEnd::Unreachable(measured_for, reason),
            None if self.stop.is_cancelled() => LoadEnd::Interrupted(measured_for),
            None => LoadEnd::Completed,
        };
        let mut recorder = self.recorder();
        // Taken out, as ended tasks may still hold the run.
        let measured = recorder.finish();
        let due = |arrivals: &Pacer, operation| {
            let length = self.options.warm_up + self.options.duration;
            let due = arrivals.due_between(self.options.warm_up, elapsed.min(length))?;
            // Nothing is due after a stop.
            let begun = measured.starts(operation).begun;
            Some(if ending == LoadEnd::Completed { due } else { begun })
        };
        LoadOutcome {
            searches_due: due(&self.searches, BenchOperation::Search),
            writes_due: self
                .write_arrivals
                .as_ref()
                .and_then(|arrivals| due(arrivals, BenchOperation::Write)),
            ending,
            measured,
        }
    }

    async fn search_in_turn(self: Arc<Self>) {
        while let Some(turn) = self.searches.next().await {
            let without_answer = self.search(turn).await;
            if without_answer && self.options.rate.is_none() {
                tokio::time::sleep(UNREACHABLE_PAUSE).await;
            }
        }
    }

    async fn search(&self, turn: Arrival) -> bool {
        let place = usize::try_from(turn.number).unwrap_or_default() % self.targets.len();
        let target = &self.targets[place];
        let mut begun = Instant::now();
        let mut intended = turn.intended;
        self.record_start(BenchOperation::Search, turn, begun);
        let mut operation = BenchOperation::Search;
        let mut body = None;
        for _ in 0..self.options.pages {
            let answer = self.connections.exchange(target, body.take()).await;
            let page = answer.and_then(|(status, body)| judge_search(status, &body));
            self.record(operation, intended, begun, page.as_ref().map(|page| page.partial));
            match page {
                Err(failure) => return failure.unreachable,
                Ok(page) => match page.cursor {
                    Some(cursor) if !self.stop.is_cancelled() => {
                        body = Some(Bytes::from(json!({"cursor": cursor}).to_string()));
                    }
                    _ => break,
                },
            }
            operation = BenchOperation::Page;
            begun = Instant::now();
            intended = begun;
        }
        false
    }

    async fn write_in_turn(self: Arc<Self>, writes: Arc<WriteLoad>) {
        let Some(arrivals) = &self.write_arrivals else { return };
        while let Some(turn) = arrivals.next().await {
            let begun = Instant::now();
            self.record_start(BenchOperation::Write, turn, begun);
            let body = writes.item(turn.number);
            let answer = self.connections.exchange(&writes.target, Some(body)).await;
            let outcome = answer.and_then(|(status, body)| judge_write(status, &body));
            self.record(BenchOperation::Write, turn.intended, begun, outcome.as_ref().map(|()| false));
        }
    }

    fn record_start(&self, operation: BenchOperation, turn: Arrival, begun: Instant) {
        let Some(was_slot_free) = turn.was_slot_free else { return };
        if turn.intended >= self.measured_from {
            let (intended, begun) = (self.time_of(turn.intended), self.time_of(begun));
            self.recorder().record_start(operation, intended, begun, was_slot_free);
        }
    }

    fn record(
        &self,
        operation: BenchOperation,
        intended: Instant,
        begun: Instant,
        outcome: Result<bool, &RequestFailure>,
    ) {
        let done = Instant::now();
        self.note_answer(outcome.err());
        if intended >= self.measured_from {
            let (intended, begun) = (self.time_of(intended), self.time_of(begun));
            let outcome = outcome.map_err(RequestFailure::clone);
            let done = self.time_of(done);
            self.recorder().record(&Sample { operation, intended, begun, done, outcome });
        }
    }

    fn time_of(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.measured_from)
    }

    fn note_answer(&self, failure: Option<&RequestFailure>) {
        let mut unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        *unanswered = failure.filter(|failure| failure.unreachable).map(|failure| {
            let since = unanswered.as_ref().map_or_else(Instant::now, |(since, _)| *since);
            (since, format!("{}: {}", failure.kind, failure.message))
        });
    }

    fn gave_no_answer(&self) -> Option<String> {
        let unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, failure) = unanswered.as_ref()?;
        (since.elapsed() >= LOST_SERVER_TIMEOUT).then(|| failure.clone())
    }

    fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
