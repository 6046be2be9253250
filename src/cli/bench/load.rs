//! Makes the load: tasks that take their turns from the arrivals, send, judge and record.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use serde_json::json;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    answer::{Failure, judge_search, judge_write},
    arrivals::{Arrivals, Turn},
    connections::{Connections, Target},
    plan::{Pace, Plan},
    recorder::{Measured, Operation, Recorder, Sample},
    schedule::Schedule,
    writes::Writes,
};

/// Between the making of a run and its beginning: until then every place waits for its first request.
const LEAD: Duration = Duration::from_millis(20);
/// A run is given up when nothing was answered for this long.
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);
/// How long a client of a closed loop waits after it got no answer: nobody learns from refused connections as fast as
/// they can be made.
const PAUSE_WITHOUT_ANSWER: Duration = Duration::from_millis(100);
/// Between two looks at how far the run is.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How a run came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Its time was over.
    Completed,
    /// Somebody stopped it after this long.
    Interrupted(Duration),
    /// Nothing was answered any more; after how long it was given up, and the words of the last failure.
    Unreachable(Duration, String),
}

/// What a run gave.
pub(super) struct Outcome {
    pub(super) ending: Ending,
    pub(super) measured: Measured,
    /// Measured searches and writes that were due; none in a closed loop, or without writes.
    pub(super) searches_due: Option<u64>,
    pub(super) writes_due: Option<u64>,
}

/// How far a run is.
pub(super) struct Progress {
    /// Since its beginning, warm-up included.
    pub(super) elapsed: Duration,
    /// Measured requests that came to their end, and errors among them.
    pub(super) requests: u64,
    pub(super) errors: u64,
}

/// One run under way.
pub(super) struct Load {
    plan: Plan,
    connections: Arc<Connections>,
    targets: Vec<Target>,
    writes: Option<Arc<Writes>>,
    searches: Arrivals,
    write_arrivals: Option<Arrivals>,
    begin: Instant,
    /// When the measured part begins.
    measured_from: Instant,
    recorder: Mutex<Recorder>,
    /// Since when nothing was answered, and the last failure's words.
    unanswered: Mutex<Option<(Instant, String)>>,
    stop: CancellationToken,
}

impl Load {
    /// A run that is about to begin. `targets` are sent round-robin; `stop` ends it early.
    ///
    /// # Errors
    /// The histograms cannot be made.
    pub(super) fn new(
        plan: Plan,
        connections: Arc<Connections>,
        targets: Vec<Target>,
        writes: Option<Arc<Writes>>,
        stop: CancellationToken,
    ) -> Result<Self, String> {
        let recorder = Recorder::new(plan.duration).map_err(|error| error.to_string())?;
        let begin = Instant::now() + LEAD;
        let length = plan.warm_up + plan.duration;
        let by_schedule = |rate| {
            let schedule = Schedule::new(rate, length);
            Arrivals::open(schedule, begin, length, plan.request_timeout, stop.clone())
        };
        let searches = match plan.pace {
            Pace::Rate(rate) => by_schedule(rate),
            Pace::Clients(_) => Arrivals::closed(begin, length, stop.clone()),
        };
        let write_arrivals = writes.as_ref().map(|writes| by_schedule(writes.per_second));
        Ok(Self {
            connections,
            targets,
            writes,
            searches,
            write_arrivals,
            begin,
            measured_from: begin + plan.warm_up,
            recorder: Mutex::new(recorder),
            unanswered: Mutex::new(None),
            stop,
            plan,
        })
    }

