use std::sync::Arc;

use futures::FutureExt;
use tokio::{sync::oneshot, time::Instant};
use trawl_connectors::{Answer, DeclaredOrder};

use super::*;
use crate::search::{clock::SystemClock, source::FailureKind};

fn within(milliseconds: u64) -> Instant {
    Instant::now() + Duration::from_millis(milliseconds)
}

impl SourceState {
    /// One call, if it is permitted.
    async fn watch(
        self: &Arc<Self>,
        deadline: Instant,
        own_limit: Duration,
        call: impl Future<Output = Result<Arc<SourcePage>, SourceFailure>> + Send + 'static,
    ) -> Result<Arc<SourcePage>, SourceFailure> {
        self.admit()?.watch(deadline, own_limit, call).await
    }
}

fn state() -> Arc<SourceState> {
    Arc::new(SourceState::new(1, "x".to_owned(), patient(), Arc::new(SystemClock)))
}

/// Rules by which none of these tests suspends anything.
fn patient() -> Rules {
    let mut rules = Rules::default();
    for rule in [
        &mut rules.unavailable,
        &mut rules.unauthorized,
        &mut rules.invalid,
        &mut rules.error,
        &mut rules.timeout,
    ] {
        rule.failures = 1_000;
    }
    rules
}

/// Rules by which the first call without an answer suspends a source for a day.
fn impatient() -> Rules {
    let mut rules = patient();
    rules.timeout.failures = 1;
    (rules.timeout.least_ms, rules.timeout.most_ms) = (86_400_000, 86_400_000);
    rules
}

fn impatient_state() -> Arc<SourceState> {
    Arc::new(SourceState::new(1, "x".to_owned(), impatient(), Arc::new(SystemClock)))
}

fn suspended(state: &SourceState) -> Option<FailureKind> {
    state.summary().suspended.map(|suspended| suspended.cause)
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
    state.health("x".to_owned(), true, 7, 7)
}

async fn answers_after(took: u64, page: SourcePage) -> Result<Arc<SourcePage>, SourceFailure> {
    tokio::time::sleep(Duration::from_millis(took)).await;
    Ok(Arc::new(page))
}

const OWN: Duration = Duration::from_millis(100);

#[test]
fn before_the_first_call_nothing_is_known() {
    let health = health(&state());
    let unknown = Summary { status: HealthStatus::Unknown, message: None, suspended: None, latency_ms: None };
    assert_eq!((health.summary, health.calls, health.since), (unknown, Calls::default(), 7));
    assert_eq!((health.last_success_time, health.last_failure_time), (None, None));
}

#[test]
fn each_end_is_counted_as_what_it_is() {
    run(async {
        let state = state();
        let broken = Answer { broken: Some("disordered".to_owned()), ..Answer::default() };
        let broken = SourcePage::read(broken, DeclaredOrder::Time, None).unwrap();
        state.watch(within(1_000), OWN, answers_after(10, SourcePage::default())).await.unwrap();
        state.watch(within(1_000), OWN, answers_after(20, broken)).await.unwrap();
        for kind in [
            FailureKind::Timeout,
            FailureKind::Unavailable,
            FailureKind::Unauthorized,
            FailureKind::Invalid,
            FailureKind::Error,
        ] {
            let failure = SourceFailure::new(kind, "why");
            state.watch(within(1_000), OWN, async { Err(failure) }).await.unwrap_err();
        }
        let health = health(&state);
        let expected = Calls { ok: 1, timeout: 1, unavailable: 1, unauthorized: 1, invalid: 2, error: 1 };
        assert_eq!(health.calls, expected);
        let Summary { status, message, suspended, .. } = health.summary;
        assert_eq!((status, message.as_deref(), suspended), (HealthStatus::Error, Some("why"), None));
        assert!(health.last_success_time.is_some() && health.last_failure_time.is_some());
    });
}

#[test]
fn a_call_that_is_given_up_timed_out_whoever_gave_it_up() {
    run(async {
        let state = state();
        let late = state.watch(within(1_000), OWN, answers_after(500, SourcePage::default())).await;
        assert_eq!(late.unwrap_err().kind, FailureKind::Timeout);
        assert_eq!(health(&state).calls.timeout, 1);
        // The search's deadline is nearer than the source's own limit.
        let deadline = within(50);
        let call = state.watch(deadline, OWN, answers_after(500, SourcePage::default()));
        assert!(tokio::time::timeout_at(deadline, call).await.is_err());
        assert_eq!(health(&state).calls.timeout, 2);
    });
}

#[test]
fn a_caller_that_goes_away_is_no_fault_of_the_source() {
    run(async {
        let state = state();
        let call = state.watch(within(1_000), OWN, answers_after(500, SourcePage::default()));
        assert!(tokio::time::timeout(Duration::from_millis(50), call).await.is_err());
        assert_eq!(health(&state).calls, Calls::default());
    });
}

#[test]
fn a_panic_is_an_error() {
    run(async {
        let state = state();
        let call = async { panic!("a source that fails inside the server") };
        let ended = std::panic::AssertUnwindSafe(state.watch(within(1_000), OWN, call)).catch_unwind().await;
        assert!(ended.is_err());
        assert_eq!(health(&state).calls.error, 1);
    });
}

