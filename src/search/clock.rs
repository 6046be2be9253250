//! The time that suspensions go by; a part of its own so that tests can move it.

use crate::store::now_millis;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The time, epoch milliseconds. It may be put back or ahead.
    fn now(&self) -> i64;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        now_millis()
    }
}
