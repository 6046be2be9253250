//! The time that suspensions of sources go by, as a test says.

use std::{
    sync::atomic::{AtomicI64, Ordering::SeqCst},
    time::Duration,
};

use trawl::search::clock::Clock;

use super::items::NEW_YEAR;

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub(crate) struct StillClock(AtomicI64);

impl Default for StillClock {
    fn default() -> Self {
        Self(AtomicI64::new(NEW_YEAR))
    }
}

impl StillClock {
    /// Lets so much time pass.
    pub(crate) fn pass(&self, time: Duration) {
        self.0.fetch_add(i64::try_from(time.as_millis()).unwrap(), SeqCst);
    }
}

impl Clock for StillClock {
    fn now(&self) -> i64 {
        self.0.load(SeqCst)
    }
}
