//! `trawl store`: copies a store to another database, and checks one.

use std::{path::Path, process::ExitCode};

use indicatif::ProgressBar;
use secrecy::SecretString;
use serde::Serialize;

use super::{
    data_directory::{self, DataDirectory},
    exit::show,
};
use crate::{
    config::Config,
    store::{
        DatabaseAddress, Store, check,
        copy::{CopiedTable, copy},
    },
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum StoreCommand {
    /// Copy all rows to an empty store, or complete a copy that was cut short
    ///
    /// Prints the rows of each table in both stores, and exits with 1 where they differ. No server may run over either.
    Copy(CopyOptions),
    /// Check tables, references and the change log, also while a server runs; exit 1 if anything is wrong
    Check(StoreCheckOptions),
}

#[derive(Debug, clap::Args)]
pub(super) struct StoreCheckOptions {
    #[command(flatten)]
    directory: DataDirectory,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct CopyOptions {
    /// Data directory (SQLite), or address of a PostgreSQL database
    #[arg(long, value_name = "DIR|URL")]
    from: SecretString,
    /// Data directory or address of an empty store; its tables are created
    #[arg(long, value_name = "DIR|URL")]
    to: SecretString,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Copied {
    tables: Vec<CopiedTable>,
}

impl StoreCommand {
    pub(super) async fn run(self) -> ExitCode {
        match self {
            Self::Copy(CopyOptions { from, to, json }) => {
                let copied = copied(&from, &to).await.map(|tables| Copied { tables });
                show(copied, json, Copied::is_equal, print_copied)
            }
            Self::Check(StoreCheckOptions { directory, json }) => match directory.load_config() {
                Ok(config) => {
                    show(checked(&config).await, json, check::StoreCheckReport::is_good, print_check)
                }
                Err(failure) => failure,
            },
        }
    }
}

impl Copied {
    fn is_equal(&self) -> bool {
        self.tables.iter().all(|table| table.from == table.to)
    }
}

fn print_copied(copied: &Copied) {
    for CopiedTable { table, from, to } in &copied.tables {
        println!("{table:<24}{from:>12}{to:>12}");
    }
    if !copied.is_equal() {
        eprintln!("error: the copy differs from its source; copy to a new store");
    }
}

fn print_check(report: &check::StoreCheckReport) {
    for problem in &report.problems {
        println!("{problem}");
    }
    println!("{} tables, {} rows, {} problems", report.tables, report.rows, report.problems.len());
}

async fn checked(config: &Config) -> Result<check::StoreCheckReport, String> {
    if config.store.url.is_none() && !DatabaseAddress::in_directory(&config.data).exists() {
        return Err(format!("there is no database in {}", config.data.display()));
    }
    let empty = tempfile::tempdir().map_err(|error| error.to_string())?;
    let reference = Store::open(empty.path(), 1).await.map_err(|error| error.to_string())?;
    let store = Store::open_configured(config, 1).await.map_err(|error| error.to_string())?;
    let bar = ProgressBar::new_spinner();
    let report = check::check(&store, &reference, |table, rows| {
        bar.set_message(format!("{table}: {rows} rows"));
        bar.tick();
    })
    .await;
    bar.finish_and_clear();
    for store in [store, reference] {
        store.close().await.map_err(|error| error.to_string())?;
    }
    report.map_err(|error| error.to_string())
}

async fn copied(from: &SecretString, to: &SecretString) -> Result<Vec<CopiedTable>, String> {
    let source = address(from)?;
    if !source.exists() {
        return Err(format!("--from: there is no database {source}"));
    }
    let target = address(to)?;
    if let DatabaseAddress::File(path) = &target {
        let directory = path.parent().unwrap_or(Path::new("."));
        data_directory::open(directory)
            .map_err(|error| format!("the data directory {}: {error}", directory.display()))?;
    }
    let from = Store::open_at(source, 1).await.map_err(|error| error.to_string())?;
    let to = Store::open_at(target, 1).await.map_err(|error| error.to_string())?;
    let bar = ProgressBar::new_spinner();
    let copied = copy(&from, &to, |table, rows| {
        bar.set_message(format!("{table}: {rows} rows"));
        bar.tick();
    })
    .await;
    bar.finish_and_clear();
    for store in [from, to] {
        store.close().await.map_err(|error| error.to_string())?;
    }
    copied.map_err(|error| error.to_string())
}

/// An address where it has a scheme, else a data directory.
fn address(given: &SecretString) -> Result<DatabaseAddress, String> {
    use secrecy::ExposeSecret as _;

    let text = given.expose_secret();
    if text.contains("://") {
        DatabaseAddress::from_url(text)
    } else {
        Ok(DatabaseAddress::in_directory(Path::new(text)))
    }
}
