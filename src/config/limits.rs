//! Bounds on what a caller may send.

use serde::{Deserialize, Serialize};

/// Bounds on what a caller may send (decisions 9.9).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Items of one batch.
    pub batch_items: usize,
    /// Items of one directory synchronisation.
    pub sync_items: usize,
    /// Bytes of a request body.
    pub body_bytes: usize,
    /// Bytes of a directory synchronisation's body.
    pub sync_body_bytes: usize,
    /// Bytes of an avatar, inflated.
    pub picture_bytes: usize,
    /// Bytes of the name of a file or a folder, in UTF-8.
    pub file_name_bytes: usize,
    /// Bytes of a file.
    pub file_bytes: u64,
    /// Bytes that each part of an upload in parts has to have at least, but the last.
    pub part_bytes: u64,
    /// Bytes of a file's text that are searched, in UTF-8.
    pub file_text_bytes: usize,
    /// Characters of a search keyword.
    pub keyword_chars: usize,
    /// Writing calls of one application in a minute.
    pub writes_per_minute: u32,
    /// Messages of one group robot in a minute.
    pub robot_messages_per_minute: u32,
    /// Logins of one address in a minute; also failed ones of one login account, failed proofs of applications from one
    /// address at the token endpoint, and join codes of groups by one person that open nothing.
    pub logins_per_minute: u32,
    /// Bytes of all request bodies that are held at once; one more is refused with 503.
    pub held_body_bytes: usize,
    /// Bytes of all large answers that are not taken yet; one more is refused with 503.
    pub held_answer_bytes: usize,
    /// The longest that a request body may take to arrive, in milliseconds.
    pub body_timeout_ms: u64,
    /// The longest that the head of a request may take to arrive, in milliseconds; for the first one of a connection it
    /// counts from its opening.
    pub header_timeout_ms: u64,
    /// How long a connection is kept open on which nothing is asked, or nothing taken of an answer, in milliseconds.
    pub idle_timeout_ms: u64,
    /// Connections that are open at once; further ones wait to be taken until one ends.
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
