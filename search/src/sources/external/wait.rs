//! Waits of searches for a source, which tell how late it is.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{health::SourceState, page_cache::PageResult};
use crate::{single_flight::SharedCall, source::SourceFailure};

impl SourceState {
    /// Whether a search with this time left does not wait for the source.
    pub(super) fn is_late(&self, left: Duration) -> bool {
        self.lock().lateness.is_late(left)
    }
}

/// The wait of one search for an answer, recorded at its end.
pub(super) struct Wait {
    state: Arc<SourceState>,
    began: Instant,
    until: Instant,
    is_recorded: bool,
}

impl Wait {
    pub(super) fn until(until: Instant, state: &Arc<SourceState>) -> Self {
        Self { state: Arc::clone(state), began: Instant::now(), until, is_recorded: false }
    }

    /// Failures are answers, too. A wait that is dropped before its end tells nothing.
    pub(super) async fn for_answer(mut self, call: SharedCall<PageResult>) -> PageResult {
        let result = call.await;
        if Instant::now() < self.until {
            self.is_recorded = true;
            self.state.lock().lateness.record_answer();
        }
        result
    }

    /// Has a call run on alone, so that its answer is kept.
    pub(super) fn leave(self, call: SharedCall<PageResult>) -> PageResult {
        tokio::spawn(self.for_answer(call));
        Err(SourceFailure::late())
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if !self.is_recorded && Instant::now() >= self.until {
            self.state.lock().lateness.record_timeout(self.began, self.until);
        }
    }
}
