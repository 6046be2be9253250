//! The embedded engine, for the suite of all engines.

use proptest::test_runner::Config;
pub(crate) use trawl_index::{Index, Snapshot, Writer};

/// Whether small searches need no thread.
pub(crate) const ANSWERS_AT_ONCE: bool = true;
/// Whether a snapshot shows one commit for as long as it is kept.
pub(crate) const KEEPS_SNAPSHOTS: bool = true;
/// Whether changes become visible by a commit alone.
pub(crate) const SHOWS_COMMITS_ONLY: bool = true;

pub(crate) fn empty_index() -> (Index, Writer) {
    // Commits of the suite hold fewer, as many, and more.
    let options = trawl_index::Options { small_commit_documents: 3, ..Default::default() };
    Index::in_memory(&options).unwrap()
}

pub(crate) fn cases(cases: u32) -> Config {
    trawl_seeds::cases(cases)
}
