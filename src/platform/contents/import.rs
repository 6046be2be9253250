//! Imports a file's rows as content items.

use std::collections::HashMap;

use bytes::{Buf, Bytes};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::{
    ContentsState,
    forms::{self, ItemFailure},
    repo, service,
};
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::caller::Caller,
    error::{Error, Result},
    rows::{
        batch::{BatchOutcome, RowBatch, batches, body},
        catch, content,
        format::REQUIRED,
        input::{ReadEnd, RowReader},
        row::Rejection,
    },
};

/// Inflated bytes of a file.
const MAX_FILE_BYTES: u64 = 1 << 30;

const MAX_LISTED_REJECTIONS: usize = 1_000;

/// The result of an import.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
pub struct ContentImport {
    /// Rows read.
    read: usize,
    /// Rows written.
    written: usize,
    /// Rows rejected.
    rejected: usize,
    /// Rows whose `brief` was cut.
    truncated: u64,
    /// Entries of a feed whose time cannot be read, and stands as of 1970.
    undated: u64,
    /// What was guessed or not understood in a feed.
    notes: Vec<String>,
    /// The first 1,000 rejected rows.
    rejections: Vec<Rejection>,
    /// The reason for which reading ended early.
    error: Option<String>,
}

/// Imports a file: JSON Lines, a JSON array, RSS, Atom or JSON Feed, plain, gzip or zstd.
///
/// Each batch is written at once; an import whose caller leaves ends after the present one.
///
/// # Errors
/// 400 and 404 for the module; 400 for a file of which nothing can be read as a row; failures of the store at the first batch; 500 where
/// reading fails inside the server, with the number of rows that are in.
pub async fn import_contents(
    state: &ContentsState,
    caller: &Caller,
    module: &str,
    file: Bytes,
) -> Result<ContentImport> {
    service::check_module(state, caller.tenant.id, module).await?;
    let (sender, mut received) = mpsc::channel(1);
    let (max_rows, max_bytes) = (state.limits.batch_items, state.limits.body_bytes);
    let reading = tokio::task::spawn_blocking(move || {
        catch(move || {
            let reader = RowReader::new(file.reader(), MAX_FILE_BYTES);
            let end = reader.end();
            // Ends with the receiver.
            let rows = reader.prepared(content::prepare);
            let _ = batches(rows, max_rows, max_bytes).try_for_each(|batch| sender.blocking_send(batch));
            end.get().cloned().unwrap_or_default()
        })
    });
    let mut import = ContentImport::default();
    let mut event = Some(AuditEvent::new("import", "content", module));
    while let Some(batch) = received.recv().await {
        match write(state, caller, module, &batch, &mut event).await {
            Ok(refused) => import.add(batch.outcome(refused)),
            // Earlier batches stay, so the answer has to count them.
            Err(error) if import.written > 0 => {
                import.error = Some(format!("the following rows were not written: {}", error.message));
                break;
            }
            Err(error) => return Err(error),
        }
    }
    drop(received);
    import.finish(reading.await.map_err(Error::internal)?)
}

/// Writes a batch, with the event of the first one; returns the refused ids with reasons.
async fn write(
    state: &ContentsState,
    caller: &Caller,
    module: &str,
    batch: &RowBatch,
    event: &mut Option<AuditEvent>,
) -> Result<HashMap<String, String>> {
    let rows: Vec<Box<RawValue>> = serde_json::from_slice(&body(&batch.rows)).map_err(Error::internal)?;
    let (contents, failures) = forms::read_batch(&rows);
    let refused = failures.into_iter().map(|ItemFailure { id, message }| (id, message)).collect();
    if contents.is_empty() {
        return Ok(refused);
    }
    state.bulk.wait_for_room(contents.len()).await?;
    let (actor, tenant) = (Actor::caller(caller), caller.tenant.clone());
    let (module, events) = (module.to_owned(), event.take().into_iter().collect());
    let job = state.store.write_for(tenant.id, move |transaction| {
        Box::pin(async move {
            repo::upsert(transaction, tenant.id, &module, &contents).await?;
            Ok(audit::record(transaction, &actor, &tenant, events).await?)
        })
    });
    job.await?;
    Ok(refused)
}

impl ContentImport {
    /// Ends with the notes of the reader, or why it failed.
    fn finish(self, end: Result<ReadEnd, String>) -> Result<Self> {
        match (end, &self.error) {
            (Err(reason), _) => {
                let message = format!("file: {reason}; {} rows were written before", self.written);
                Err(Error::internal(reason).with_message(message))
            }
            (Ok(end), Some(reason)) if !end.has_rows && self.written == 0 => {
                Err(Error::bad_request(format!("file: {reason}")))
            }
            (Ok(end), None) if end.is_empty => Err(Error::bad_request(format!("file: is empty; {REQUIRED}"))),
            (Ok(end), _) => Ok(Self { notes: end.notes, ..self }),
        }
    }

    fn add(&mut self, outcome: BatchOutcome) {
        self.written += outcome.accepted;
        self.rejected += outcome.rejections.len();
        self.read = self.written + self.rejected;
        self.truncated += outcome.truncated;
        self.undated += outcome.undated;
        let room = MAX_LISTED_REJECTIONS.saturating_sub(self.rejections.len());
        self.rejections.extend(outcome.rejections.into_iter().take(room));
        self.error = outcome.ending.map(|ending| ending.reason);
    }
}
