//! `trawl store`: copies a store to another database.

use std::{path::Path, process::ExitCode};

use indicatif::ProgressBar;
use secrecy::SecretString;
use serde::Serialize;

use super::exit::fail;
use crate::store::{
    DatabaseAddress, Store,
    copy::{CopiedTable, copy},
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum StoreCommand {
    /// Copy all rows to an empty store, or complete a copy that was cut short
    ///
    /// Prints the rows of each table in both stores, and exits with 1 where they differ. No server may run over either.
    Copy(CopyOptions),
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
        let Self::Copy(CopyOptions { from, to, json }) = self;
        let copied = match copied(&from, &to).await {
            Ok(tables) => Copied { tables },
            Err(reason) => return fail(1, reason),
        };
        if json {
            match serde_json::to_string(&copied) {
                Ok(text) => println!("{text}"),
                Err(error) => return fail(1, error),
            }
        } else {
            for CopiedTable { table, from, to } in &copied.tables {
                println!("{table:<24}{from:>12}{to:>12}");
            }
        }
        if copied.tables.iter().all(|table| table.from == table.to) {
            ExitCode::SUCCESS
        } else {
            fail(1, "the copy differs from its source; copy to a new store")
        }
    }
}

async fn copied(from: &SecretString, to: &SecretString) -> Result<Vec<CopiedTable>, String> {
    let source = address(from)?;
    if let DatabaseAddress::File(path) = &source
        && !path.is_file()
    {
        return Err(format!("--from: there is no database {}", path.display()));
    }
    let target = address(to)?;
    if let DatabaseAddress::File(path) = &target {
        let directory = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory)
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
