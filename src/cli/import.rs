//! `trawl import`: sends rows from files to a running server (decisions 1).
//!
//! `file_import` drives one file; `sender` delivers its batches, `checkpoint` stores its progress.

mod checkpoint;
mod console;
mod destination;
mod file_import;
mod report;
mod sender;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use self::checkpoint::{Checkpoint, ImportTarget};
use self::console::Console;
use self::destination::Destination;
use self::file_import::{FileImporter, FileProgress};
use self::report::ImportReport;
use self::sender::{RetryLimits, Sender};
use super::client::{ApiClient, ServerOptions};

const ROWS_HELP: &str = "\
Formats, detected by content: JSON Lines, one JSON array, RSS, Atom, JSON Feed; each plain, gzip or zstd.

A row is a content item: id, title, subTitle, brief, image, author, displayTime, action, attachInfo,
attachDescription, visibility. id, and title or brief, are required. Substitutes for absent fields:
  brief        text, content, summary or description; cut to 65,536 bytes
  displayTime  date, published, updated, createdAt or timestamp: epoch milliseconds or seconds (below
               100,000,000,000), RFC 3339, or an ISO date, UTC without a zone
  action       url or link, which it opens
Other fields are not sent. A feed entry has id, title, text, author, time and link.

With --module todo a row is a to-do (appTaskId, title, assigneeLoginId, …). Substitutes for absent fields:
  appTaskId        id
  title            the first line of brief, text, content, summary or description, cut to 512 bytes
  creatorName      author
  assigneeLoginId  assignee, the first of assignees, or --assignee
  action           url or link

Rejected rows are reported by line, in arrays and feeds by number. The same command resumes a stopped import,
except from standard input.
Exit code: 0 every row was sent, 1 some were rejected or the import stopped, 2 wrong usage.";

/// Send rows from files into a running server
#[derive(Debug, clap::Args)]
#[command(after_long_help = ROWS_HELP, after_help = "--help lists the fields of a row")]
pub(super) struct ImportOptions {
    /// Code of the module: article, news, feed, one of your own, or todo
    #[arg(long, value_name = "CODE")]
    pub(super) module: String,
    /// Server and application.
    #[command(flatten)]
    pub(super) server: ServerOptions,
    /// With --module todo: login of the assignee where a row has none
    #[arg(long, value_name = "LOGIN")]
    pub(super) assignee: Option<String>,
    /// Most rows in a request
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) batch: u16,
    /// Most requests in flight
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(super) in_flight: u8,
    /// Start over instead of resuming a stopped import
    #[arg(long)]
    pub(super) restart: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Files to read; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
}

pub(super) async fn run(options: ImportOptions) -> ExitCode {
    let console = Console::new();
    let directory = checkpoint::default_directory();
    let import = match Import::new(&options, RetryLimits::default(), directory) {
        Ok(import) => import,
        Err(reason) => {
            eprintln!("error: {reason}");
            return ExitCode::from(2);
        }
    };
    let interrupt = CancellationToken::new();
    let signal = interrupt.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            signal.cancel();
        }
    });
    let report = import.run(&console, &interrupt).await;
    console.end();
    if options.json {
        match serde_json::to_string(&report) {
            Ok(json) => println!("{json}"),
            Err(error) => eprintln!("error: {error}"),
        }
    } else {
        println!("{}", report.summary());
    }
    if let Some(error) = &report.error {
        eprintln!("error: {error}");
    }
    if report.is_complete() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Import<'a> {
    options: &'a ImportOptions,
    sender: Sender,
    state_directory: Option<PathBuf>,
}

impl<'a> Import<'a> {
    fn new(
        options: &'a ImportOptions,
        patience: RetryLimits,
        state_directory: Option<PathBuf>,
    ) -> Result<Self, String> {
        let destination = Destination::new(&options.module, options.assignee.as_deref())?;
        for file in &options.files {
            check_file(file)?;
        }
        let client = ApiClient::new(&options.server).map_err(|error| error.to_string())?;
        Ok(Self { options, sender: Sender::new(client, destination, patience), state_directory })
    }

    async fn run(&self, console: &Console, interrupt: &CancellationToken) -> ImportReport {
        let begin = Instant::now();
        let mut report = ImportReport::new(self.sender.destination().module());
        let transfer = FileImporter {
            sender: &self.sender,
            console,
            interrupt,
            batch_rows: usize::from(self.options.batch),
            in_flight: usize::from(self.options.in_flight),
        };
        for path in &self.options.files {
            let state = self.checkpoint_for(path, console);
            let progress = FileProgress::new(path.display().to_string(), &mut report, state);
            if transfer.run(path, progress).await.is_err() {
                break;
            }
        }
        report.finish(begin.elapsed());
        report
    }

    fn checkpoint_for(&self, path: &Path, console: &Console) -> Option<Checkpoint> {
        if path.as_os_str() == file_import::STANDARD_INPUT {
            return None;
        }
        let server = &self.options.server;
        let target = ImportTarget {
            server: server.server.as_str(),
            client_id: server.client_id.as_deref().unwrap_or_default(),
            enterprise: server.indicated_e_code.as_deref(),
            module: self.sender.destination().module(),
        };
        let state = Checkpoint::of(self.state_directory.as_deref()?, target, path).ok()??;
        if self.options.restart
            && let Err(error) = state.remove()
        {
            console.notice(&format!("cannot remove the progress of an earlier import: {error}"));
            return None;
        }
        Some(state)
    }
}

/// Finds unreadable files before anything is sent.
fn check_file(path: &Path) -> Result<(), String> {
    if path.as_os_str() == file_import::STANDARD_INPUT {
        return Ok(());
    }
    let metadata = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if metadata.is_dir() {
        return Err(format!("{} is a directory", path.display()));
    }
    if metadata.is_file() {
        std::fs::File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}
