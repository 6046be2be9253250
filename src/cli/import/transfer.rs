//! Brings one input to the server: a thread reads and prepares, a bounded number of batches is on the way, and what
//! has been settled is remembered in the order of the file.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::thread;

use futures::stream::{FuturesOrdered, StreamExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::batch::{Batch, Batcher, MOST_BYTES};
use super::console::Console;
use super::destination::Destination;
use super::input::{self, Reader};
use super::report::{FileReport, Report, line_of};
use super::row::Rejection;
use super::send::{Sender, Settled, Stop};
use super::state::{Reached, State};

/// What a transfer needs besides the file.
pub(super) struct Transfer<'a> {
    pub(super) sender: &'a Sender,
    pub(super) console: &'a Console,
    pub(super) interrupt: &'a CancellationToken,
    /// The most rows of a batch.
    pub(super) batch_rows: usize,
    /// The most batches on the way at a time.
    pub(super) in_flight: usize,
}

/// One input, the counts of it so far, and where they are kept.
pub(super) struct Progress<'a> {
    file: FileReport,
    report: &'a mut Report,
    state: Option<State>,
    reached: Reached,
    /// Reading has ended before the input did.
    broke_off: bool,
}

impl<'a> Progress<'a> {
    /// The beginning, or where an earlier run had come, if there is a `state`.
    pub(super) fn new(name: String, report: &'a mut Report, state: Option<State>) -> Self {
        let reached = state.as_ref().map(State::load).unwrap_or_default();
        let file = FileReport {
            file: name,
            resumed_after: reached.row,
            rejected_before: reached.rejected,
            ..FileReport::default()
        };
        Self { file, report, state, reached, broke_off: false }
    }

    fn settle(&mut self, settled: Settled, console: &Console) {
        let rows = settled.rejections.iter().filter(|rejection| rejection.number.is_some()).count() as u64;
        self.broke_off |= rows < settled.rejections.len() as u64;
        self.file.sent += settled.accepted;
        self.file.rejected += rows;
        self.file.read += settled.accepted + rows;
        self.file.truncated += settled.truncated;
        for rejection in settled.rejections {
            console.notice(&line_of(&self.file.file, &rejection));
            self.report.list(&self.file.file, rejection);
        }
        self.reached =
            Reached { row: self.reached.row.max(settled.end), rejected: self.reached.rejected + rows };
        console.progress(self.file.read, settled.position);
        // A small write after a request of up to a thousand rows, with nothing else to do in this thread.
        if let Some(Err(error)) = self.state.as_ref().map(|state| state.save(self.reached)) {
            console
                .notice(&format!("the progress cannot be kept, so this import cannot be resumed: {error}"));
            self.state = None;
        }
    }

    /// Closes the file's account; how to go on, if it stopped before the end.
    fn close(self, stop: Option<&Stop>, console: &Console) {
        if let Some(stop) = stop {
            let name = &self.file.file;
            let hint = match (&self.state, self.reached.row) {
                (_, 0) => format!("{name}: {stop}; nothing had been sent"),
                (Some(_), row) => format!("{name}: {stop}; the same command again goes on after row {row}"),
                (None, row) => format!("{name}: {stop}; rows up to {row} had been sent"),
            };
            self.report.error = Some(hint);
        } else if !self.broke_off
            && let Some(Err(error)) = self.state.as_ref().map(State::remove)
        {
            console.notice(&format!("the progress that was kept cannot be removed: {error}"));
        }
        self.report.files.push(self.file);
    }
}

impl Transfer<'_> {
    /// Imports one input as far as it goes.
    pub(super) async fn run(&self, path: &Path, mut progress: Progress<'_>) -> Result<(), Stop> {
        let bytes =
            std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
        // The whole path would leave no room for the bar.
        let name = path.file_name().unwrap_or(path.as_os_str());
        self.console.begin(&name.to_string_lossy(), bytes);
        if progress.reached.row > 0 {
            let Reached { row, rejected } = progress.reached;
            let rejected = if rejected > 0 { format!(" ({rejected} rejected then)") } else { String::new() };
            self.console.notice(&format!("{}: going on after row {row}{rejected}", progress.file.file));
        }
        let result = self.exchange(path, &mut progress).await;
        progress.close(result.as_ref().err(), self.console);
        result
    }

    async fn exchange(&self, path: &Path, progress: &mut Progress<'_>) -> Result<(), Stop> {
        let (sender, mut batches) = mpsc::channel(1);
        let reading = Reading {
            path: path.to_owned(),
            after: progress.reached.row,
            destination: self.sender.destination().clone(),
            batcher: Batcher::new(self.batch_rows, MOST_BYTES),
            batches: sender,
        };
        // A thread of its own and not of the runtime's pool, whose end the runtime would wait for: a read of
        // standard input may never return.
        let reader = thread::spawn(move || reading.run());

        let mut on_the_way = FuturesOrdered::new();
        let mut ids: VecDeque<HashSet<String>> = VecDeque::new();
        let mut held: Option<Batch> = None;
        let mut at_end = false;
        // A batch that is held waits for one that is on the way.
        while !(at_end && on_the_way.is_empty()) {
            let is_free = held.is_none() && !at_end && on_the_way.len() < self.in_flight;
            tokio::select! {
                () = self.interrupt.cancelled() => return Err(Stop::Interrupted),
                batch = batches.recv(), if is_free => match batch {
                    Some(batch) => held = Some(batch),
                    None => at_end = true,
                },
                Some(settled) = on_the_way.next(), if !on_the_way.is_empty() => {
                    ids.pop_front();
                    progress.settle(settled?, self.console);
                }
            }
            // Of two rows with one id the later one counts, so they must not be on the way at the same time.
            if let Some(batch) = held.take_if(|batch| ids.iter().all(|sent| sent.is_disjoint(batch.ids()))) {
                ids.push_back(batch.ids().clone());
                on_the_way.push_back(self.sender.deliver(batch, self.console));
            }
        }
        // Its channel is closed, so it is at its end.
        reader.join().map_err(|_| Stop::Reader)
    }
}

/// The reading side of a transfer.
struct Reading {
    path: PathBuf,
    after: u64,
    destination: Destination,
    batcher: Batcher,
    batches: mpsc::Sender<Batch>,
}

impl Reading {
    /// Reads until the input ends or nobody takes its batches any more.
    fn run(mut self) {
        match self.open() {
            Ok(mut reader) => {
                while let Some(row) = reader.next() {
                    let (number, row) = match row {
                        Ok(row) => (row.number, self.destination.prepare(row)),
                        Err(rejection) => (rejection.number.unwrap_or_default(), Err(rejection)),
                    };
                    if let Some(batch) = self.batcher.push(number, row, reader.position())
                        && self.batches.blocking_send(batch).is_err()
                    {
                        return;
                    }
                }
            }
            Err(rejection) => drop(self.batcher.push(0, Err(rejection), 0)),
        }
        if let Some(batch) = self.batcher.close() {
            // If it is not taken any more, the other side has stopped and says so.
            let _ = self.batches.blocking_send(batch);
        }
    }

    fn open(&self) -> Result<Reader, Rejection> {
        let raw = input::open(&self.path)
            .map_err(|error| Rejection::of_file(format!("cannot be opened: {error}")))?;
        let mut reader = Reader::new(raw)?;
        reader.skip_through(self.after)?;
        Ok(reader)
    }
}
