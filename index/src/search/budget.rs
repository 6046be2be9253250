//! Step budget for searches on threads that must not block.

use tokio_util::sync::CancellationToken;

use crate::Error;

/// Documents of a bitmap per step.
pub(super) const DOCUMENTS_PER_STEP: u32 = 512;

/// Steps between two looks whether a search was cancelled, a few milliseconds.
const STEPS_OF_LOOK: u64 = 1 << 20;

/// Steps of five to ten nanoseconds, about one posting each.
#[derive(Debug)]
pub(super) struct StepBudget {
    left: u64,
    /// Ends a search that has all the steps that it needs.
    cancelled: Option<CancellationToken>,
}

#[derive(Debug)]
pub(super) enum SearchError {
    Failed(Error),
    OverBudget,
}

impl StepBudget {
    pub(super) fn unbounded() -> Self {
        Self { left: u64::MAX, cancelled: None }
    }

    pub(super) fn bounded(steps: u64) -> Self {
        Self { left: steps, cancelled: None }
    }

    pub(super) fn until(cancelled: CancellationToken) -> Self {
        Self { left: STEPS_OF_LOOK, cancelled: Some(cancelled) }
    }

    pub(super) fn is_unbounded(&self) -> bool {
        self.cancelled.is_some()
    }

    pub(super) fn take(&mut self, steps: u64) -> Result<(), SearchError> {
        match self.left.checked_sub(steps) {
            Some(left) => self.left = left,
            None => self.renew()?,
        }
        Ok(())
    }

    #[cold]
    fn renew(&mut self) -> Result<(), SearchError> {
        match &self.cancelled {
            Some(cancelled) if !cancelled.is_cancelled() => self.left = STEPS_OF_LOOK,
            _ => return Err(SearchError::OverBudget),
        }
        Ok(())
    }
}

impl<E: Into<Error>> From<E> for SearchError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_of_a_running_search_ends_once_it_is_cancelled() {
        let cancelled = CancellationToken::new();
        let mut budget = StepBudget::until(cancelled.clone());
        for _ in 0..5 {
            budget.take(STEPS_OF_LOOK).unwrap();
        }
        cancelled.cancel();
        let _unseen = budget.take(STEPS_OF_LOOK);
        assert!(matches!(budget.take(1), Err(SearchError::OverBudget)));
    }
}
