//! Imports one file.
//!
//! A thread reads and converts. Progress is stored in file order.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;

use futures::stream::{FuturesOrdered, StreamExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::checkpoint::{Checkpoint, ResumePoint};
use super::console::Console;
use super::destination::Destination;
use super::report::{FileReport, ImportReport, rejection_line};
use super::sender::{BatchOutcome, ImportStop, Sender};
use crate::rows::batch::{Batch, Batcher, MAX_BODY_BYTES, read_batches};
use crate::rows::input::RowReader;
use crate::rows::row::Rejection;

pub(super) const STANDARD_INPUT: &str = "-";

pub(super) struct FileImporter<'a> {
    pub(super) sender: &'a Sender,
    pub(super) console: &'a Console,
    pub(super) interrupt: &'a CancellationToken,
    pub(super) batch_rows: usize,
    pub(super) in_flight: usize,
}

pub(super) struct FileProgress<'a> {
    file: FileReport,
    report: &'a mut ImportReport,
    state: Option<Checkpoint>,
    resume_point: ResumePoint,
    broke_off: bool,
}

impl<'a> FileProgress<'a> {
    pub(super) fn new(name: String, report: &'a mut ImportReport, state: Option<Checkpoint>) -> Self {
        let resume_point = state.as_ref().map(Checkpoint::load).unwrap_or_default();
        let file = FileReport {
            file: name,
            resumed_after: resume_point.row,
            rejected_before: resume_point.rejected,
            ..FileReport::default()
        };
        Self { file, report, state, resume_point, broke_off: false }
    }

    fn settle(&mut self, outcome: BatchOutcome, console: &Console) {
        let rows = outcome.rejections.iter().filter(|rejection| rejection.number.is_some()).count() as u64;
        self.broke_off |= rows < outcome.rejections.len() as u64;
        self.file.sent += outcome.accepted;
        self.file.rejected += rows;
        self.file.read += outcome.accepted + rows;
        self.file.truncated += outcome.truncated;
        for rejection in outcome.rejections {
            console.notice(&rejection_line(&self.file.file, &rejection));
            self.report.list(&self.file.file, rejection);
        }
        self.resume_point = ResumePoint {
            row: self.resume_point.row.max(outcome.end),
            rejected: self.resume_point.rejected + rows,
        };
        console.progress(self.file.read, outcome.position);
        // Synchronous: small, and this thread has nothing else to do.
        if let Some(Err(error)) = self.state.as_ref().map(|state| state.save(self.resume_point)) {
            console.notice(&format!("cannot store the progress, so this import cannot be resumed: {error}"));
            self.state = None;
        }
    }

    fn close(self, stop: Option<&ImportStop>, console: &Console) {
        if let Some(stop) = stop {
            let name = &self.file.file;
            let hint = match (&self.state, self.resume_point.row) {
                (_, 0) => format!("{name}: {stop}; nothing was sent"),
                (Some(_), row) => format!("{name}: {stop}; the same command resumes after row {row}"),
                (None, row) => format!("{name}: {stop}; rows up to {row} were sent"),
            };
            self.report.error = Some(hint);
        } else if !self.broke_off
            && let Some(Err(error)) = self.state.as_ref().map(Checkpoint::remove)
        {
            console.notice(&format!("cannot remove the stored progress: {error}"));
        }
        self.report.files.push(self.file);
    }
}

impl FileImporter<'_> {
    pub(super) async fn run(&self, path: &Path, mut progress: FileProgress<'_>) -> Result<(), ImportStop> {
        let bytes =
            std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
        // The whole path leaves no room for the bar.
        let name = path.file_name().unwrap_or(path.as_os_str());
        self.console.begin(&name.to_string_lossy(), bytes);
        if progress.resume_point.row > 0 {
            let ResumePoint { row, rejected } = progress.resume_point;
            let rejected =
                if rejected > 0 { format!(" ({rejected} rejected before)") } else { String::new() };
            self.console.notice(&format!("{}: resuming after row {row}{rejected}", progress.file.file));
        }
        let result = self.exchange(path, &mut progress).await;
        progress.close(result.as_ref().err(), self.console);
        result
    }

    async fn exchange(&self, path: &Path, progress: &mut FileProgress<'_>) -> Result<(), ImportStop> {
        let (sender, mut batches) = mpsc::channel(1);
        let reading = FileReader {
            path: path.to_owned(),
            after: progress.resume_point.row,
            destination: self.sender.destination().clone(),
            batcher: Batcher::new(self.batch_rows, MAX_BODY_BYTES),
            batches: sender,
        };
        // Not of the runtime's pool: a read of standard input may never return.
        let reader = thread::spawn(move || reading.run());

        let mut in_flight_batches = FuturesOrdered::new();
        let mut ids: VecDeque<HashSet<String>> = VecDeque::new();
        let mut held: Option<Batch> = None;
        let mut at_end = false;
        while !(at_end && in_flight_batches.is_empty()) {
            let is_free = held.is_none() && !at_end && in_flight_batches.len() < self.in_flight;
            tokio::select! {
                () = self.interrupt.cancelled() => return Err(ImportStop::Interrupted),
                batch = batches.recv(), if is_free => match batch {
                    Some(batch) => held = Some(batch),
                    None => at_end = true,
                },
                Some(outcome) = in_flight_batches.next(), if !in_flight_batches.is_empty() => {
                    ids.pop_front();
                    progress.settle(outcome?, self.console);
                }
            }
            // The later row of an id wins, so both must not be in flight at once.
            if let Some(batch) = held.take_if(|batch| ids.iter().all(|sent| sent.is_disjoint(batch.ids()))) {
                ids.push_back(batch.ids().clone());
                in_flight_batches.push_back(self.sender.deliver(batch, self.console));
            }
        }
        reader.join().map_err(|_| ImportStop::Reader)
    }
}

struct FileReader {
    path: PathBuf,
    after: u64,
    destination: Destination,
    batcher: Batcher,
    batches: mpsc::Sender<Batch>,
}

impl FileReader {
    fn run(self) {
        let rows = self.open();
        read_batches(rows, |row| self.destination.prepare(row), self.batcher, &self.batches);
    }

    fn open(&self) -> Result<RowReader, Rejection> {
        let raw = open(&self.path).map_err(|error| Rejection::file(format!("cannot open: {error}")))?;
        let mut reader = RowReader::new(raw)?;
        reader.skip_through(self.after)?;
        Ok(reader)
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if path.as_os_str() == STANDARD_INPUT {
        Ok(Box::new(io::stdin()))
    } else {
        Ok(Box::new(File::open(path)?))
    }
}
