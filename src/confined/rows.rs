//! Reads the rows of files and feeds, in a process for each.
//!
//! The process gets a job in one line of JSON, then the content. It answers with batches and the end, one a line.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, BufWriter, Read, stdin, stdout};
use std::mem;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use url::Url;

use super::limits::{ProcessLimits, ReaderMemory, ReaderOptions, confine};
use super::process::{AnsweringProcess, ReaderAsker, ReaderProcesses, answer};
use crate::error::{Error, Result};
use crate::rows::batch::{RowBatch, batches};
use crate::rows::content;
use crate::rows::feed::MAX_FEED_BYTES;
use crate::rows::input::{ReadEnd, RowReader};
use crate::rows::row::{PreparedRow, Rejection, Row, truncate};

/// Processor time of a process.
const PROCESSOR_TIME: Duration = Duration::from_mins(1);
/// Inflated bytes of a file.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Bytes of a message beside its rows: rejections, ids and names of fields.
const MESSAGE_BYTES: usize = 4 << 20;

/// Notes that are kept, and their bytes.
const MAX_NOTES: usize = 100;
const NOTE_BYTES: usize = 1_000;

/// The kind of content that rows are read from.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum RowsOf {
    /// A file, whose beginning tells its format.
    File,
    /// A feed. HTTP tells its charset; relative addresses begin at its own.
    Feed { charset: Option<String>, address: Option<Url> },
}

/// A task of a process: rows are converted to content items in batches.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RowsJob {
    pub(crate) rows_of: RowsOf,
    /// Most rows of a batch.
    pub(crate) max_rows: usize,
    /// Most bytes of a batch.
    pub(crate) max_bytes: usize,
}

/// A row, and the bytes of input up to it.
type PreparedOrRefused = (Result<PreparedRow, Rejection>, u64);

/// An answer of a process. The end is the last.
#[derive(Debug, Serialize, Deserialize)]
enum RowsMessage {
    Batch(RowBatch),
    End(ReadEnd),
}

/// The rows of a content that is being read. The process ends with this value.
#[derive(Debug)]
pub(crate) struct RowsReading {
    process: AnsweringProcess,
    end: ReadEnd,
}

impl RowsReading {
    /// Begins to read a content.
    ///
    /// # Errors
    /// The process cannot be started.
    pub(crate) async fn begin(
        readers: &ReaderProcesses,
        asker: ReaderAsker,
        job: &RowsJob,
        content: Bytes,
    ) -> Result<Self> {
        let mut line = serde_json::to_vec(job).map_err(Error::internal)?;
        line.push(b'\n');
        let most = job.max_bytes.saturating_mul(2).saturating_add(MESSAGE_BYTES);
        let memory = ReaderMemory::of_content(content.len() as u64);
        let (process, input) = readers.start((asker, memory), "read-rows", PROCESSOR_TIME, most).await?;
        tokio::spawn(feed(input, [line.into(), content]));
        Ok(Self { process, end: ReadEnd::default() })
    }

    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// Why the process ended early.
    pub(crate) async fn next(&mut self) -> Result<Option<RowBatch>, String> {
        match self.process.next().await? {
            RowsMessage::Batch(batch) => Ok(Some(batch.shortened())),
            RowsMessage::End(mut end) => {
                end.notes.truncate(MAX_NOTES);
                end.notes.iter_mut().for_each(|note| _ = truncate(note, NOTE_BYTES));
                self.end = end;
                Ok(None)
            }
        }
    }

    /// Ends the reading; returns what is known after the last batch.
    pub(crate) fn end(self) -> ReadEnd {
        self.end
    }
}

/// Writes to a process; one that ends early takes no more.
async fn feed(mut input: ChildStdin, parts: [Bytes; 2]) {
    for part in parts {
        if input.write_all(&part).await.is_err() {
            return;
        }
    }
}

/// Does the job of standard input, as the process `trawl read-rows`.
///
/// # Errors
/// The limits are refused, or a stream is lost.
pub fn serve(options: ReaderOptions) -> io::Result<()> {
    confine(&ProcessLimits {
        memory_bytes: options.memory_bytes(),
        processor_seconds: Some(PROCESSOR_TIME.as_secs()),
        in_background: true,
        readable: Vec::new(),
    })?;
    let mut input = BufReader::new(stdin());
    let mut job = String::new();
    input.read_line(&mut job)?;
    let RowsJob { rows_of, max_rows, max_bytes } = serde_json::from_str(&job)?;
    let is_feed = matches!(rows_of, RowsOf::Feed { .. });
    let (reader, prepare): (_, fn(Row) -> _) = match rows_of {
        RowsOf::File => (RowReader::new(input, MAX_FILE_BYTES), content::prepare),
        RowsOf::Feed { charset, address } => {
            let mut document = Vec::new();
            input.take(MAX_FEED_BYTES as u64).read_to_end(&mut document)?;
            (RowReader::feed(&document, charset.as_deref(), address), prepare_entry)
        }
    };
    let end = reader.end();
    let mut output = BufWriter::new(stdout().lock());
    let rows = reader.prepared(prepare);
    let rows: Box<dyn Iterator<Item = _>> =
        if is_feed { Box::new(last_of_each_id(rows.collect())) } else { Box::new(rows) };
    for batch in batches(rows, max_rows, max_bytes) {
        answer(&mut output, &RowsMessage::Batch(batch))?;
    }
    answer(&mut output, &RowsMessage::End(end.get().cloned().unwrap_or_default()))
}

/// Drops revisions of an entry that stand before its last.
fn last_of_each_id(rows: Vec<PreparedOrRefused>) -> impl Iterator<Item = PreparedOrRefused> {
    let ids =
        rows.iter().enumerate().filter_map(|(place, (row, _))| Some((row.as_ref().ok()?.id.clone(), place)));
    let last: HashMap<String, usize> = ids.collect();
    let is_last = move |place: usize, row: &PreparedOrRefused| {
        row.0.as_ref().map_or(true, |row| last.get(&row.id) == Some(&place))
    };
    rows.into_iter().enumerate().filter(move |(place, row)| is_last(*place, row)).map(|(_, row)| row)
}

/// Converts an entry of a feed; a refusal names its place.
fn prepare_entry(row: Row) -> Result<PreparedRow, Rejection> {
    let place = row.place();
    content::prepare(row).map_err(|mut rejection| {
        rejection.reason = place + &mem::take(&mut rejection.reason);
        rejection
    })
}
