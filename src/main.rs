//! The `trawl` program.

use std::process::ExitCode;

use clap::Parser;
use trawl::cli::Program;

#[cfg(not(debug_assertions))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// In development what is allocated is counted: what the allocator holds beyond it hides a leak.
#[cfg(debug_assertions)]
#[global_allocator]
static ALLOCATOR: cap::Cap<mimalloc::MiMalloc> = cap::Cap::new(mimalloc::MiMalloc, usize::MAX);

#[tokio::main]
async fn main() -> ExitCode {
    #[cfg(debug_assertions)]
    trawl::telemetry::tell_allocated(|| ALLOCATOR.allocated());
    Program::parse().run().await
}