#[test]
fn latencies_are_of_the_last_calls_that_took_their_time() {
    run(async {
        let state = state();
        for took in 1..=100 {
            state.watch(within(1_000), OWN * 2, answers_after(took, SourcePage::default())).await.unwrap();
        }
        // A refusal says nothing of how long an answer takes.
        let refused = async { Err(SourceFailure::new(FailureKind::Unavailable, "refused")) };
        state.watch(within(1_000), OWN, refused).await.unwrap_err();
        assert_eq!(state.summary().latency_ms, Some(Latency { p50: 50, p90: 90, p99: 99 }));
        for _ in 0..crate::latencies::REMEMBERED {
            state.watch(within(1_000), OWN, answers_after(7, SourcePage::default())).await.unwrap();
        }
        assert_eq!(state.summary().latency_ms, Some(Latency { p50: 7, p90: 7, p99: 7 }));
    });
}

/// Gives a call up at its search's deadline.
async fn give_up(
    state: &Arc<SourceState>,
    own: Duration,
    call: impl Future<Output = Result<Arc<SourcePage>, SourceFailure>> + Send + 'static,
) {
    let deadline = within(50);
    let given_up = tokio::time::timeout_at(deadline, state.watch(deadline, own, call)).await;
    assert!(given_up.is_err());
}

#[test]
fn a_source_that_is_slower_than_the_deadline_but_answers_is_not_suspended() {
    run(async {
        let state = impatient_state();
        for _ in 0..10 {
            give_up(&state, OWN * 3, answers_after(200, SourcePage::default())).await;
        }
        tokio::time::sleep(OWN * 10).await;
        assert_eq!(suspended(&state), None);
        assert_eq!(health(&state).calls.timeout, 10, "each search is told of its own");
    });
}

#[test]
fn a_source_that_does_not_answer_within_its_own_limit_is_suspended_however_short_the_deadlines_are() {
    run(async {
        let state = impatient_state();
        give_up(&state, OWN * 3, std::future::pending()).await;
        assert_eq!(suspended(&state), None, "it has time left");
        tokio::time::sleep(OWN * 3).await;
        assert_eq!(suspended(&state), Some(FailureKind::Timeout));
        assert_eq!(health(&state).calls.timeout, 1, "one call is counted once");
        let call = async { panic!("a suspended source is not asked") };
        let refused = state.watch(within(1_000), OWN, call).await.unwrap_err();
        assert_eq!(refused.kind, FailureKind::Unavailable);
        assert!(refused.rest.is_some_and(|rest| rest.left > Duration::from_hours(23)), "{refused:?}");
        assert_eq!(health(&state).calls.unavailable, 0);
    });
}

/// Calls that go on without their search are bounded: one for each source.
#[test]
fn one_call_outlives_its_search_at_a_time() {
    run(async {
        let state = impatient_state();
        let (first, first_ended) = oneshot::channel::<()>();
        let (second, second_ended) = oneshot::channel::<()>();
        let holding = |alive: oneshot::Sender<()>| async move {
            let _alive = alive;
            std::future::pending().await
        };
        give_up(&state, OWN * 9, holding(first)).await;
        give_up(&state, OWN * 9, holding(second)).await;
        second_ended.await.unwrap_err();
        assert!(first_ended.now_or_never().is_none());
        tokio::time::sleep(OWN * 9).await;
        assert_eq!(suspended(&state), Some(FailureKind::Timeout));
        assert!(!state.lock().has_follower);
    });
}

/// A clock that stands still until it is moved.
#[derive(Default)]
struct StillClock(std::sync::atomic::AtomicI64);

impl Clock for StillClock {
    fn now(&self) -> i64 {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

fn suspended_by(clock: &Arc<StillClock>) -> Arc<SourceState> {
    Arc::new(SourceState::new(1, "x".to_owned(), impatient(), Arc::clone(clock) as Arc<dyn Clock>))
}

#[test]
fn a_probe_has_the_sources_whole_limit_and_gives_its_place_back_when_its_caller_goes_away() {
    run(async {
        let clock = Arc::new(StillClock::default());
        let state = suspended_by(&clock);
        state.watch(within(1_000), OWN, std::future::pending()).await.unwrap_err();
        clock.0.store(86_400_000, std::sync::atomic::Ordering::Relaxed);
        // The caller goes away.
        let probe = state.watch(within(1_000), OWN, std::future::pending());
        assert!(tokio::time::timeout(Duration::from_millis(50), probe).await.is_err());
        assert_eq!(state.summary().suspended.unwrap().times, 1);
        // The next one's search is over before the source answers.
        give_up(&state, OWN * 3, answers_after(200, SourcePage::default())).await;
        assert!(suspended(&state).is_some());
        state.watch(within(1_000), OWN, std::future::pending()).await.unwrap_err();
        assert_eq!(health(&state).calls.timeout, 2, "nobody else probes meanwhile");
        tokio::time::sleep(OWN * 3).await;
        assert_eq!(suspended(&state), None);
    });
}

#[test]
fn a_probe_that_panics_gives_its_place_back() {
    run(async {
        let clock = Arc::new(StillClock::default());
        let state = suspended_by(&clock);
        state.watch(within(1_000), OWN, std::future::pending()).await.unwrap_err();
        clock.0.store(86_400_000, std::sync::atomic::Ordering::Relaxed);
        let late = async {
            tokio::time::sleep(Duration::from_millis(70)).await;
            panic!("a source that fails inside the server")
        };
        give_up(&state, OWN * 3, late).await;
        tokio::time::sleep(OWN * 3).await;
        state.watch(within(1_000), OWN, answers_after(1, SourcePage::default())).await.unwrap();
        assert_eq!(suspended(&state), None);
    });
}

#[test]
fn the_metrics_count_what_is_suspended_now() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        let shows = |line: &str| handle.render().lines().any(|shown| shown == line);
        run(async {
            let (state, other) = (impatient_state(), impatient_state());
            for state in [&state, &other] {
                state.watch(within(1_000), OWN, std::future::pending()).await.unwrap_err();
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
