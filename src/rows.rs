//! Rows of files to import.
//!
//! Files are JSON Lines, JSON arrays or feeds, plain or compressed.
//!
//! `input` reads rows in bounded memory. `content` and `task` convert them, `batch` groups them.

pub(crate) mod batch;
pub(crate) mod content;
pub(crate) mod feed;
pub(crate) mod format;
pub(crate) mod input;
mod json_records;
pub(crate) mod row;
pub(crate) mod task;
mod time;

use std::panic::{AssertUnwindSafe, catch_unwind};

use trawl_search::panics::CaughtPanic;

/// Runs a reader; one that panics has a reason, and the log has details.
pub(crate) fn catch<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read)).map_err(|payload| {
        let panic = CaughtPanic::new(&*payload);
        tracing::error!(%panic, "a reader of rows panicked");
        "its reader failed inside the server; the server's log has details".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_of_a_reader_is_a_reason() {
        assert_eq!(catch(|| 1), Ok(1));
        let reason = catch(|| -> u8 { panic!("secret") }).unwrap_err();
        assert!(reason.contains("failed inside the server") && !reason.contains("secret"));
    }
}
