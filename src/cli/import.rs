//! `trawl import`: sends JSON Lines, a JSON array, or a feed into a running server (decisions 1).
//!
//! `input` reads rows in bounded memory, `content` and `task` shape them, `batch` gathers them, `send` delivers them,
//! `transfer` ties these together for one file and `state` remembers how far it has come.

mod batch;
mod console;
mod content;
mod destination;
mod feed;
mod input;
mod records;
mod report;
mod row;
mod send;
mod sniff;
mod state;
mod task;
#[cfg(test)]
mod tests;
mod time;
mod transfer;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use self::console::Console;
use self::destination::Destination;
use self::report::Report;
use self::send::{Patience, Sender};
use self::state::{State, Target};
use self::transfer::{Progress, Transfer};
use super::client::{Client, ServerOptions};

/// What `--help` says below the options.
const ROWS_HELP: &str = "\
Formats, told by content: JSON Lines, one JSON array, RSS, Atom, JSON Feed; each plain, gzip or zstd.

A row is a search content item: id, title, subTitle, brief, image, author, displayTime, action, attachInfo,
attachDescription, visibility. It needs an id, and a title or a brief. Where the proper field is absent:
  brief        text, content, summary or description; cut to 65,536 bytes, which is counted
  displayTime  date, published, updated, createdAt or timestamp: epoch milliseconds or seconds (below
               100,000,000,000), RFC 3339, or an ISO date, UTC where it names no zone
  action       url or link, which is opened
Other fields are not sent. An entry of a feed is its id, title, text, author, time and link.

With --module todo a row is a to-do (appTaskId, title, assigneeLoginId, …). Where the proper field is absent:
  appTaskId        id
  title            the first line of brief, text, content, summary or description, cut to 512 bytes
  creatorName      author
  assigneeLoginId  assignee, the first of assignees, or --assignee
  action           url or link

Rejected rows are reported by line (in arrays and feeds by number) and the import goes on. One that was stopped
goes on after the rows that had been sent when the same command is given again; standard input does not.
Exit code: 0 every row was sent, 1 some were rejected or the import stopped, 2 wrong usage.";

/// Send rows from files into a running server
#[derive(Debug, clap::Args)]
#[command(after_long_help = ROWS_HELP, after_help = "--help lists the fields of a row")]
pub struct Options {
    /// Module that the rows go to: article, news, feed, one of your own, or todo
    #[arg(long, value_name = "CODE")]
    pub module: String,
    /// Where the server is and who calls it.
    #[command(flatten)]
    pub server: ServerOptions,
    /// With --module todo: login of the assignee of rows that name none
    #[arg(long, value_name = "LOGIN")]
    pub assignee: Option<String>,
    /// The most rows sent in one request
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub batch: u16,
    /// The most requests on the way at a time
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub in_flight: u8,
    /// Begin with the first row, also where an earlier import was stopped
    #[arg(long)]
    pub restart: bool,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Files to read; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Runs the command to its end, or to the first Ctrl-C.
pub async fn run(options: Options) -> ExitCode {
    let console = Console::new();
    let directory = state::default_directory();
    let import = match Import::new(&options, Patience::default(), directory) {
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

/// The command with its options checked.
struct Import<'a> {
    options: &'a Options,
    sender: Sender,
    /// Where progress is kept; nowhere without a home directory.
    state_directory: Option<PathBuf>,
}

impl<'a> Import<'a> {
    /// The error is wrong usage.
    fn new(
        options: &'a Options,
        patience: Patience,
        state_directory: Option<PathBuf>,
    ) -> Result<Self, String> {
        let destination = Destination::new(&options.module, options.assignee.as_deref())?;
        for file in &options.files {
            check_file(file)?;
        }
        let client = Client::new(&options.server).map_err(|error| error.to_string())?;
        Ok(Self { options, sender: Sender::new(client, destination, patience), state_directory })
    }

    /// Imports file after file, until one stops.
    async fn run(&self, console: &Console, interrupt: &CancellationToken) -> Report {
        let begin = Instant::now();
        let mut report = Report::new(self.sender.destination().module());
        let transfer = Transfer {
            sender: &self.sender,
            console,
            interrupt,
            batch_rows: usize::from(self.options.batch),
            in_flight: usize::from(self.options.in_flight),
        };
        for path in &self.options.files {
            let state = self.state_of(path, console);
            let progress = Progress::new(path.display().to_string(), &mut report, state);
            if transfer.run(path, progress).await.is_err() {
                break;
            }
        }
        report.finish(begin.elapsed());
        report
    }

    fn state_of(&self, path: &Path, console: &Console) -> Option<State> {
        if path.as_os_str() == input::STANDARD_INPUT {
            return None;
        }
        let server = &self.options.server;
        let target = Target {
            server: server.server.as_str(),
            client_id: server.client_id.as_deref().unwrap_or_default(),
            enterprise: server.indicated_e_code.as_deref(),
            module: self.sender.destination().module(),
        };
        let state = State::of(self.state_directory.as_deref()?, target, path).ok()??;
        if self.options.restart
            && let Err(error) = state.remove()
        {
            console.notice(&format!("the progress of an earlier import cannot be removed: {error}"));
            return None;
        }
        Some(state)
    }
}

/// Finds out before anything is sent that a file is not there.
fn check_file(path: &Path) -> Result<(), String> {
    if path.as_os_str() == input::STANDARD_INPUT {
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
