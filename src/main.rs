//! The `trawl` program.

use std::process::ExitCode;

#[cfg(not(debug_assertions))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Debug builds count allocations: memory held by the allocator itself hides leaks.
#[cfg(debug_assertions)]
#[global_allocator]
static ALLOCATOR: cap::Cap<mimalloc::MiMalloc> = cap::Cap::new(mimalloc::MiMalloc, usize::MAX);

fn main() -> ExitCode {
    #[cfg(debug_assertions)]
    trawl::telemetry::report_allocated(|| ALLOCATOR.allocated());
    trawl::cli::run()
}
