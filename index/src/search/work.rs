//! How much work a search may be, where it runs on a thread that others wait for.

use crate::Error;

/// Steps that are left: about the look at one posting each, five to ten nanoseconds.
#[derive(Debug)]
pub(super) struct Work {
    left: u64,
}

/// Why a search did not come to its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// It cannot.
    Failed(Error),
    /// It would have been more work than it may be.
    TooMuch,
}

impl Work {
    /// As much as it takes.
    pub(super) fn unbounded() -> Self {
        Self { left: u64::MAX }
    }

    /// So many steps.
    pub(super) fn bounded(steps: u64) -> Self {
        Self { left: steps }
    }

    /// Whether it may be as much as it takes.
    pub(super) fn is_unbounded(&self) -> bool {
        self.left > u64::MAX / 2
    }

    /// Takes so many steps, before they are made.
    pub(super) fn take(&mut self, steps: u64) -> Result<(), Stop> {
        self.left = self.left.checked_sub(steps).ok_or(Stop::TooMuch)?;
        Ok(())
    }
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}
