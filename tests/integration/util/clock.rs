use std::{
    sync::atomic::{AtomicI64, Ordering::SeqCst},
    time::Duration,
};

use trawl_search::clock::Clock;

use super::items::NEW_YEAR;

#[derive(Debug)]
pub(crate) struct StillClock(AtomicI64);

impl Default for StillClock {
    fn default() -> Self {
        Self(AtomicI64::new(NEW_YEAR))
    }
}

impl StillClock {
    pub(crate) fn pass(&self, time: Duration) {
        self.0.fetch_add(i64::try_from(time.as_millis()).unwrap(), SeqCst);
    }
}

impl Clock for StillClock {
    fn now(&self) -> i64 {
        self.0.load(SeqCst)
    }
}
