//! `trawl storage scan`: looks for harm in every content with what the scanner knows today.

use std::process::ExitCode;

use futures::{StreamExt, stream};

use super::{open, print_files, progress_bar};
use crate::{
    cli::{WRONG_USAGE, fail, place::Place},
    config::Config,
    scanner::{Scanner, clamd::Clamd},
    storage::rescanning::{Finding, Report, rescan},
};

/// Look for harm in every content of files with what the scanner knows today, and withhold what is unsafe; exit 1 if anything is,
/// or could not be scanned
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    place: Place,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Looks through all contents.
pub async fn scan_contents(options: Options) -> ExitCode {
    let config = match options.place.settings() {
        Ok(config) => config,
        Err(failure) => return failure,
    };
    let Some(scanner) = Clamd::new(&config.scanner) else {
        return fail(WRONG_USAGE, "scanner.clamd: names no scanner");
    };
    let report = match look_through(&config, &scanner).await {
        Ok(report) => report,
        Err(reason) => return fail(1, reason),
    };
    if options.json {
        match serde_json::to_string(&report) {
            Ok(text) => println!("{text}"),
            Err(error) => return fail(1, error),
        }
    } else {
        print(&report);
    }
    if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn look_through(config: &Config, scanner: &Clamd) -> Result<Report, String> {
    // Where it is not there, once is enough to say so.
    scanner.scan(stream::empty().boxed()).await.map_err(|error| error.to_string())?;
    let (rows, store) = open(config).await?;
    let bar = progress_bar();
    let report = rescan(&rows, store.as_ref(), scanner, config.scanner.at_once, |scanned, of| {
        bar.set_length(of);
        bar.set_position(scanned);
    })
    .await;
    bar.finish_and_clear();
    rows.close().await.map_err(|error| error.to_string())?;
    report.map_err(|error| error.to_string())
}

fn print(report: &Report) {
    let findings =
        [("unsafe", &report.r#unsafe), ("cleared", &report.cleared), ("unknown", &report.not_scanned)];
    for (what, findings) in findings {
        for Finding { sha256, reason, files } in findings {
            println!("{what:<8} {sha256}: {reason}");
            print_files(files);
        }
    }
    println!(
        "{} contents of {} bytes were scanned; {} are unsafe, {} could not be scanned",
        report.contents,
        report.bytes,
        report.r#unsafe.len(),
        report.not_scanned.len()
    );
}
