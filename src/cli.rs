//! Command line, one file per command (decisions 1).

mod app;
mod bench;
mod client;
mod connector;
mod data_directory;
mod exit;
mod import;
mod serve;
mod storage;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::exit::fail;
use crate::blobs::extraction::sandbox;

/// Federated search for the workplace
#[derive(Debug, Parser)]
#[command(name = "trawl", version, about)]
pub struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::ServeOptions),
    /// Manage calling applications
    #[command(subcommand)]
    App(app::AppCommand),
    Import(Box<import::ImportOptions>),
    Bench(Box<bench::BenchOptions>),
    /// Help the authors of external sources
    #[command(subcommand)]
    Connector(connector::ConnectorCommand),
    /// Write the text of the content on standard input to standard output
    #[command(hide = true)]
    ExtractText(sandbox::Options),
    /// Check the stored contents of files
    #[command(subcommand)]
    Storage(storage::StorageCommand),
}

/// Runs the command of the process's arguments to its end.
///
/// The runtime starts here, not in the binary: a crate compiles the futures that it polls.
pub fn run() -> ExitCode {
    match Program::parse().command {
        // No thread may run before the sandbox is closed.
        Command::ExtractText(options) => extract_text(&options),
        command => run_async(command),
    }
}

#[tokio::main]
async fn run_async(command: Command) -> ExitCode {
    match command {
        Command::Serve(options) => serve::run(options).await,
        Command::App(app::AppCommand::Create(options)) => app::create(options).await,
        Command::Import(options) => import::run(*options).await,
        Command::Bench(options) => bench::run(*options).await,
        Command::Connector(connector::ConnectorCommand::Check(options)) => connector::check(*options).await,
        Command::Connector(connector::ConnectorCommand::Schema) => connector::schema(),
        Command::ExtractText(options) => extract_text(&options),
        Command::Storage(command) => command.run().await,
    }
}

fn extract_text(options: &sandbox::Options) -> ExitCode {
    match sandbox::run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => fail(1, reason),
    }
}
