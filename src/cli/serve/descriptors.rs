//! File descriptors of the server.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that are kept for files, the database and calls of sources.
const OTHER_DESCRIPTORS: u64 = 512;

/// Raises the limit of open files to what the system allows; returns how many of them connections may take.
///
/// # Errors
/// The system refuses the limit that it names.
pub(super) fn raise_limit() -> io::Result<usize> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    }
    let allowed =
        maximum.map_or(u64::MAX, |maximum| maximum.saturating_sub(OTHER_DESCRIPTORS).max(maximum / 2));
    Ok(usize::try_from(allowed).unwrap_or(usize::MAX))
}
