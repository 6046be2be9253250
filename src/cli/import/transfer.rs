//! Transfers a file: one thread reads and converts rows, tasks send them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use indicatif::ProgressBar;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::destination::Destination;
use super::report::{ImportReport, notice};
use crate::cli::client::{ApiClient, CallError};
use crate::rows::batch::{BatchOutcome, MAX_BODY_BYTES, RowBatch, batches, body};
use crate::rows::input::RowReader;
use crate::rows::row::PreparedRow;

pub(super) const STANDARD_INPUT: &str = "-";

/// Pause after a failure; doubled after each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// Time after which a request that fails is given up.
const RETRY_TIMEOUT: Duration = Duration::from_mins(1);
/// Sum of a request's waits by `Retry-After`.
///
/// Longer than the minute of the write limit.
const MAX_WAIT: Duration = Duration::from_mins(15);

pub(super) struct ImportSender {
    client: ApiClient,
    destination: Destination,
    bar: ProgressBar,
    /// Smallest body that got 413; larger ones are halved unsent.
    refused_bytes: AtomicUsize,
}

/// A batch that is being sent.
struct SentBatch {
    ids: HashSet<String>,
    task: JoinHandle<Result<BatchOutcome, String>>,
}

/// Waits for the batch that was sent first, and leaves it in the queue.
async fn first_outcome(in_flight: &mut VecDeque<SentBatch>) -> Result<BatchOutcome, String> {
    match in_flight.front_mut() {
        Some(first) => {
            (&mut first.task).await.map_err(|error| format!("sending failed unexpectedly: {error}"))?
        }
        None => std::future::pending().await,
    }
}

impl ImportSender {
    pub(super) fn new(client: ApiClient, destination: Destination, bar: ProgressBar) -> Self {
        Self { client, destination, bar, refused_bytes: AtomicUsize::new(usize::MAX) }
    }

    /// Sends a file's rows in concurrent batches; reports in file order.
    ///
    /// # Errors
    /// The reason for which the import stopped.
    pub(super) async fn transfer(
        self: &Arc<Self>,
        path: &Path,
        max_rows: usize,
        max_in_flight: usize,
        report: &mut ImportReport,
    ) -> Result<(), String> {
        let (sender, mut receiver) = mpsc::channel(1);
        let this = Arc::clone(self);
        let path = path.to_owned();
        // Not of the runtime's pool: a pipe may never be opened, and a read of it never return.
        let reader = thread::spawn(move || {
            let input = open(&path).map_err(|error| format!("cannot open: {error}"))?;
            let reader = RowReader::new(input, u64::MAX);
            let end = reader.end();
            let rows = reader.prepared(|row| this.destination.prepare(row));
            // The receiver is gone once the import has stopped.
            let _ = batches(rows, max_rows, MAX_BODY_BYTES).try_for_each(|batch| sender.blocking_send(batch));
            Ok(end.get().map(|end| end.notes.clone()).unwrap_or_default())
        });
        let mut in_flight: VecDeque<SentBatch> = VecDeque::new();
        let (mut next, mut has_more): (Option<RowBatch>, _) = (None, true);
        loop {
            // The later row of an id wins, so both must not be in flight at once.
            let may_start = |batch: &mut RowBatch| {
                in_flight.len() < max_in_flight
                    && in_flight.iter().all(|sent| sent.ids.is_disjoint(&batch.ids))
            };
            if let Some(batch) = next.take_if(may_start) {
                in_flight.push_back(self.start(batch));
            }
            tokio::select! {
                batch = receiver.recv(), if has_more && next.is_none() => {
                    has_more = batch.is_some();
                    next = batch;
                }
                outcome = first_outcome(&mut in_flight), if !in_flight.is_empty() => {
                    in_flight.pop_front();
                    report.add(outcome?);
                }
                else => break,
            }
        }
        let notes: Result<Vec<String>, String> =
            reader.join().map_err(|_| "its reader failed; this is a fault of trawl".to_owned())?;
        report.note(&notes?);
        Ok(())
    }

    fn start(self: &Arc<Self>, mut batch: RowBatch) -> SentBatch {
        let (this, ids) = (Arc::clone(self), std::mem::take(&mut batch.ids));
        let task = tokio::spawn(async move {
            let refused = this.send(&batch.rows).await?;
            Ok(batch.outcome(refused))
        });
        SentBatch { ids, task }
    }

