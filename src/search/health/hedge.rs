//! A second request where the first one is late, so that one slow answer of a source that is quick as a rule holds nobody
//! up. It is off unless the source's registration asks for it: the source is called a little more.
//!
//! Late is later than the source's own 95th percentile. A call is remembered with the whole time it took, also where its
//! second request was the quicker one: it stays above that percentile, which therefore does not sink with each hedge.

use std::{pin::pin, sync::Arc, time::Duration};

use futures::future::select_ok;
use serde::Serialize;
use tokio::time::timeout;

use super::SourceState;
use crate::search::source::SourceFailure;

/// Calls for each second request: at most 5 % more.
const CALLS_FOR_EACH: u32 = 20;
/// Second requests that can be saved up for when many answers are late together.
const MOST_SAVED: u32 = 10;

/// How many second requests there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Hedges {
    /// Second requests that were sent.
    pub sent: u64,
    /// Of these, those that were answered before the first one.
    pub won: u64,
}

/// What calls have earned in second requests.
#[derive(Debug, Default)]
pub(super) struct Budget {
    calls: u32,
}

impl Budget {
    fn earn(&mut self) {
        self.calls = (self.calls + 1).min(MOST_SAVED * CALLS_FOR_EACH);
    }

    fn spend(&mut self) -> bool {
        let left = self.calls.checked_sub(CALLS_FOR_EACH);
        self.calls = left.unwrap_or(self.calls);
        left.is_some()
    }
}

/// Asks a source, a second time where that is called for.
pub(in crate::search) struct Hedge {
    state: Arc<SourceState>,
}

impl SourceState {
    /// How calls of this source are hedged.
    pub(in crate::search) fn hedge(self: &Arc<Self>) -> Hedge {
        Hedge { state: Arc::clone(self) }
    }
}

impl Hedge {
    /// Asks once, and once more where the first answer is late, the source is not failing and it `has_room`. The first page
    /// that comes is the answer, and the other request is dropped.
    ///
    /// # Errors
    /// The failure of the only request, or of the last one.
    pub(in crate::search) async fn ask<P, A>(
        &self,
        ask: impl Fn() -> A,
        has_room: impl Fn() -> bool,
    ) -> Result<P, SourceFailure>
    where
        A: Future<Output = Result<P, SourceFailure>>,
    {
        let request = |is_second| {
            let answer = ask();
            async move { Ok::<_, SourceFailure>((answer.await?, is_second)) }
        };
        let mut first = pin!(request(false));
        let late = self.begin();
        // A time that is not known never comes.
        let early = timeout(late.unwrap_or(Duration::MAX), &mut first).await;
        if let Ok(ended) = early {
            return Ok(ended?.0);
        }
        if !has_room() || !self.spend() {
            return Ok(first.await?.0);
        }
        let second = pin!(request(true));
        let ((page, is_second), _other) = select_ok([first, second]).await?;
        if is_second {
            self.state.lock().hedges.won += 1;
            metrics::counter!("trawl_source_hedges_won_total").increment(1);
        }
        Ok(page)
    }

    /// Counts a call; when it is late, if that is known.
    fn begin(&self) -> Option<Duration> {
        let mut record = self.state.lock();
        record.budget.earn();
        record.latencies.late()
    }

    /// Whether a late call may be made once more; then it counts as made.
    fn spend(&self) -> bool {
        let may = {
            let mut record = self.state.lock();
            let may = record.suspension.is_steady() && record.budget.spend();
            record.hedges.sent += u64::from(may);
            may
        };
        if may {
            metrics::counter!("trawl_source_hedges_total").increment(1);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use proptest::prelude::*;
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::{
        config,
        latencies::LEAST_KNOWN,
        search::{clock::SystemClock, source::FailureKind},
    };

    /// A source whose calls took 10 ms, so that every later one is late, and that may be asked a second time.
    fn hedge() -> Hedge {
        let state = SourceState::new(1, "x".to_owned(), config::Suspension::default(), Arc::new(SystemClock));
        {
            let mut record = state.lock();
            (0..LEAST_KNOWN).for_each(|_| record.latencies.add(Duration::from_millis(10)));
            (0..LEAST_KNOWN).for_each(|_| record.budget.earn());
        }
        Arc::new(state).hedge()
    }

    /// The number of the request that was answered, the milliseconds that it took, and the requests that were sent, where
    /// each of them ends after its milliseconds with its result.
    fn ask(ends: &[(u64, bool)]) -> (Option<usize>, u128, usize) {
        let sent = AtomicUsize::new(0);
        let request = || {
            let number = sent.fetch_add(1, Relaxed);
            let (after, is_answered) = ends[number];
            async move {
                sleep(Duration::from_millis(after)).await;
                let failure = || SourceFailure::new(FailureKind::Error, number.to_string());
                is_answered.then_some(number).ok_or_else(failure)
            }
        };
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let answer = runtime.block_on(async {
            let started = Instant::now();
            let answer = hedge().ask(request, || true).await;
            (answer.ok(), started.elapsed().as_millis())
        });
        (answer.0, answer.1, sent.into_inner())
    }

    #[test]
    fn the_first_page_that_comes_is_the_answer() {
        assert_eq!(ask(&[(9, true)]), (Some(0), 9, 1));
        assert_eq!(ask(&[(9, false)]), (None, 9, 1));
        assert_eq!(ask(&[(40, true), (20, true)]), (Some(1), 30, 2));
        assert_eq!(ask(&[(15, true), (20, true)]), (Some(0), 15, 2));
        // A request that fails leaves the other one its time.
        assert_eq!(ask(&[(15, false), (20, true)]), (Some(1), 30, 2));
        assert_eq!(ask(&[(40, true), (20, false)]), (Some(0), 40, 2));
        assert_eq!(ask(&[(15, false), (20, false)]), (None, 30, 2));
    }

    proptest! {
        #[test]
        fn second_requests_are_at_most_one_in_twenty_calls(late in prop::collection::vec(any::<bool>(), 0..2_000)) {
            let mut budget = Budget::default();
            let mut sent = 0;
            for (calls, late) in (1..).zip(late) {
                budget.earn();
                sent += usize::from(late && budget.spend());
                prop_assert!(sent * 20 <= calls, "{sent} second requests in {calls} calls");
            }
        }
    }

    #[test]
    fn what_is_saved_up_is_bounded() {
        let mut budget = Budget::default();
        (0..100_000).for_each(|_| budget.earn());
        assert_eq!((0..100).filter(|_| budget.spend()).count(), 10);
    }
}
