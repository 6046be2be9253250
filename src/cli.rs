//! Command line, one file per command (book: reference/command-line.md).

mod app;
mod bench;
mod client;
mod connector;
mod data_directory;
mod exit;
mod import;
mod index;
mod serve;
mod storage;
mod store;

use std::fmt::Display;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::runtime::Runtime;

use self::exit::fail;
use crate::blobs::extraction::sandbox;
use crate::confined::{self, limits::ReaderOptions};
use crate::platform::subscriptions::serve_sqlite;

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
    ExtractText(sandbox::SandboxOptions),
    /// Write the rows of the content on standard input to standard output
    #[command(hide = true)]
    ReadRows(ReaderOptions),
    /// Answer questions about a file of SQLite on standard input
    #[command(hide = true)]
    ReadSqlite(ReaderOptions),
    /// Run the filters of mapped sources for a server
    #[command(hide = true)]
    InterpretMappings,
    /// Check the stored contents of files
    #[command(subcommand)]
    Storage(storage::StorageCommand),
    /// Copy the database
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// Watch, rebuild and move the full-text index of a running server
    #[command(subcommand)]
    Index(index::IndexCommand),
}

impl Command {
    fn opens_data_directory(&self) -> bool {
        matches!(self, Self::Serve(_) | Self::App(_) | Self::Storage(_) | Self::Store(_))
    }
}

/// Runs the command of the process's arguments to its end.
///
/// The runtime starts here, not in the binary: a crate compiles the futures that it polls.
pub fn run() -> ExitCode {
    let command = Program::parse().command;
    if command.opens_data_directory() {
        data_directory::keep_new_files_private();
    }
    match command {
        Command::Serve(options) => block_on(serve::run(options)),
        Command::App(app::AppCommand::Create(options)) => block_on(app::create(options)),
        Command::Import(options) => block_on(import::run(*options)),
        Command::Bench(options) => block_on(bench::run(*options)),
        Command::Connector(connector::ConnectorCommand::Check(options)) => {
            block_on(connector::check(*options))
        }
        Command::Connector(connector::ConnectorCommand::Try(options)) => {
            block_on(connector::try_once(*options))
        }
        Command::Connector(connector::ConnectorCommand::Gallery { name }) => {
            connector::gallery(name.as_deref())
        }
        Command::Connector(connector::ConnectorCommand::New(options)) => {
            connector::template::create(&options)
        }
        Command::Connector(connector::ConnectorCommand::Schema) => connector::schema(),
        // No runtime: no thread may run before the sandbox is closed.
        Command::ExtractText(options) => end(sandbox::run(&options)),
        Command::ReadRows(options) => end(confined::rows::serve(options)),
        Command::ReadSqlite(options) => end(serve_sqlite(options)),
        Command::InterpretMappings => connector::interpret_mappings(),
        Command::Storage(command) => block_on(command.run()),
        Command::Store(command) => block_on(command.run()),
        Command::Index(command) => block_on(command.run()),
    }
}

fn block_on(command: impl Future<Output = ExitCode>) -> ExitCode {
    match Runtime::new() {
        Ok(runtime) => runtime.block_on(command),
        Err(error) => fail(1, format!("the runtime could not start: {error}")),
    }
}

fn end(served: Result<(), impl Display>) -> ExitCode {
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => fail(1, reason),
    }
}
