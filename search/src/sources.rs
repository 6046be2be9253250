//! The kinds of sources.

pub mod builtin;
pub mod external;
mod inactive;

pub use inactive::InactiveSource;

/// Returns the bytes for external and for built-in pages.
fn cache_shares(bytes: u64) -> (u64, u64) {
    let builtin = bytes / 4;
    (bytes - builtin, builtin)
}

/// `hit`, `stale`, `coalesced` or `miss`.
fn count_page(kind: &'static str, origin: &'static str) {
    metrics::counter!("trawl_source_answers_total", "kind" => kind, "how" => origin).increment(1);
}
