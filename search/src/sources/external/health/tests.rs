use std::sync::Arc;

use futures::FutureExt;
use tokio::{sync::oneshot, time::Instant};

use super::{super::page_cache::PageResult, *};
use crate::{clock::SystemClock, source::FailureKind, testing::paused_runtime};

fn within(milliseconds: u64) -> Instant {
    Instant::now() + Duration::from_millis(milliseconds)
}

impl SourceState {
    async fn watch(
        self: &Arc<Self>,
        deadline: Instant,
        limit: Duration,
        call: impl Future<Output = PageResult> + Send + 'static,
    ) -> PageResult {
        self.admit()?.watch(deadline, limit, call).await
    }
}

fn state() -> Arc<SourceState> {
    Arc::new(SourceState::new(1, "x".to_owned(), patient(), Arc::new(SystemClock)))
}

fn patient() -> SuspensionSettings {
    let mut settings = SuspensionSettings::default();
    for rule in [
        &mut settings.unavailable,
        &mut settings.unauthorized,
        &mut settings.invalid,
        &mut settings.error,
        &mut settings.timeout,
    ] {
        rule.failures = 1_000;
    }
    settings
}

fn impatient() -> SuspensionSettings {
    let mut settings = patient();
    settings.timeout.failures = 1;
    (settings.timeout.least_ms, settings.timeout.most_ms) = (86_400_000, 86_400_000);
    settings
}

fn impatient_state() -> Arc<SourceState> {
    Arc::new(SourceState::new(1, "x".to_owned(), impatient(), Arc::new(SystemClock)))
}

fn suspended(state: &SourceState) -> Option<FailureKind> {
    state.summary().suspended.map(|suspended| suspended.cause)
}

fn run(test: impl Future<Output = ()>) {
    paused_runtime().block_on(test);
}

fn health(state: &SourceState) -> SourceHealth {
    state.health("x".to_owned(), true, 7, 7)
}

async fn answer_after(took: u64, page: RawPage) -> PageResult {
    tokio::time::sleep(Duration::from_millis(took)).await;
    Ok(Arc::new(page))
}

const LIMIT: Duration = Duration::from_millis(100);

#[test]
fn call_given_up_by_limit_or_deadline_has_timed_out() {
    run(async {
        let state = state();
        let late = state.watch(within(1_000), LIMIT, answer_after(500, RawPage::default())).await;
        assert_eq!(late.unwrap_err().kind, FailureKind::Timeout);
        assert_eq!(health(&state).calls.timeout, 1);
        let deadline = within(50);
        let call = state.watch(deadline, LIMIT, answer_after(500, RawPage::default()));
        assert!(tokio::time::timeout_at(deadline, call).await.is_err());
        assert_eq!(health(&state).calls.timeout, 2);
    });
}

#[test]
fn call_cancelled_by_its_caller_is_not_counted() {
    run(async {
        let state = state();
        let call = state.watch(within(1_000), LIMIT, answer_after(500, RawPage::default()));
        assert!(tokio::time::timeout(Duration::from_millis(50), call).await.is_err());
        assert_eq!(health(&state).calls, Calls::default());
    });
}

#[test]
fn panic_is_counted_as_an_error() {
    run(async {
        let state = state();
        let call = async { panic!("a source that fails inside the server") };
        let failure = state.watch(within(1_000), LIMIT, call).await.unwrap_err();
        assert_eq!((failure.kind, health(&state).calls.error), (FailureKind::Error, 1));
    });
}

#[test]
fn latencies_are_of_the_last_answers_and_timeouts() {
    run(async {
        let state = state();
        for took in 1..=100 {
            state.watch(within(1_000), LIMIT * 2, answer_after(took, RawPage::default())).await.unwrap();
        }
        let refused = async { Err(SourceFailure::new(FailureKind::Unavailable, "refused")) };
        state.watch(within(1_000), LIMIT, refused).await.unwrap_err();
        assert_eq!(state.summary().latency_ms, Some(Latency { p50: 50, p90: 90, p99: 99 }));
        for _ in 0..crate::latencies::WINDOW {
            state.watch(within(1_000), LIMIT, answer_after(7, RawPage::default())).await.unwrap();
        }
        assert_eq!(state.summary().latency_ms, Some(Latency { p50: 7, p90: 7, p99: 7 }));
    });
}

async fn give_up(
    state: &Arc<SourceState>,
    limit: Duration,
    call: impl Future<Output = PageResult> + Send + 'static,
) {
    let deadline = within(50);
    let given_up = tokio::time::timeout_at(deadline, state.watch(deadline, limit, call)).await;
    assert!(given_up.is_err());
}

#[test]
fn source_slower_than_the_deadline_is_not_suspended() {
    run(async {
        let state = impatient_state();
        for _ in 0..10 {
            give_up(&state, LIMIT * 3, answer_after(200, RawPage::default())).await;
        }
        tokio::time::sleep(LIMIT * 10).await;
        assert_eq!(suspended(&state), None);
        assert_eq!(health(&state).calls.timeout, 10, "each search has its own timeout");
    });
}

