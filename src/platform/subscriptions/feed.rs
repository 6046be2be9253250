//! Reads a feed.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::{task::spawn_blocking, time::timeout};
use trawl_connectors::{FeedAnswer, SourceError, Validators};
use url::Url;

use super::{
    batch::{ItemBatch, RunProgress},
    entries::read_entries,
    forms::Feed,
    report::RunOutcome,
    run::{BATCH, FinishedRun, Run, RunFailure, RunStop},
};
use crate::{
    confined::rows::{RowsJob, RowsOf, RowsReading},
    error::Error,
};

/// Timeout of one request and its answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes, both received and inflated.
const MAX_BYTES: usize = 8 << 20;
const MAX_REDIRECTS: usize = 5;

/// The document that was read last.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct FeedPosition {
    /// Its address behind redirects.
    url: Option<Url>,
    #[serde(flatten)]
    validators: Validators,
}

/// Reads the feed unless it is unchanged.
pub(super) async fn read(run: &mut Run<'_>, feed: &Feed) -> Result<FinishedRun, RunStop> {
    let position: FeedPosition = serde_json::from_str(&run.begun.position).unwrap_or_default();
    let Some((document, position)) = fetch(run, feed, &position).await? else {
        let outcome = RunOutcome::Unchanged;
        return Ok(FinishedRun { outcome, position: None, batch: ItemBatch::default(), is_whole: false });
    };
    let contents = &run.runner.state.contents;
    let rows_of = RowsOf::Feed { charset: document.charset, address: position.url.clone() };
    let job = RowsJob { rows_of, max_rows: BATCH, max_bytes: contents.limits.body_bytes };
    let mut reading =
        RowsReading::begin(&run.runner.readers, run.asker(), &job, document.bytes.into()).await?;
    let (mut items, mut ending) = (Vec::new(), None);
    let failure = loop {
        let batch = match reading.next().await {
            Ok(Some(batch)) => batch,
            Ok(None) => break ending,
            Err(reason) => break Some(format!("the feed cannot be read: {reason}")),
        };
        if !items.is_empty() {
            run.write(ItemBatch { items, gone: Vec::new() }, RunProgress::Stay).await?;
        }
        let id = run.begun.settings.id.clone();
        let (rows, refused, end) = batch.into_parts();
        let entries = spawn_blocking(move || read_entries(&id, rows, refused)).await;
        items = run.take(entries.map_err(Error::internal)??)?;
        ending = end;
    };
    run.note(reading.end().notes);
    if let Some(reason) = failure {
        run.write(ItemBatch { items, gone: Vec::new() }, RunProgress::Stay).await?;
        return Err(RunStop::failed(reason));
    }
    Ok(FinishedRun {
        outcome: RunOutcome::Read,
        position: Some(serde_json::to_string(&position).map_err(Error::internal)?),
        batch: ItemBatch { items, gone: Vec::new() },
        is_whole: true,
    })
}

/// A document, as HTTP delivers it.
struct Document {
    bytes: Vec<u8>,
    charset: Option<String>,
}

/// The document, and its place; `None` if it is unchanged.
async fn fetch(
    run: &Run<'_>,
    feed: &Feed,
    last: &FeedPosition,
) -> Result<Option<(Document, FeedPosition)>, RunStop> {
    let mut url = feed.url.clone();
    for _ in 0..=MAX_REDIRECTS {
        let none = Validators::default();
        let validators = if last.url.as_ref() == Some(&url) { &last.validators } else { &none };
        match request(run, &url, validators).await? {
            FeedAnswer::Document { bytes, charset, validators } => {
                let position = FeedPosition { url: Some(url), validators };
                return Ok(Some((Document { bytes, charset }, position)));
            }
            FeedAnswer::Unchanged => return Ok(None),
            FeedAnswer::Moved(target) => url = target,
            FeedAnswer::Gone => {
                return Err(RunStop::Failed(RunFailure {
                    message: "the feed is gone (HTTP 410); it is asked again when an operator runs it"
                        .to_owned(),
                    is_final: true,
                    ..RunFailure::default()
                }));
            }
        }
    }
    Err(RunStop::failed(format!("there were more than {MAX_REDIRECTS} redirects in a row")))
}

/// Sends one request, as the only one to its host.
async fn request(run: &Run<'_>, url: &Url, validators: &Validators) -> Result<FeedAnswer, RunStop> {
    let (runner, host) = (run.runner, url.host_str().unwrap_or_default());
    let _turn = runner.hosts.turn(host).await;
    let now = runner.state.clock.now();
    if let Some(until) = runner.hosts.rests_to(host, now) {
        let message = "the host of the feed has asked for a pause".to_owned();
        return Err(RunStop::Failed(RunFailure {
            message,
            rest: Some((host.to_owned(), until)),
            is_final: false,
        }));
    }
    let answer = timeout(TIMEOUT, runner.feeds.fetch(url, validators, MAX_BYTES)).await;
    answer.unwrap_or(Err(SourceError::Timeout)).map_err(|error| {
        let pause = match &error {
            SourceError::Unavailable { retry_after: Some(pause), .. } => Some(*pause),
            _ => None,
        };
        let rest = pause.map(|pause| {
            let pause = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
            let until = runner.state.clock.now().saturating_add(pause);
            // The rest begins before the turn ends, so that no other run calls the host.
            runner.hosts.rest(host, until);
            (host.to_owned(), until)
        });
        let message = match error {
            SourceError::Timeout => "the feed did not answer in time".to_owned(),
            other => other.to_string(),
        };
        RunStop::Failed(RunFailure { message, rest, is_final: false })
    })
}
