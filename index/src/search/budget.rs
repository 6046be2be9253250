//! Step budget for searches on threads that must not block.

use crate::Error;

/// Documents of a bitmap per step.
pub(super) const DOCUMENTS_PER_STEP: u32 = 512;

/// Steps of five to ten nanoseconds, about one posting each.
#[derive(Debug)]
pub(super) struct StepBudget {
    left: u64,
}

#[derive(Debug)]
pub(super) enum SearchError {
    Failed(Error),
    OverBudget,
}

impl StepBudget {
    pub(super) fn unbounded() -> Self {
        Self { left: u64::MAX }
    }

    pub(super) fn bounded(steps: u64) -> Self {
        Self { left: steps }
    }

    pub(super) fn is_unbounded(&self) -> bool {
        self.left > u64::MAX / 2
    }

    pub(super) fn take(&mut self, steps: u64) -> Result<(), SearchError> {
        self.left = self.left.checked_sub(steps).ok_or(SearchError::OverBudget)?;
        Ok(())
    }
}

impl<E: Into<Error>> From<E> for SearchError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}
