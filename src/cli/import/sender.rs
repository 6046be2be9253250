//! Sends batches: retries, halves oversized bodies, maps refused ids to rows.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use backon::{ExponentialBuilder, Retryable};
use bytes::Bytes;

use super::console::Console;
use super::destination::Destination;
use crate::cli::client::{ApiClient, CallError};
use crate::rows::batch::Batch;
use crate::rows::row::{RefusedRow, Rejection};

#[derive(Debug, Clone, Copy)]
pub(super) struct RetryLimits {
    /// Doubled after each failure.
    pub(super) first_pause: Duration,
    pub(super) longest_pause: Duration,
    /// Per request.
    pub(super) retry_time: Duration,
    /// Per request, by `Retry-After`; longer than the minute of the write limit (decisions 9.9).
    pub(super) total_wait: Duration,
}

impl Default for RetryLimits {
    fn default() -> Self {
        Self {
            first_pause: Duration::from_millis(250),
            longest_pause: Duration::from_secs(10),
            retry_time: Duration::from_mins(1),
            total_wait: Duration::from_mins(15),
        }
    }
}

#[derive(Debug)]
pub(super) struct BatchOutcome {
    pub(super) end: u64,
    pub(super) position: u64,
    pub(super) truncated: u64,
    pub(super) accepted: u64,
    pub(super) rejections: Vec<Rejection>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ImportStop {
    #[error("gave up after retrying for {} s: {failure}", .after.as_secs())]
    GaveUp { after: Duration, failure: CallError },
    #[error("the server asks to wait for too long ({} s): {failure}", .wait.as_secs())]
    Wait { wait: Duration, failure: CallError },
    #[error("the server refuses: {0}")]
    Refused(CallError),
    #[error("interrupted")]
    Interrupted,
    #[error("reading failed unexpectedly")]
    Reader,
}

pub(super) struct Sender {
    client: ApiClient,
    destination: Destination,
    limits: RetryLimits,
    /// Smallest body that got 413; larger ones are halved unsent.
    refused_bytes: AtomicUsize,
}

impl Sender {
    pub(super) fn new(client: ApiClient, destination: Destination, limits: RetryLimits) -> Self {
        Self { client, destination, limits, refused_bytes: AtomicUsize::new(usize::MAX) }
    }

    pub(super) fn destination(&self) -> &Destination {
        &self.destination
    }

    pub(super) async fn deliver(&self, batch: Batch, console: &Console) -> Result<BatchOutcome, ImportStop> {
        let mut refused_rows = Vec::new();
        let mut rejections = Vec::new();
        // A stack with the first part on top.
        let mut parts: Vec<_> =
            (!batch.members.is_empty()).then_some(0..batch.members.len()).into_iter().collect();
        while let Some(part) = parts.pop() {
            let body = batch.body(&part);
            let bytes = body.len();
            let message = if bytes >= self.refused_bytes.load(Ordering::Relaxed) && part.len() > 1 {
                String::new()
            } else {
                match self.send(body, console).await {
                    Ok(found) => {
                        refused_rows.extend(found);
                        continue;
                    }
                    Err(ImportStop::Refused(CallError::TooLarge(message))) => message,
                    Err(stop) => return Err(stop),
                }
            };
            self.refused_bytes.fetch_min(bytes, Ordering::Relaxed);
            if part.len() > 1 {
                let middle = part.start + part.len() / 2;
                parts.push(middle..part.end);
                parts.push(part.start..middle);
            } else {
                let member = &batch.members[part.start];
                let reason = format!("too large for the server ({bytes} bytes): {message}");
                rejections.push(Rejection::row(member.number, Some(member.id.clone()), reason));
            }
        }
        rejections.extend(batch.locate(refused_rows));
        let accepted = (batch.members.len() as u64).saturating_sub(rejections.len() as u64);
        rejections.extend(batch.rejections);
        rejections.sort_by_key(|rejection| rejection.number.unwrap_or(u64::MAX));
        let Batch { end, position, truncated, .. } = batch;
        Ok(BatchOutcome { end, position, truncated, accepted, rejections })
    }

    async fn send(&self, body: Bytes, console: &Console) -> Result<Vec<RefusedRow>, ImportStop> {
        let limits = self.limits;
        let pauses = ExponentialBuilder::new()
            .with_min_delay(limits.first_pause)
            .with_max_delay(limits.longest_pause)
            .with_total_delay(Some(limits.retry_time))
            .without_max_times()
            .with_jitter();
        let mut waited = Duration::ZERO;
        loop {
            let begin = Instant::now();
            let answer = (|| self.destination.send(&self.client, body.clone()))
                .retry(pauses)
                .when(|failure| failure.may_pass() && begin.elapsed() < limits.retry_time)
                .notify(|failure, pause| {
                    console.notice(&format!("retrying in {} s: {failure}", seconds(pause)));
                })
                .await;
            match answer {
                Ok(refused_rows) => return Ok(refused_rows),
                Err(CallError::Busy { wait, .. }) if waited + wait <= limits.total_wait => {
                    // At least a second: a server may send 0 for ever.
                    waited += wait.max(Duration::from_secs(1));
                    let pause = wait.max(limits.first_pause);
                    console.notice(&format!("waiting {} s as the server asks", seconds(pause)));
                    tokio::time::sleep(pause).await;
                }
                Err(failure @ CallError::Busy { wait, .. }) => {
                    return Err(ImportStop::Wait { wait, failure });
                }
                Err(failure) if failure.may_pass() => {
                    return Err(ImportStop::GaveUp { after: begin.elapsed(), failure });
                }
                Err(failure) => return Err(ImportStop::Refused(failure)),
            }
        }
    }
}

fn seconds(pause: Duration) -> f64 {
    (pause.as_secs_f64() * 10.0).round() / 10.0
}
