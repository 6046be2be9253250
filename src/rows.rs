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