#[test]
fn source_beyond_its_own_limit_is_suspended_after_the_deadline() {
    run(async {
        let state = impatient_state();
        give_up(&state, LIMIT * 3, std::future::pending()).await;
        assert_eq!(suspended(&state), None, "the call goes on");
        tokio::time::sleep(LIMIT * 3).await;
        assert_eq!(suspended(&state), Some(FailureKind::Timeout));
        assert_eq!(health(&state).calls.timeout, 1, "one call is counted once");
        let call = async { panic!("a suspended source is not asked") };
        let refused = state.watch(within(1_000), LIMIT, call).await.unwrap_err();
        assert_eq!(refused.kind, FailureKind::Unavailable);
        assert!(refused.pause.is_some_and(|pause| pause.remaining > Duration::from_hours(23)), "{refused:?}");
        assert_eq!(health(&state).calls.unavailable, 0);
    });
}

#[test]
fn single_call_of_a_source_outlives_its_search() {
    run(async {
        let state = impatient_state();
        let (first, first_ended) = oneshot::channel::<()>();
        let (second, second_ended) = oneshot::channel::<()>();
        let holding = |alive: oneshot::Sender<()>| async move {
            let _alive = alive;
            std::future::pending().await
        };
        give_up(&state, LIMIT * 9, holding(first)).await;
        give_up(&state, LIMIT * 9, holding(second)).await;
        second_ended.await.unwrap_err();
        assert!(first_ended.now_or_never().is_none());
        tokio::time::sleep(LIMIT * 9).await;
        assert_eq!(suspended(&state), Some(FailureKind::Timeout));
        assert!(!state.lock().has_follower);
    });
}

#[derive(Default)]
struct StoppedClock(std::sync::atomic::AtomicI64);

impl Clock for StoppedClock {
    fn now(&self) -> i64 {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

fn suspended_by(clock: &Arc<StoppedClock>) -> Arc<SourceState> {
    Arc::new(SourceState::new(1, "x".to_owned(), impatient(), Arc::clone(clock) as Arc<dyn Clock>))
}

#[test]
fn probe_has_the_whole_limit_and_a_cancelled_one_is_replaced() {
    run(async {
        let clock = Arc::new(StoppedClock::default());
        let state = suspended_by(&clock);
        state.watch(within(1_000), LIMIT, std::future::pending()).await.unwrap_err();
        clock.0.store(86_400_000, std::sync::atomic::Ordering::Relaxed);
        let probe = state.watch(within(1_000), LIMIT, std::future::pending());
        assert!(tokio::time::timeout(Duration::from_millis(50), probe).await.is_err());
        assert_eq!(state.summary().suspended.unwrap().times, 1);
        give_up(&state, LIMIT * 3, answer_after(200, RawPage::default())).await;
        assert!(suspended(&state).is_some());
        state.watch(within(1_000), LIMIT, std::future::pending()).await.unwrap_err();
        assert_eq!(health(&state).calls.timeout, 2, "one probe at a time");
        tokio::time::sleep(LIMIT * 3).await;
        assert_eq!(suspended(&state), None);
    });
}

#[test]
fn probe_that_panics_is_replaced() {
    run(async {
        let clock = Arc::new(StoppedClock::default());
        let state = suspended_by(&clock);
        state.watch(within(1_000), LIMIT, std::future::pending()).await.unwrap_err();
        clock.0.store(86_400_000, std::sync::atomic::Ordering::Relaxed);
        let late = async {
            tokio::time::sleep(Duration::from_millis(70)).await;
            panic!("a source that fails inside the server")
        };
        give_up(&state, LIMIT * 3, late).await;
        tokio::time::sleep(LIMIT * 3).await;
        state.watch(within(1_000), LIMIT, answer_after(1, RawPage::default())).await.unwrap();
        assert_eq!(suspended(&state), None);
    });
}

#[test]
fn metrics_count_suspended_sources() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        let shows = |line: &str| handle.render().lines().any(|shown| shown == line);
        run(async {
            let (state, other) = (impatient_state(), impatient_state());
            for state in [&state, &other] {
                state.watch(within(1_000), LIMIT, std::future::pending()).await.unwrap_err();
            }
            assert!(shows("trawl_sources_suspended 2"), "{}", handle.render());
            assert!(shows("trawl_source_suspensions_total{cause=\"timeout\"} 2"), "{}", handle.render());
            assert!(shows("trawl_source_calls_total{status=\"timeout\"} 2"), "{}", handle.render());
            state.resume();
            assert!(shows("trawl_sources_suspended 1"), "{}", handle.render());
            drop(other);
            assert!(shows("trawl_sources_suspended 0"), "{}", handle.render());
        });
    });
}
