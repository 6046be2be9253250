//! Imports a file's rows as content items.

use std::collections::HashMap;

use bytes::Bytes;
use serde::Serialize;

use super::{
    ContentsState,
    forms::{self, ItemFailure},
    repo, service,
};
use crate::{
    audit::{self, Actor, AuditEvent},
    auth::caller::Caller,
    confined::process::{ReaderAsker, ReadingTask},
    confined::rows::{RowsJob, RowsOf, RowsReading},
    error::{Error, Result},
    rows::{
        batch::{BatchOutcome, RowBatch},
        format::REQUIRED,
        input::ReadEnd,
        row::Rejection,
    },
};

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

/// Imports a file of JSON, RSS or Atom, plain, gzip or zstd.
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
    let (max_rows, max_bytes) = (state.limits.batch_items, state.limits.body_bytes);
    let job = RowsJob { rows_of: RowsOf::File, max_rows, max_bytes };
    let asker = ReaderAsker { group: caller.tenant.id, member: ReadingTask::Import };
    let mut reading = RowsReading::begin(&state.readers, asker, &job, file).await?;
    let mut import = ContentImport::default();
    let mut event = Some(AuditEvent::new("import", "content", module));
    let mut ended_early = false;
    loop {
        let batch = match reading.next().await {
            Ok(Some(batch)) => batch,
            Ok(None) => break,
            Err(reason) => {
                import.error = Some(reason);
                ended_early = true;
                break;
            }
        };
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
    let mut end = reading.end();
    end.has_rows |= ended_early && import.read > 0;
    import.finish(end)
}

/// Writes a batch, with the event of the first one; returns the refused ids with reasons.
async fn write(
    state: &ContentsState,
    caller: &Caller,
    module: &str,
    batch: &RowBatch,
    event: &mut Option<AuditEvent>,
) -> Result<HashMap<String, String>> {
    let (contents, failures) = forms::read_batch(batch.rows.iter().map(|row| &*row.json));
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
    /// Ends with the notes of the reader, or why nothing was read.
    fn finish(self, end: ReadEnd) -> Result<Self> {
        match &self.error {
            Some(reason) if !end.has_rows && self.written == 0 => {
                Err(Error::bad_request(format!("file: {reason}")))
            }
            None if end.is_empty => Err(Error::bad_request(format!("file: is empty; {REQUIRED}"))),
            _ => Ok(Self { notes: end.notes, ..self }),
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
        self.error = outcome.ending;
    }
}
