//! Disk space that stays free: writes are refused before anything breaks.
//!
//! Work under way (SQLite's write-ahead log, the index and its merges) can finish within the reserve.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::error::{Error, Result};

/// Lifetime of a disk reading, whose writes must fit into the reserve.
const READING_LIFETIME: Duration = Duration::from_millis(200);

const RETRY_AFTER: Duration = Duration::from_secs(10);

/// The default reserves nothing and knows no disk.
#[derive(Default)]
pub(crate) struct DiskReserve {
    directory: PathBuf,
    bytes: u64,
    /// The time of the last reading, and whether there was room.
    reading: Mutex<Option<(Instant, bool)>>,
}

impl DiskReserve {
    pub(crate) fn new(directory: &Path, bytes: u64) -> Self {
        Self { directory: directory.to_owned(), bytes, reading: Mutex::default() }
    }

    pub(crate) fn free_bytes(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(&self.directory).ok()?;
        // Some file systems report zeros.
        (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        self.free_bytes().is_none_or(|free| free >= self.bytes.saturating_add(bytes))
    }

    /// Checks that a write may begin.
    ///
    /// # Errors
    /// 503 while less than the reserve is free.
    pub(crate) fn check(&self) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = reading.filter(|(at, _)| at.elapsed() < READING_LIFETIME).map(|(_, has_room)| has_room);
        let has_room = recent.unwrap_or_else(|| {
            let has_room = self.has_room_for(0);
            if !has_room && reading.is_none_or(|(_, had_room)| had_room) {
                tracing::error!(
                    reserve_bytes = self.bytes,
                    "the disk is nearly full; writes are refused until there is room"
                );
            }
            *reading = Some((Instant::now(), has_room));
            has_room
        });
        if has_room {
            return Ok(());
        }
        Err(Error::unavailable(
            "the server's disk is nearly full, so nothing is written until there is room; nothing was changed",
            RETRY_AFTER,
        ))
    }
}