    /// Carries the run through; `show` is told now and then how far it is.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) async fn run(self: Arc<Self>, show: impl Fn(Progress)) -> Result<Outcome, String> {
        let tasks = TaskTracker::new();
        for _ in 0..self.plan.places() {
            tasks.spawn(Arc::clone(&self).search_in_turn());
        }
        let no_thread = |error: std::io::Error| format!("no thread for the arrivals: {error}");
        self.searches.start().map_err(no_thread)?;
        if let (Some(writes), Some(arrivals)) = (&self.writes, &self.write_arrivals) {
            for _ in 0..self.plan.max_in_flight {
                tasks.spawn(Arc::clone(&self).write_in_turn(Arc::clone(writes)));
            }
            arrivals.start().map_err(no_thread)?;
        }
        tasks.close();
        let mut given_up = None;
        while tokio::time::timeout(LOOK_EVERY, tasks.wait()).await.is_err() {
            let (requests, errors) = self.recorder().counts();
            show(Progress { elapsed: self.begin.elapsed(), requests, errors });
            if let Some(reason) = self.gave_no_answer() {
                given_up.get_or_insert(reason);
                self.stop.cancel();
            }
        }
        Ok(self.outcome(given_up))
    }

    fn outcome(&self, given_up: Option<String>) -> Outcome {
        let elapsed = self.begin.elapsed();
        let measured_for = self.measured_from.elapsed().min(self.plan.duration);
        let ending = match given_up {
            Some(reason) => Ending::Unreachable(measured_for, reason),
            None if self.stop.is_cancelled() => Ending::Interrupted(measured_for),
            None => Ending::Completed,
        };
        let mut recorder = self.recorder();
        // Taken out, since tasks that have ended may still hold the run.
        let measured = recorder.finish();
        let due = |arrivals: &Arrivals, operation| {
            let length = self.plan.warm_up + self.plan.duration;
            let due = arrivals.due_between(self.plan.warm_up, elapsed.min(length))?;
            // Whoever stops a run stops its schedule.
            let begun = measured.starts(operation).begun;
            Some(if ending == Ending::Completed { due } else { begun })
        };
        Outcome {
            searches_due: due(&self.searches, Operation::Search),
            writes_due: self.write_arrivals.as_ref().and_then(|arrivals| due(arrivals, Operation::Write)),
            ending,
            measured,
        }
    }

    async fn search_in_turn(self: Arc<Self>) {
        while let Some(turn) = self.searches.next().await {
            let without_answer = self.search(turn).await;
            if without_answer && matches!(self.plan.pace, Pace::Clients(_)) {
                tokio::time::sleep(PAUSE_WITHOUT_ANSWER).await;
            }
        }
    }

    /// One search with its further pages; whether the last of its requests got no answer.
    async fn search(&self, turn: Turn) -> bool {
        let place = usize::try_from(turn.number).unwrap_or_default() % self.targets.len();
        let target = &self.targets[place];
        let mut begun = Instant::now();
        let mut intended = turn.intended;
        self.record_start(Operation::Search, turn, begun);
        let mut operation = Operation::Search;
        let mut body = None;
        for _ in 0..self.plan.pages {
            let answer = self.connections.exchange(target, body.take()).await;
            let page = answer.and_then(|(status, body)| judge_search(status, &body));
            self.record(operation, intended, begun, page.as_ref().map(|page| page.partial));
            match page {
                Err(failure) => return failure.unreachable,
                Ok(page) => match page.cursor {
                    // The page behind it is asked for as soon as this one was read.
                    Some(cursor) if !self.stop.is_cancelled() => {
                        body = Some(Bytes::from(json!({"cursor": cursor}).to_string()));
                    }
                    _ => break,
                },
            }
            operation = Operation::Page;
            begun = Instant::now();
            intended = begun;
        }
        false
    }

    async fn write_in_turn(self: Arc<Self>, writes: Arc<Writes>) {
        let Some(arrivals) = &self.write_arrivals else { return };
        while let Some(turn) = arrivals.next().await {
            let begun = Instant::now();
            self.record_start(Operation::Write, turn, begun);
            let body = writes.item(turn.number);
            let answer = self.connections.exchange(&writes.target, Some(body)).await;
            let outcome = answer.and_then(|(status, body)| judge_write(status, &body));
            self.record(Operation::Write, turn.intended, begun, outcome.as_ref().map(|()| false));
        }
    }

    fn record_start(&self, operation: Operation, turn: Turn, begun: Instant) {
        let Some(place_was_free) = turn.place_was_free else { return };
        if turn.intended >= self.measured_from {
            let (intended, begun) = (self.time_of(turn.intended), self.time_of(begun));
            self.recorder().record_start(operation, intended, begun, place_was_free);
        }
    }

    fn record(
        &self,
        operation: Operation,
        intended: Instant,
        begun: Instant,
        outcome: Result<bool, &Failure>,
    ) {
        let done = Instant::now();
        self.note_answer(outcome.err());
        if intended >= self.measured_from {
            let (intended, begun) = (self.time_of(intended), self.time_of(begun));
            let outcome = outcome.map_err(Failure::clone);
            let done = self.time_of(done);
            self.recorder().record(&Sample { operation, intended, begun, done, outcome });
        }
    }

    fn time_of(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.measured_from)
    }

    fn note_answer(&self, failure: Option<&Failure>) {
        let mut unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        *unanswered = failure.filter(|failure| failure.unreachable).map(|failure| {
            let since = unanswered.as_ref().map_or_else(Instant::now, |(since, _)| *since);
            (since, format!("{}: {}", failure.kind, failure.message))
        });
    }

    fn gave_no_answer(&self) -> Option<String> {
        let unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, failure) = unanswered.as_ref()?;
        (since.elapsed() >= GIVE_UP_AFTER).then(|| failure.clone())
    }

    fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
