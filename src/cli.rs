//! The command line: one file for each command (decisions 1).

pub mod app;
pub mod bench;
pub mod client;
pub mod connector;
pub mod import;
mod place;
pub mod serve;
pub mod storage;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::extraction::confined;

/// Wrong usage; 0 is done, 1 is that the work failed or fell short.
pub const WRONG_USAGE: u8 = 2;

/// Federated search for the workplace
#[derive(Debug, Parser)]
#[command(name = "trawl", version, about)]
pub struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Options),
    /// Manage calling applications
    #[command(subcommand)]
    App(app::Command),
    Import(Box<import::Options>),
    Bench(Box<bench::Options>),
    /// Help the authors of external sources
    #[command(subcommand)]
    Connector(connector::Command),
    /// Write the text of the content on standard input to standard output
    #[command(hide = true)]
    ExtractText(confined::Options),
    /// Look after the contents of files
    #[command(subcommand)]
    Storage(storage::Command),
}

impl Program {
    /// Runs the command to its end where it may begin no thread.
    pub fn run_alone(&self) -> Option<ExitCode> {
        if let Command::ExtractText(options) = &self.command { Some(extract_text(options)) } else { None }
    }

    /// Runs the command to its end.
    pub async fn run(self) -> ExitCode {
        match self.command {
            Command::Serve(options) => serve::run(options).await,
            Command::App(app::Command::Create(options)) => app::create(options).await,
            Command::Import(options) => import::run(*options).await,
            Command::Bench(options) => bench::run(*options).await,
            Command::Connector(connector::Command::Check(options)) => connector::check(*options).await,
            Command::Connector(connector::Command::Schema) => connector::schema(),
            Command::ExtractText(options) => extract_text(&options),
            Command::Storage(storage::Command::Verify(options)) => storage::verify_contents(options).await,
            Command::Storage(storage::Command::Scan(options)) => storage::scan::scan_contents(options).await,
        }
    }
}

fn extract_text(options: &confined::Options) -> ExitCode {
    match confined::run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => fail(1, reason),
    }
}

/// Says what went wrong and answers the exit code.
fn fail(code: u8, reason: impl std::fmt::Display) -> ExitCode {
    eprintln!("error: {reason}");
    ExitCode::from(code)
}
