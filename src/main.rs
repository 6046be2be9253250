//! The `trawl` program.

use std::process::ExitCode;

use clap::Parser;
use trawl::cli::Program;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    Program::parse().run().await
}
