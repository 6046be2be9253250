//! `trawl storage`: looks after the contents of files, also while the server runs.

pub mod scan;

use std::{process::ExitCode, sync::Arc};

use indicatif::{ProgressBar, ProgressStyle};

use super::{fail, place::Place};
use crate::{
    auth::keys::Keys,
    config::Config,
    storage::{
        self, BlobStore,
        contents::check_store,
        verification::{NamedFile, Report, verify},
    },
    store::Store,
};

/// What can be done with contents.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Look whether every content is what it was.
    Verify(VerifyOptions),
    /// Look for harm in every content.
    Scan(scan::Options),
}

/// Read every content of files again and say which are damaged, missing, or nobody's; exit 1 if anything is wrong
#[derive(Debug, clap::Args)]
pub struct VerifyOptions {
    #[command(flatten)]
    place: Place,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Looks through all contents.
pub async fn verify_contents(options: VerifyOptions) -> ExitCode {
    let config = match options.place.settings() {
        Ok(config) => config,
        Err(failure) => return failure,
    };
    match look_through(&config).await {
        Ok(report) if options.json => match serde_json::to_string(&report) {
            Ok(text) => {
                println!("{text}");
                outcome_of(&report)
            }
            Err(error) => fail(1, error),
        },
        Ok(report) => {
            print(&report);
            outcome_of(&report)
        }
        Err(reason) => fail(1, reason),
    }
}

fn outcome_of(report: &Report) -> ExitCode {
    if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn look_through(config: &Config) -> Result<Report, String> {
    let (rows, store) = open(config).await?;
    let bar = progress_bar();
    let report = verify(&rows, store.as_ref(), |read, of| {
        bar.set_length(of);
        bar.set_position(read);
    })
    .await;
    bar.finish_and_clear();
    rows.close().await.map_err(|error| error.to_string())?;
    report.map_err(|error| error.to_string())
}

/// The rows of a server and its store of contents.
async fn open(config: &Config) -> Result<(Store, Arc<dyn BlobStore>), String> {
    if !config.data.is_dir() {
        return Err(format!("there is no data directory {}", config.data.display()));
    }
    let keys = Keys::load(config.master_key.as_ref(), &config.data).map_err(|error| error.to_string())?;
    let rows = Store::open(&config.data, 2).await.map_err(|error| error.to_string())?;
    let opened = storage::open(config, &keys).map_err(|error| error.to_string())?;
    check_store(&rows, opened.store.name()).await.map_err(|error| error.to_string())?;
    Ok((rows, opened.store))
}

/// Nothing is drawn where the standard error is no terminal.
fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} contents");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn print_files(files: &[NamedFile]) {
    for file in files {
        // A name may hold anything.
        println!("         {} version {} in {}: {:?}", file.file_id, file.version, file.tenant, file.name);
    }
}

fn print(report: &Report) {
    for damaged in &report.damaged {
        println!("damaged  {}: {}", damaged.sha256, damaged.problem);
        print_files(&damaged.files);
    }
    for store_key in &report.unknown {
        println!("unknown  {store_key}: no row tells of it");
    }
    for sum in &report.sums {
        println!("sum      {} {}: {} bytes are told, {} are there", sum.of, sum.id, sum.told, sum.counted);
    }
    let verdict = if report.is_good() { "all is well" } else { "something is wrong" };
    println!("{} contents of {} bytes were read; {verdict}", report.contents, report.bytes);
}
