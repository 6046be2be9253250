//! Clock of suspensions.

use std::time::{SystemTime, UNIX_EPOCH};

/// Source of the time.
pub trait Clock: Send + Sync {
    /// Epoch milliseconds, which may jump.
    fn now(&self) -> i64;
}

/// Clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        now_millis()
    }
}

pub(crate) fn now_millis() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}

/// Ages count from full hours, so that pages keep their order and can be cached.
pub(crate) fn this_hour() -> i64 {
    const HOUR: i64 = 60 * 60 * 1_000;
    now_millis() / HOUR * HOUR
}
