//! `trawl storage`: checks the stored contents of files, also while the server runs.

use std::{process::ExitCode, sync::Arc};

use futures::{StreamExt, stream};
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    data_directory::DataDirectory,
    exit::{WRONG_USAGE, fail, show},
};
use crate::{
    auth::keys::Keys,
    blobs::{
        self, BlobStore,
        contents::check_store,
        rescanning::{self, rescan},
        scanning::{Scanner, clamd::Clamd},
        verification::{self, NamedFile},
    },
    config::Config,
    store::Store,
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum StorageCommand {
    /// Read all contents of files again and report damaged, missing and unknown ones (then exit 1)
    Verify(StorageOptions),
    /// Scan all contents of files again and withhold unsafe ones (then exit 1)
    Scan(StorageOptions),
}

#[derive(Debug, clap::Args)]
pub(super) struct StorageOptions {
    #[command(flatten)]
    directory: DataDirectory,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl StorageCommand {
    pub(super) async fn run(self) -> ExitCode {
        match self {
            Self::Verify(StorageOptions { directory, json }) => match directory.load_config() {
                Ok(config) => {
                    let report = verify(&config).await;
                    show(report, json, verification::VerificationReport::is_good, print_verification)
                }
                Err(failure) => failure,
            },
            Self::Scan(StorageOptions { directory, json }) => {
                let config = match directory.load_config() {
                    Ok(config) => config,
                    Err(failure) => return failure,
                };
                let Some(scanner) = Clamd::new(&config.scanner) else {
                    return fail(WRONG_USAGE, "scanner.clamd: is required");
                };
                show(scan(&config, &scanner).await, json, rescanning::RescanReport::is_good, print_scan)
            }
        }
    }
}

async fn verify(config: &Config) -> Result<verification::VerificationReport, String> {
    let (rows, store) = open(config).await?;
    let bar = progress_bar();
    let report = verification::verify(&rows, store.as_ref(), |read, of| {
        bar.set_length(of);
        bar.set_position(read);
    })
    .await;
    bar.finish_and_clear();
    rows.close().await.map_err(|error| error.to_string())?;
    report.map_err(|error| error.to_string())
}

async fn scan(config: &Config, scanner: &Clamd) -> Result<rescanning::RescanReport, String> {
    // Fails once here instead of at every content.
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

async fn open(config: &Config) -> Result<(Store, Arc<dyn BlobStore>), String> {
    if !config.data.is_dir() {
        return Err(format!("there is no data directory {}", config.data.display()));
    }
    let keys = Keys::load(config.master_key.as_ref(), &config.data).map_err(|error| error.to_string())?;
    let rows = Store::open_configured(config, 2).await.map_err(|error| error.to_string())?;
    let opened = blobs::open(config, &keys).map_err(|error| error.to_string())?;
    check_store(&rows, opened.store.name()).await.map_err(|error| error.to_string())?;
    Ok((rows, opened.store))
}

fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} contents");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn print_files(files: &[NamedFile]) {
    for file in files {
        // Names may hold control characters.
        println!("         {} version {} in {}: {:?}", file.file_id, file.version, file.tenant, file.name);
    }
}

fn print_verification(report: &verification::VerificationReport) {
    for damaged in &report.damaged {
        println!("damaged  {}: {}", damaged.sha256, damaged.problem);
        print_files(&damaged.files);
    }
    for store_key in &report.unknown {
        println!("unknown  {store_key}: no row refers to it");
    }
    for sum in &report.sums {
        println!(
            "sum      {} {}: {} bytes are recorded, {} are there",
            sum.of, sum.id, sum.told, sum.counted
        );
    }
    let verdict = if report.is_good() { "all is well" } else { "something is wrong" };
    println!("{} contents of {} bytes were read; {verdict}", report.contents, report.bytes);
}

fn print_scan(report: &rescanning::RescanReport) {
    let findings =
        [("unsafe", &report.r#unsafe), ("cleared", &report.cleared), ("unknown", &report.not_scanned)];
    for (verdict, findings) in findings {
        for finding in findings {
            println!("{verdict:<8} {}: {}", finding.sha256, finding.reason);
            print_files(&finding.files);
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
