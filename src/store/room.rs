//! The disk space that is kept free: writes are refused while there is less, before anything breaks. What is at work already
//! (the log that SQLite writes ahead, the index and its merges) can go on in it to its end.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::error::{Error, Result};

/// The disk is looked at again after so long; what can be written in between has to fit into the reserve.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// When a refused write may be tried again.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Watches over the disk of a directory.
pub(crate) struct Room {
    directory: PathBuf,
    reserve_bytes: u64,
    /// When the disk was looked at, and whether there was room.
    looked: Mutex<Option<(Instant, bool)>>,
}

impl Room {
    /// Keeps so many bytes free on the disk of this directory; 0: does not look at it.
    pub(crate) fn new(directory: &Path, reserve_bytes: u64) -> Self {
        Self { directory: directory.to_owned(), reserve_bytes, looked: Mutex::default() }
    }

    /// The bytes that are free, where the system tells.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(&self.directory).ok()?;
        // Some file systems tell nothing, and say so by zeros.
        (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Whether so many bytes more can be written and the reserve is still there. Where nobody can tell, they may.
    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        self.free_bytes().is_none_or(|free| free >= self.reserve_bytes.saturating_add(bytes))
    }

    /// Whether a write may begin.
    ///
    /// # Errors
    /// 503 while less is free than is to be.
    pub(crate) fn check(&self) -> Result<()> {
        if self.reserve_bytes == 0 {
            return Ok(());
        }
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let known = looked.filter(|(at, _)| at.elapsed() < LOOK_EVERY).map(|(_, has_room)| has_room);
        let has_room = known.unwrap_or_else(|| {
            let has_room = self.has_room_for(0);
            if !has_room && looked.is_none_or(|(_, had_room)| had_room) {
                tracing::error!(
                    reserve_bytes = self.reserve_bytes,
                    "the disk is nearly full; writes are refused until there is room"
                );
            }
            *looked = Some((Instant::now(), has_room));
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