    /// Sends rows; returns the refused ids with reasons.
    ///
    /// Where the server refuses a body as too large, each half is sent by itself.
    async fn send(&self, rows: &[PreparedRow]) -> Result<HashMap<String, String>, String> {
        let mut refused = HashMap::new();
        // A stack with the first part on top.
        let mut parts: Vec<_> = Some(rows).filter(|rows| !rows.is_empty()).into_iter().collect();
        while let Some(part) = parts.pop() {
            let body = body(part);
            let bytes = body.len();
            if part.len() == 1 || bytes < self.refused_bytes.load(Ordering::Relaxed) {
                match retry(&self.bar, || self.destination.send(&self.client, body.clone())).await {
                    Ok(found) => {
                        refused.extend(found);
                        continue;
                    }
                    Err(CallError::TooLarge(message)) if part.len() == 1 => {
                        let reason = format!("too large for the server ({bytes} bytes): {message}");
                        refused.insert(part[0].id.clone(), reason);
                        continue;
                    }
                    Err(CallError::TooLarge(_)) => self.refused_bytes.fetch_min(bytes, Ordering::Relaxed),
                    Err(failure) => return Err(describe(&failure, &self.client.origin())),
                };
            }
            let (first, second) = part.split_at(part.len() / 2);
            parts.extend([second, first]);
        }
        Ok(refused)
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if path.as_os_str() == STANDARD_INPUT {
        Ok(Box::new(io::stdin()))
    } else {
        Ok(Box::new(File::open(path)?))
    }
}

/// Retries a call after passing failures and as `Retry-After` asks.
async fn retry<T, F: Future<Output = Result<T, CallError>>>(
    bar: &ProgressBar,
    call: impl Fn() -> F,
) -> Result<T, CallError> {
    let (mut started, mut pause, mut waited) = (Instant::now(), FIRST_PAUSE, Duration::ZERO);
    loop {
        let failure = match call().await {
            Ok(answer) => return Ok(answer),
            Err(failure) => failure,
        };
        let wait = match &failure {
            CallError::Busy { wait, .. } if waited + *wait <= MAX_WAIT => {
                // At least a second: a server may send 0 for ever.
                let wait = (*wait).max(Duration::from_secs(1));
                waited += wait;
                started = Instant::now() + wait;
                wait
            }
            failure if failure.may_pass() && started.elapsed() < RETRY_TIMEOUT => {
                let wait = pause;
                pause = (pause * 2).min(MAX_PAUSE);
                wait
            }
            _ => return Err(failure),
        };
        notice(bar, &format!("trying again in {:.1} s: {failure}", wait.as_secs_f64()));
        sleep(wait).await;
    }
}

fn describe(failure: &CallError, server: &str) -> String {
    match failure {
        CallError::Busy { wait, .. } => {
            format!("{server} asks to wait for too long ({} s): {failure}", wait.as_secs())
        }
        failure if failure.may_pass() => format!("gave up on {server} after several tries: {failure}"),
        failure => format!("{server} refuses: {failure}"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::iter::{empty, repeat};

    use super::*;

    fn busy(seconds: u64) -> CallError {
        CallError::Busy { status: 429, message: String::new(), wait: Duration::from_secs(seconds) }
    }

    /// Retries a call that fails as given, then succeeds.
    ///
    /// Returns the failure that ended it, and the seconds it took.
    async fn retried(failures: impl Iterator<Item = CallError>) -> (Option<CallError>, f64) {
        let (failures, started) = (RefCell::new(failures), Instant::now());
        let call = async || failures.borrow_mut().next().map_or(Ok(()), Err);
        let result = retry(&ProgressBar::hidden(), call).await;
        (result.err(), started.elapsed().as_secs_f64())
    }

    #[tokio::test(start_paused = true)]
    async fn transient_failures_are_retried_within_their_time() {
        let away = CallError::Unreachable("refused".to_owned());
        let broken = CallError::Server { status: 500, message: String::new() };
        let forbidden = CallError::Refused { status: 403, message: String::new() };
        assert_eq!(retried(empty()).await, (None, 0.0));
        let (end, seconds) = retried([away.clone(), broken, busy(7), busy(0)].into_iter()).await;
        assert!(end.is_none() && (8.75..8.8).contains(&seconds), "{end:?} {seconds}");
        let (end, seconds) = retried(repeat(away.clone())).await;
        assert!(end == Some(away) && (60.0..71.0).contains(&seconds), "{end:?} {seconds}");
        let (end, seconds) = retried(repeat(busy(0))).await;
        assert!(end == Some(busy(0)) && (899.0..902.0).contains(&seconds), "{end:?} {seconds}");
        for last in [forbidden, busy(901)] {
            assert_eq!(retried([last.clone()].into_iter()).await, (Some(last), 0.0));
        }
    }
}
