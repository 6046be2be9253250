//! `trawl import`: sends rows from files to a running server.
//!
//! Rows are upserts: an import that stopped is completed by starting it again.

mod destination;
mod report;
mod transfer;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use indicatif::ProgressBar;

use self::destination::Destination;
use self::report::ImportReport;
use self::transfer::{ImportSender, STANDARD_INPUT};
use super::client::{ApiClient, ServerOptions};
use super::exit::{WRONG_USAGE, fail, show};

const ROWS_HELP: &str = "\
Formats, detected by content: JSON Lines, one JSON array, RSS, Atom, JSON Feed; each plain, gzip or zstd.

A row is a content item: id, title, subTitle, brief, image, author, displayTime, action, attachInfo,
attachDescription, visibility. id, and title or brief, are required. Substitutes for absent fields:
  brief        text, content, summary or description; cut to 65,536 bytes
  displayTime  date, published, updated, createdAt or timestamp: an epoch number in seconds, milliseconds,
               microseconds or nanoseconds, told apart by its size, or a date as mails and feeds write it,
               UTC without a zone
  action       url or link, which it opens
Other fields are not sent. A feed entry has id, title, text, author, time and link. One whose time cannot be read
stands as of 1970.

With --module todo a row is a to-do (appTaskId, title, assigneeLoginId, …). Substitutes for absent fields:
  appTaskId        id
  title            the first line of brief, text, content, summary or description, cut to 512 bytes
  creatorName      author
  assigneeLoginId  assignee, the first of assignees, or --assignee
  action           url or link

Rejected rows are reported by line, in arrays and feeds by number. The same command completes a stopped import:
a row that is sent again replaces the item of its id.
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
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Files to read; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
}

pub(super) async fn run(options: ImportOptions) -> ExitCode {
    let bar = ProgressBar::no_length();
    let sender = match sender(&options, bar.clone()) {
        Ok(sender) => Arc::new(sender),
        Err(reason) => return fail(WRONG_USAGE, reason),
    };
    let mut report = ImportReport::new(&options.module, bar);
    let result = tokio::select! {
        result = import(&options, &sender, &mut report) => result,
        Ok(()) = tokio::signal::ctrl_c() => Err("interrupted".to_owned()),
    };
    report.finish(result.err());
    if let Some(error) = &report.error {
        eprintln!("error: {error}");
    }
    show(Ok(report), options.json, ImportReport::is_complete, |report| println!("{}", report.summary()))
}

/// # Errors
/// Wrong usage, found before anything is sent.
fn sender(options: &ImportOptions, bar: ProgressBar) -> Result<ImportSender, String> {
    let destination = Destination::new(&options.module, options.assignee.as_deref())?;
    for file in &options.files {
        check_file(file)?;
    }
    let client = ApiClient::new(&options.server)?;
    Ok(ImportSender::new(client, destination, bar))
}

async fn import(
    options: &ImportOptions,
    sender: &Arc<ImportSender>,
    report: &mut ImportReport,
) -> Result<(), String> {
    for path in &options.files {
        report.begin_file(path);
        let (max_rows, max_in_flight) = (usize::from(options.batch), usize::from(options.in_flight));
        sender.transfer(path, max_rows, max_in_flight, report).await?;
    }
    Ok(())
}

fn check_file(path: &Path) -> Result<(), String> {
    if path.as_os_str() == STANDARD_INPUT {
        return Ok(());
    }
    let wrong = |error| format!("{}: {error}", path.display());
    let metadata = std::fs::metadata(path).map_err(wrong)?;
    if metadata.is_dir() {
        return Err(format!("{} is a directory", path.display()));
    }
    // A pipe can be opened only once.
    if metadata.is_file() {
        std::fs::File::open(path).map_err(wrong)?;
    }
    Ok(())
}
