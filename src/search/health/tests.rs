use std::sync::Arc;

use futures::FutureExt;

use super::*;
use crate::search::request::{Filters, Order, Viewer};

fn ask(deadline_ms: u64) -> Ask {
    Ask {
        viewer: Viewer { tenant_id: 1, user_id: None, principals: Arc::default() },
        keyword: "word".to_owned(),
        query: Arc::new(trawl_index::Query::parse("word")),
        filters: Filters::default(),
        order: Order::Time,
        limit: 10,
        whole_ties: None,
        before: None,
        deadline: Instant::now() + Duration::from_millis(deadline_ms),
    }
}

/// A runtime whose clock moves only when everything waits.
fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(test);
}

fn health(state: &SourceState) -> SourceHealth {
    state.health("x".to_owned(), true, 7)
}

async fn answers_after(took: u64, page: Page) -> Result<Page, SourceFailure> {
    tokio::time::sleep(Duration::from_millis(took)).await;
    Ok(page)
}

const OWN: Duration = Duration::from_millis(100);

#[test]
fn before_the_first_call_nothing_is_known() {
    let health = health(&SourceState::default());
    assert_eq!(health.summary, Summary { status: HealthStatus::Unknown, message: None });
    assert_eq!((health.calls, health.latency_ms, health.since), (Calls::default(), None, 7));
    assert_eq!((health.last_success_time, health.last_failure_time), (None, None));
}

#[test]
fn each_end_is_counted_as_what_it_is() {
    run(async {
        let state = SourceState::default();
        let broken = Page { broken: Some("disordered".to_owned()), ..Page::default() };
        state.watch(&ask(1_000), OWN, answers_after(10, Page::default())).await.unwrap();
        state.watch(&ask(1_000), OWN, answers_after(20, broken)).await.unwrap();
        for kind in [
            FailureKind::Timeout,
            FailureKind::Unavailable,
            FailureKind::Unauthorized,
            FailureKind::Invalid,
            FailureKind::Error,
        ] {
            let failure = SourceFailure::new(kind, "why");
            state.watch(&ask(1_000), OWN, async { Err(failure) }).await.unwrap_err();
        }
        let health = health(&state);
        let expected = Calls { ok: 1, timeout: 1, unavailable: 1, unauthorized: 1, invalid: 2, error: 1 };
        assert_eq!(health.calls, expected);
        let last = Summary { status: HealthStatus::Error, message: Some("why".to_owned()) };
        assert_eq!(health.summary, last);
        assert!(health.last_success_time.is_some() && health.last_failure_time.is_some());
    });
}

#[test]
fn a_call_that_is_given_up_timed_out_whoever_gave_it_up() {
    run(async {
        let state = SourceState::default();
        let late = state.watch(&ask(1_000), OWN, answers_after(500, Page::default())).await;
        assert_eq!(late.unwrap_err().kind, FailureKind::Timeout);
        assert_eq!(health(&state).calls.timeout, 1);
        // The search's deadline is nearer than the source's own limit.
        let ask = ask(50);
        let call = state.watch(&ask, OWN, answers_after(500, Page::default()));
        assert!(tokio::time::timeout_at(ask.deadline, call).await.is_err());
        assert_eq!(health(&state).calls.timeout, 2);
    });
}

#[test]
fn a_caller_that_goes_away_is_no_fault_of_the_source() {
    run(async {
        let state = SourceState::default();
        let ask = ask(1_000);
        let call = state.watch(&ask, OWN, answers_after(500, Page::default()));
        assert!(tokio::time::timeout(Duration::from_millis(50), call).await.is_err());
        assert_eq!(health(&state).calls, Calls::default());
    });
}

#[test]
fn a_panic_is_an_error() {
    run(async {
        let state = SourceState::default();
        let call = async { panic!("a source that fails inside the server") };
        let ask = ask(1_000);
        let ended = std::panic::AssertUnwindSafe(state.watch(&ask, OWN, call)).catch_unwind().await;
        assert!(ended.is_err());
        assert_eq!(health(&state).calls.error, 1);
    });
}

#[test]
fn latencies_are_of_the_last_calls_that_took_their_time() {
    run(async {
        let state = SourceState::default();
        for took in 1..=100 {
            state.watch(&ask(1_000), OWN * 2, answers_after(took, Page::default())).await.unwrap();
        }
        // A refusal says nothing of how long an answer takes.
        let refused = async { Err(SourceFailure::new(FailureKind::Unavailable, "refused")) };
        state.watch(&ask(1_000), OWN, refused).await.unwrap_err();
        assert_eq!(health(&state).latency_ms, Some(Latency { p50: 50, p90: 90, p99: 99 }));
        for _ in 0..REMEMBERED_LATENCIES {
            state.watch(&ask(1_000), OWN, answers_after(7, Page::default())).await.unwrap();
        }
        assert_eq!(health(&state).latency_ms, Some(Latency { p50: 7, p90: 7, p99: 7 }));
        assert_eq!(state.lock().latencies.len(), REMEMBERED_LATENCIES);
    });
}
