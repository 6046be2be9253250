//! A source's calls of the last minute, under its `requestsPerMinute`.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{health::SourceState, suspension::later};
use crate::source::{FailureKind, Pause, SourceFailure};

const MINUTE: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct CallRate {
    limit: Option<usize>,
    /// Oldest first; at most as many as the limit.
    calls: VecDeque<Instant>,
}

impl CallRate {
    /// Counts a call, or tells how long there is none.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let Some(limit) = self.limit else { return Ok(()) };
        while self.calls.front().is_some_and(|call| now.duration_since(*call) >= MINUTE) {
            self.calls.pop_front();
        }
        if self.calls.len() < limit {
            self.calls.push_back(now);
            return Ok(());
        }
        // A lower limit takes effect by its own number of calls.
        let free = self.calls.get(self.calls.len() - limit).map_or(now, |call| *call + MINUTE);
        Err(free.saturating_duration_since(now))
    }

    fn release(&mut self) {
        self.calls.pop_back();
    }
}

/// A counted call, given back unless it is made.
pub(super) struct CallSlot {
    state: Option<Arc<SourceState>>,
}

impl CallSlot {
    /// The call is made.
    pub(super) fn take(mut self) {
        self.state = None;
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            state.lock().rate.release();
        }
    }
}

impl SourceState {
    pub(super) fn limit_calls(&self, limit: Option<usize>) {
        let rate = &mut self.lock().rate;
        rate.limit = limit;
        if limit.is_none() {
            rate.calls.clear();
        }
    }

    /// # Errors
    /// The minute's calls are used up.
    pub(super) fn reserve_call(self: &Arc<Self>) -> Result<CallSlot, SourceFailure> {
        let taken = {
            let rate = &mut self.lock().rate;
            rate.take(Instant::now()).map_err(|wait| (wait, rate.limit.unwrap_or_default()))
        };
        taken.map(|()| CallSlot { state: Some(Arc::clone(self)) }).map_err(|(remaining, limit)| {
            let message = format!("not asked: the {limit} calls a minute that it takes are used up");
            let pause = Some(Pause { retry_at: later(self.clock.now(), remaining), remaining });
            SourceFailure { pause, ..SourceFailure::new(FailureKind::Unavailable, message) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_any_minute_stay_within_the_limit() {
        let mut rate = CallRate { limit: Some(3), ..CallRate::default() };
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        for second in [0, 10, 20] {
            assert_eq!(rate.take(at(second)), Ok(()));
        }
        assert_eq!(rate.take(at(30)), Err(Duration::from_secs(30)));
        assert_eq!(rate.take(at(60)), Ok(()));
        assert_eq!(rate.take(at(60)), Err(Duration::from_secs(10)));
        rate.release();
        assert_eq!(rate.take(at(60)), Ok(()), "a call that was not made is free");
        assert_eq!(rate.take(at(500)), Ok(()));
        assert_eq!(rate.calls.len(), 1);
    }

    #[test]
    fn lower_limit_waits_for_calls_of_the_higher() {
        let mut rate = CallRate { limit: Some(3), ..CallRate::default() };
        let begin = Instant::now();
        (0..3).for_each(|second| rate.take(begin + Duration::from_secs(second)).unwrap());
        rate.limit = Some(1);
        assert_eq!(rate.take(begin + Duration::from_secs(10)), Err(Duration::from_secs(52)));
        rate.limit = None;
        assert_eq!(rate.take(begin), Ok(()));
    }
}
