//! When applied changes are committed, and when the next ones are read.

use std::time::{Duration, Instant};

/// Requests share a commit when they arrive within this time.
const COMMIT_WITHIN: Duration = Duration::from_millis(60);

/// The same in a bulk; larger commits cost less for each change.
const BULK_COMMIT_WITHIN: Duration = Duration::from_millis(300);

/// Waiting changes that make a bulk.
const MIN_BULK_CHANGES: i64 = 2_000;

/// Time with fewer waiting changes after which a bulk has ended.
const BULK_TIMEOUT: Duration = Duration::from_secs(1);

/// Longest rest after a commit.
const MAX_REST: Duration = Duration::from_millis(10);

/// Changes that are applied and not committed.
#[derive(Default)]
pub(super) struct UncommittedBatch {
    pub(super) uncommitted: Option<(i64, Instant)>,
    pub(super) applied_since: Option<Instant>,
}

impl UncommittedBatch {
    pub(super) fn is_empty(&self) -> bool {
        self.uncommitted.is_none() && self.applied_since.is_none()
    }

    /// The time when the first of its changes came.
    pub(super) fn since(&self) -> Instant {
        let uncommitted = self.uncommitted.map(|(_, since)| since);
        uncommitted.or(self.applied_since).unwrap_or_else(Instant::now)
    }
}

/// The rest of the log's reader after a batch, so that changes gather and share a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rest {
    /// The batch's last position.
    pub(super) position: i64,
    /// The time when the next changes are read.
    pub(super) end: Instant,
}

impl Rest {
    /// A rest from now on, as long as the commit before it took.
    ///
    /// So commits take half of the time at most, and gather more changes under load.
    pub(super) fn after(position: i64, commit: Duration) -> Self {
        Self { position, end: Instant::now() + commit.min(MAX_REST) }
    }
}

/// Whether many changes wait, as they do during an import.
#[derive(Default)]
pub(super) struct Bulk {
    /// Its end, unless more changes come to wait; `None` without a bulk.
    end: Option<Instant>,
}

impl Bulk {
    /// The time within which applied changes are committed, by how many wait.
    ///
    /// `has_more` tells whether the next ones are ready.
    pub(super) fn commit_within(&mut self, waiting: i64, has_more: bool) -> Duration {
        if waiting >= MIN_BULK_CHANGES {
            self.end = Some(Instant::now() + BULK_TIMEOUT);
            BULK_COMMIT_WITHIN
        } else if has_more {
            COMMIT_WITHIN
        } else {
            Duration::ZERO
        }
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.end.is_some()
    }

    /// Waits for the end of the bulk under way.
    pub(super) async fn end(&self) {
        match self.end {
            Some(end) => tokio::time::sleep_until(end.into()).await,
            None => std::future::pending().await,
        }
    }
}
