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

impl Program {
    /// Runs a command that must not start threads.
    pub fn run_alone(&self) -> Option<ExitCode> {
        if let Command::ExtractText(options) = &self.command { Some(extract_text(options)) } else { None }
    }

    /// Runs the command to its end.
    pub async fn run(self) -> ExitCode {
        match self.command {
            Command::Serve(options) => serve::run(options).await,
            Command::App(app::AppCommand::Create(options)) => app::create(options).await,
            Command::Import(options) => import::run(*options).await,
            Command::Bench(options) => bench::run(*options).await,
            Command::Connector(connector::ConnectorCommand::Check(options)) => {
                connector::check(*options).await
            }
            Command::Connector(connector::ConnectorCommand::Schema) => connector::schema(),
            Command::ExtractText(options) => extract_text(&options),
            Command::Storage(command) => command.run().await,
        }
    }
}

fn extract_text(options: &sandbox::Options) -> ExitCode {
    match sandbox::run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => fail(1, reason),
    }
}
