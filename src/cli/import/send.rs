//! Delivers batches: waits when asked to, tries again what may pass, halves what is too large, and maps the rows
//! that the server did not take back to their places in the file.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use backon::{ExponentialBuilder, Retryable};
use bytes::Bytes;

use super::batch::Batch;
use super::console::Console;
use super::destination::{Destination, Refusal};
use super::row::Rejection;
use crate::cli::client::{Client, Failure};

/// How long the sender puts up with a server that does not answer, or that asks to wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// The first pause after a failure; each further one is twice as long.
    pub(super) first_pause: Duration,
    /// The longest pause.
    pub(super) longest_pause: Duration,
    /// How long one request is tried again while it fails.
    pub(super) failing: Duration,
    /// How long one request waits, in all, because the server asks for it. Longer than the minute after which a
    /// rate limit lets writes through again (decisions 9.9).
    pub(super) asked: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            first_pause: Duration::from_millis(250),
            longest_pause: Duration::from_secs(10),
            failing: Duration::from_mins(1),
            asked: Duration::from_mins(15),
        }
    }
}

/// What became of a batch.
#[derive(Debug)]
pub(super) struct Settled {
    /// As [`Batch::end`].
    pub(super) end: u64,
    /// As [`Batch::position`].
    pub(super) position: u64,
    /// As [`Batch::truncated`].
    pub(super) truncated: u64,
    /// How many rows the server took.
    pub(super) accepted: u64,
    /// The rows rejected here and by the server, in the order of the file.
    pub(super) rejections: Vec<Rejection>,
}

/// Why an import stopped before the end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    /// The server did not come back in time.
    #[error("gave up after trying for {} s: {failure}", .after.as_secs())]
    GaveUp {
        /// How long it was tried.
        after: Duration,
        /// The last failure.
        failure: Failure,
    },
    /// The server asks to wait for longer than makes sense.
    #[error("the server asks to wait for too long ({} s): {failure}", .wait.as_secs())]
    Wait {
        /// How long it asks to wait.
        wait: Duration,
        /// With which words.
        failure: Failure,
    },
    /// The server will not take the batch, now or later.
    #[error("the server refuses: {0}")]
    Refused(Failure),
    /// The person stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The reading side broke.
    #[error("reading broke off unexpectedly")]
    Reader,
}

/// Sends the batches of one import.
pub(super) struct Sender {
    client: Client,
    destination: Destination,
    patience: Patience,
    /// The smallest body that the server found too large, so that each further one is halved before it is sent.
    refused_bytes: AtomicUsize,
}

impl Sender {
    pub(super) fn new(client: Client, destination: Destination, patience: Patience) -> Self {
        Self { client, destination, patience, refused_bytes: AtomicUsize::new(usize::MAX) }
    }

    pub(super) fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Sends the members of a batch, in as many requests as it takes.
    pub(super) async fn deliver(&self, batch: Batch, console: &Console) -> Result<Settled, Stop> {
        let mut refusals = Vec::new();
        let mut rejections = Vec::new();
        // A stack, whose top is the part that comes first in the file.
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
                        refusals.extend(found);
                        continue;
                    }
                    Err(Stop::Refused(Failure::TooLarge(message))) => message,
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
                rejections.push(Rejection::of_row(member.number, Some(member.id.clone()), reason));
            }
        }
        rejections.extend(locate(&batch, refusals));
        let accepted = (batch.members.len() as u64).saturating_sub(rejections.len() as u64);
        rejections.extend(batch.rejections);
        // The end of reading has no number and comes last.
        rejections.sort_by_key(|rejection| rejection.number.unwrap_or(u64::MAX));
        let Batch { end, position, truncated, .. } = batch;
        Ok(Settled { end, position, truncated, accepted, rejections })
    }

    /// Sends one body until the server has answered for good.
    async fn send(&self, body: Bytes, console: &Console) -> Result<Vec<Refusal>, Stop> {
        let patience = self.patience;
        let pauses = ExponentialBuilder::new()
            .with_min_delay(patience.first_pause)
            .with_max_delay(patience.longest_pause)
            .with_total_delay(Some(patience.failing))
            .without_max_times()
            .with_jitter();
        let mut asked = Duration::ZERO;
        loop {
            let begin = Instant::now();
            let answer = (|| self.destination.send(&self.client, body.clone()))
                .retry(pauses)
                .when(|failure| failure.may_pass() && begin.elapsed() < patience.failing)
                .notify(|failure, pause| {
                    console.notice(&format!("trying again in {} s: {failure}", seconds(pause)));
                })
                .await;
            match answer {
                Ok(refusals) => return Ok(refusals),
                Err(Failure::Busy { wait, .. }) if asked + wait <= patience.asked => {
                    // At least a second counts: a server that says "0" for ever must not be asked for ever.
                    asked += wait.max(Duration::from_secs(1));
                    let pause = wait.max(patience.first_pause);
                    console.notice(&format!("waiting {} s, as the server asks", seconds(pause)));
                    tokio::time::sleep(pause).await;
                }
                Err(failure @ Failure::Busy { wait, .. }) => return Err(Stop::Wait { wait, failure }),
                Err(failure) if failure.may_pass() => {
                    return Err(Stop::GaveUp { after: begin.elapsed(), failure });
                }
                Err(failure) => return Err(Stop::Refused(failure)),
            }
        }
    }
}

fn seconds(pause: Duration) -> f64 {
    (pause.as_secs_f64() * 10.0).round() / 10.0
}

/// The rows that the server named by their ids.
fn locate(batch: &Batch, refusals: Vec<Refusal>) -> Vec<Rejection> {
    if refusals.is_empty() {
        return Vec::new();
    }
    let mut numbers: HashMap<&str, u64> =
        batch.members.iter().map(|member| (member.id.as_str(), member.number)).collect();
    let rejection = |(id, reason): Refusal| {
        // Named twice, or never sent: it is no further row.
        let number = numbers.remove(id.as_str())?;
        Some(Rejection::of_row(number, Some(id), reason))
    };
    refusals.into_iter().filter_map(rejection).collect()
}
