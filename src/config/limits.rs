//! Limits on callers.

use serde::{Deserialize, Serialize};

/// Limits on callers.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Items in a batch.
    pub batch_items: usize,
    /// Rows in a directory synchronisation.
    pub sync_items: usize,
    /// Bytes of a request body.
    pub body_bytes: usize,
    /// Bytes of a directory synchronisation's body.
    pub sync_body_bytes: usize,
    /// Bytes of an inflated avatar.
    pub picture_bytes: usize,
    /// Bytes of a file's or folder's name, in UTF-8.
    pub file_name_bytes: usize,
    /// Bytes of a file.
    pub file_bytes: u64,
    /// Least bytes of each part of an upload but the last.
    pub part_bytes: u64,
    /// Indexed bytes of a file's text, in UTF-8.
    pub file_text_bytes: usize,
    /// Characters of a keyword.
    pub keyword_chars: usize,
    /// Write requests per minute and application.
    pub writes_per_minute: u32,
    /// Messages per minute and group robot.
    pub robot_messages_per_minute: u32,
    /// Logins per minute and address.
    ///
    /// Also failures per account, of client authentication per address, and of join codes per person.
    pub logins_per_minute: u32,
    /// Bytes of all request bodies in memory, with 64 for each value of large JSON; more get 503.
    ///
    /// A tenant gets at most as many as stay free: alone, a half, which must fit the largest body.
    pub held_body_bytes: usize,
    /// Bytes of all unsent answers over 64 KiB, shared in the same way; more get 503.
    pub held_answer_bytes: usize,
    /// Time for a request body to arrive.
    pub body_timeout_ms: u64,
    /// Time for a head to arrive; the first counts from the opening.
    pub header_timeout_ms: u64,
    /// Time without a request, or without the client taking any of an answer.
    pub idle_timeout_ms: u64,
    /// Open connections; those that wait for their clients give way to more, which else wait in the system's queue.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            batch_items: 1_000,
            sync_items: 10_000,
            body_bytes: 8 << 20,
            sync_body_bytes: 64 << 20,
            picture_bytes: 1 << 20,
            file_name_bytes: 255,
            file_bytes: 5 << 30,
            part_bytes: 5 << 20,
            file_text_bytes: 256 << 10,
            keyword_chars: 256,
            writes_per_minute: 60_000,
            robot_messages_per_minute: 20,
            logins_per_minute: 30,
            held_body_bytes: 256 << 20,
            held_answer_bytes: 256 << 20,
            body_timeout_ms: 60_000,
            header_timeout_ms: 10_000,
            idle_timeout_ms: 75_000,
            connections: 10_000,
        }
    }
}
