//! The layer of hedging: a second request for a late call.
//!
//! Late is beyond the source's 95th percentile. Latencies are recorded from the first request on, so hedges
//! do not lower it.

use std::{pin::pin, sync::Arc, time::Duration};

use futures::future::select_ok;
use tokio::time::{Instant, timeout};
use trawl_connectors::TraceContext;

use super::{
    client::LazyClient,
    health::SourceState,
    raw_page::{RawPage, SourcePageKey},
};
use crate::source::SourceFailure;

pub(super) struct HedgedClient {
    client: LazyClient,
    /// If late calls are hedged.
    state: Option<Arc<SourceState>>,
}

impl HedgedClient {
    pub(super) fn new(client: LazyClient, state: Option<Arc<SourceState>>) -> Self {
        Self { client, state }
    }

    pub(super) async fn fetch(
        &self,
        key: &SourcePageKey,
        trace: Option<&TraceContext>,
    ) -> Result<RawPage, SourceFailure> {
        let client = self.client.connected().await?;
        let fetch = || self.client.fetch(client, key, trace);
        match &self.state {
            // Boxed: calls without hedging need not carry the room of two requests.
            Some(state) => Box::pin(state.fetch_hedged(fetch, || client.has_room())).await,
            None => fetch().await,
        }
    }

    /// Whether a call would not wait for others.
    pub(super) fn has_room(&self) -> bool {
        self.client.has_room()
    }

    pub(super) async fn warm(&self) -> Result<(), SourceFailure> {
        let client = self.client.connected().await?;
        // The first search reports a failure of the source.
        drop(client.warm().await);
        Ok(())
    }
}

impl SourceState {
    /// The first page of up to two requests.
    ///
    /// # Errors
    /// The failure of the last request.
    async fn fetch_hedged<P, A>(
        &self,
        fetch: impl Fn() -> A,
        has_room: impl Fn() -> bool,
    ) -> Result<P, SourceFailure>
    where
        A: Future<Output = Result<P, SourceFailure>>,
    {
        let request = |is_second| {
            let answer = fetch();
            async move { Ok::<_, SourceFailure>((answer.await?, is_second)) }
        };
        let mut first = pin!(request(false));
        let late = {
            let mut record = self.lock();
            record.budget.earn();
            record.latencies.late()
        };
        // An unknown percentile is never exceeded.
        let early = timeout(late.unwrap_or(Duration::MAX), &mut first).await;
        if let Ok(ended) = early {
            return Ok(ended?.0);
        }
        if !has_room() || !self.spend_hedge() {
            return Ok(first.await?.0);
        }
        let second = pin!(request(true));
        let ((page, is_second), _other) = select_ok([first, second]).await?;
        if is_second {
            self.lock().hedges.won += 1;
            metrics::counter!("trawl_source_hedges_won_total").increment(1);
        }
        Ok(page)
    }

    fn spend_hedge(&self) -> bool {
        let may = {
            let mut record = self.lock();
            let may = record.suspension.is_steady()
                && record.budget.spend()
                && record.rate.take(Instant::now()).is_ok();
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

    use tokio::time::sleep;

    use super::*;
    use crate::{
        SuspensionSettings, clock::SystemClock, latencies::MIN_CALLS, source::FailureKind,
        testing::paused_runtime,
    };

    /// After this many calls of 10 ms, and as many that earned a second request.
    fn state(calls: usize, earning: usize) -> Arc<SourceState> {
        let state = SourceState::new(1, "x".to_owned(), SuspensionSettings::default(), Arc::new(SystemClock));
        {
            let mut record = state.lock();
            (0..calls).for_each(|_| record.latencies.add(Duration::from_millis(10)));
            (0..earning).for_each(|_| record.budget.earn());
        }
        Arc::new(state)
    }

    /// The answered request, its milliseconds, and the number of requests.
    fn fetch(state: &SourceState, has_room: bool, ends: &[(u64, bool)]) -> (Option<usize>, u128, usize) {
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
        let answer = paused_runtime().block_on(async {
            let started = Instant::now();
            let answer = state.fetch_hedged(request, || has_room).await;
            (answer.ok(), started.elapsed().as_millis())
        });
        (answer.0, answer.1, sent.into_inner())
    }

    #[test]
    fn first_page_of_two_requests_is_the_answer() {
        for (ends, expected) in [
            (&[(9, true)][..], (Some(0), 9, 1)),
            (&[(9, false)], (None, 9, 1)),
            (&[(40, true), (20, true)], (Some(1), 30, 2)),
            (&[(15, true), (20, true)], (Some(0), 15, 2)),
            // After a failure the other request goes on.
            (&[(15, false), (20, true)], (Some(1), 30, 2)),
            (&[(40, true), (20, false)], (Some(0), 40, 2)),
            (&[(15, false), (20, false)], (None, 30, 2)),
        ] {
            let state = state(MIN_CALLS, MIN_CALLS);
            assert_eq!(fetch(&state, true, ends), expected, "{ends:?}");
            let hedges = state.lock().hedges;
            let (answered, _, requests) = expected;
            assert_eq!(
                (hedges.sent, hedges.won),
                (requests as u64 - 1, u64::from(answered == Some(1))),
                "{ends:?}"
            );
        }
    }

    #[test]
    fn late_call_has_no_second_request_where_one_may_harm() {
        let ends = [(40, true), (20, true)];
        let alone = (Some(0), 40, 1);
        assert_eq!(fetch(&state(MIN_CALLS - 1, MIN_CALLS), true, &ends), alone, "latencies are unknown");
        assert_eq!(fetch(&state(MIN_CALLS, 0), true, &ends), alone, "too few calls earned one");
        assert_eq!(fetch(&state(MIN_CALLS, MIN_CALLS), false, &ends), alone, "it would wait for a permit");
        let failing = state(MIN_CALLS, MIN_CALLS);
        let permit = failing.admit().unwrap();
        let failed = async { Err(SourceFailure::new(FailureKind::Error, "made to fail")) };
        paused_runtime().block_on(async {
            permit.watch(Instant::now(), Duration::from_secs(1), failed).await.unwrap_err();
        });
        assert_eq!(fetch(&failing, true, &ends), alone, "the last call failed");
    }
}
