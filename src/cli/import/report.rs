//! Counts, rejected rows and progress of an import.

use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::rows::batch::BatchOutcome;
use crate::rows::row::Rejection;

const MAX_LISTED_REJECTIONS: usize = 1000;

/// Time between lines of progress where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

const BAR: &str = "{prefix} {wide_bar} {percent:>3} % {msg}, {eta} left";
const SPINNER: &str = "{prefix} {spinner} {msg}";

#[derive(Debug, Default, Serialize)]
struct RowCounts {
    read: usize,
    sent: usize,
    rejected: usize,
    truncated: u64,
    undated: u64,
}

#[derive(Debug, Serialize)]
struct FileReport {
    file: String,
    #[serde(flatten)]
    counts: RowCounts,
}

#[derive(Debug, Serialize)]
struct ListedRejection {
    file: String,
    #[serde(flatten)]
    rejection: Rejection,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ImportReport {
    module: String,
    files: Vec<FileReport>,
    #[serde(flatten)]
    counts: RowCounts,
    seconds: f64,
    rows_per_second: u64,
    rejections: Vec<ListedRejection>,
    notes: Vec<String>,
    pub(super) error: Option<String>,
    #[serde(skip)]
    bar: ProgressBar,
    #[serde(skip)]
    started: Instant,
    #[serde(skip)]
    line_written: Instant,
}

impl RowCounts {
    fn add(&mut self, outcome: &BatchOutcome) {
        self.sent += outcome.accepted;
        self.rejected += outcome.rejections.len();
        self.read = self.sent + self.rejected;
        self.truncated += outcome.truncated;
        self.undated += outcome.undated;
    }
}

impl ImportReport {
    pub(super) fn new(module: &str, bar: ProgressBar) -> Self {
        Self {
            module: module.to_owned(),
            files: Vec::new(),
            counts: RowCounts::default(),
            seconds: 0.0,
            rows_per_second: 0,
            rejections: Vec::new(),
            notes: Vec::new(),
            error: None,
            bar,
            started: Instant::now(),
            line_written: Instant::now(),
        }
    }

    pub(super) fn begin_file(&mut self, path: &Path) {
        let bytes = std::fs::metadata(path).ok().filter(Metadata::is_file).map(|metadata| metadata.len());
        self.bar.reset();
        // The whole path leaves no room for the bar.
        self.bar.set_prefix(path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned());
        self.bar.unset_length();
        if let Some(bytes) = bytes {
            self.bar.set_length(bytes);
        }
        if let Ok(style) = ProgressStyle::with_template(if bytes.is_some() { BAR } else { SPINNER }) {
            self.bar.set_style(style);
        }
        self.files.push(FileReport { file: path.display().to_string(), counts: RowCounts::default() });
    }

    /// Counts a batch of the file that began last, and tells its rejected rows.
    pub(super) fn add(&mut self, outcome: BatchOutcome) {
        let Some(FileReport { file, counts }) = self.files.last_mut() else { return };
        counts.add(&outcome);
        self.counts.add(&outcome);
        let (rows, position) = (counts.read, outcome.position);
        for rejection in outcome.rejections.into_iter().chain(outcome.ending.map(Rejection::file)) {
            let number = rejection.number.map(|number| format!(":{number}")).unwrap_or_default();
            let id = rejection.id.as_ref().map(|id| format!(" (id {id})")).unwrap_or_default();
            notice(&self.bar, &format!("{file}{number}{id}: {}", rejection.reason));
            if self.rejections.len() < MAX_LISTED_REJECTIONS {
                self.rejections.push(ListedRejection { file: file.clone(), rejection });
            }
        }
        self.show_progress(rows, position);
    }

    /// Tells what was guessed or not understood in the file that began last.
    pub(super) fn note(&mut self, notes: &[String]) {
        let Some(FileReport { file, .. }) = self.files.last() else { return };
        let notes: Vec<_> = notes.iter().map(|note| format!("{file}: {note}")).collect();
        for note in &notes {
            notice(&self.bar, note);
        }
        self.notes.extend(notes);
    }

    fn show_progress(&mut self, rows: usize, position: u64) {
        let bar = &self.bar;
        bar.set_position(position);
        let rate = HumanCount(rows_per_second(rows, bar.elapsed()));
        bar.set_message(format!("{} rows, {rate} rows/s", HumanCount(rows as u64)));
        if bar.is_hidden() && self.line_written.elapsed() >= LINE_INTERVAL {
            self.line_written = Instant::now();
            let left = match bar.length() {
                Some(bytes @ 1..) => {
                    format!(", {} %, {} left", position * 100 / bytes, HumanDuration(bar.eta()))
                }
                _ => String::new(),
            };
            notice(bar, &format!("{}: {}{left}", bar.prefix(), bar.message()));
        }
    }

    pub(super) fn finish(&mut self, stop: Option<String>) {
        self.bar.finish_and_clear();
        self.error = stop.zip(self.files.last()).map(|(stop, FileReport { file, counts })| {
            // Requests in flight may have written more.
            format!("{file}: {stop}; {} rows are confirmed, the same command sends all again", counts.sent)
        });
        let elapsed = self.started.elapsed();
        self.seconds = (elapsed.as_secs_f64() * 1000.0).round() / 1000.0;
        self.rows_per_second = rows_per_second(self.counts.read, elapsed);
    }

    /// Whether all rows were taken.
    pub(super) fn is_complete(&self) -> bool {
        self.error.is_none() && self.rejections.is_empty()
    }

    pub(super) fn summary(&self) -> String {
        let RowCounts { read, sent, rejected, truncated, undated } = self.counts;
        let [read, sent, rejected] = [read, sent, rejected].map(|rows| HumanCount(rows as u64));
        let (seconds, rate) = (self.seconds, HumanCount(self.rows_per_second));
        let truncated = match truncated {
            0 => String::new(),
            rows => format!("; {} with their text cut", HumanCount(rows)),
        };
        let undated = match undated {
            0 => String::new(),
            rows => format!("; {} as of 1970, since their time cannot be read", HumanCount(rows)),
        };
        format!(
            "{read} rows read, {sent} sent, {rejected} rejected in {seconds:.1} s ({rate} rows/s){truncated}{undated}"
        )
    }
}

/// Writes a line to standard error, above the bar.
pub(super) fn notice(bar: &ProgressBar, line: &str) {
    bar.suspend(|| eprintln!("{line}"));
}

fn rows_per_second(rows: usize, elapsed: Duration) -> u64 {
    let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    rows as u64 * 1000 / milliseconds.max(1)
}
