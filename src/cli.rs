//! The command line: one file for each command (decisions 1).

pub mod app;
pub mod bench;
pub mod client;
pub mod connector;
pub mod import;
pub mod serve;
pub mod storage;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// Look after the contents of files
    #[command(subcommand)]
    Storage(storage::Command),
}

impl Program {
    /// Runs the command to its end.
    pub async fn run(self) -> ExitCode {
        match self.command {
            Command::Serve(options) => serve::run(options).await,
            Command::App(app::Command::Create(options)) => app::create(options).await,
            Command::Import(options) => import::run(*options).await,
            Command::Bench(options) => bench::run(*options).await,
            Command::Connector(connector::Command::Check(options)) => connector::check(*options).await,
            Command::Connector(connector::Command::Schema) => connector::schema(),
            Command::Storage(storage::Command::Verify(options)) => storage::verify_contents(options).await,
            Command::Storage(storage::Command::Scan(options)) => storage::scan::scan_contents(options).await,
        }
    }
}

/// Says what went wrong and answers the exit code.
fn fail(code: u8, reason: impl std::fmt::Display) -> ExitCode {
    eprintln!("error: {reason}");
    ExitCode::from(code)
}
