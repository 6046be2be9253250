//! A late answer of a source is asked for once more where its registration says so, at most in 5 % of its calls, and never
//! while it fails.

use serde_json::Value;

use crate::util::{
    app::{Application, TestApp, never_suspend},
    caller::Caller,
    external::{ExternalSystem, Mood, with},
    items::many,
};

/// Calls after which it is known what is late; none of them is asked for twice.
const KNOWN: usize = 32;
/// Calls that earn a second request.
const EARNING: usize = 20;
/// The deadline of searches that are not answered in full, in milliseconds.
const SHORT: &str = "300";
const X: &str = "/admin/v1/sources/x";

/// A module of the system `x` alone.
struct Landscape {
    acme: Application,
    operator: Caller,
    system: ExternalSystem,
    registration: Value,
}

impl Landscape {
    /// With a registration that was changed in this way, and so many answered calls.
    async fn start(calls: usize, change: impl FnOnce(Value) -> Value) -> Self {
        let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
        let app = TestApp::start_with(never_suspend).await;
        let acme = app.tenant("acme").await;
        let registration = change(with(system.registration("x"), "hedging", true));
        app.show(&acme, registration.clone(), "all", &["x"]).await;
        let operator = app.operator().await.caller.on("acme");
        let landscape = Self { acme, operator, system, registration };
        for _ in 0..calls {
            assert_eq!(landscape.search("10000").await, 200);
        }
        landscape
    }

    /// The status of one search with this deadline.
    async fn search(&self, timeout: &str) -> u16 {
        let parameters = [("keyword", "harbour"), ("moduleId", "all"), ("timeout", timeout)];
        self.acme.caller.search(&parameters).await.status
    }

    /// How many second requests its health tells of: sent, and answered first.
    async fn hedges(&self) -> [u64; 2] {
        let hedges = self.operator.get(&format!("{X}/health")).await.ok().data()["hedges"].clone();
        ["sent", "won"].map(|name| hedges[name].as_u64().unwrap())
    }
}

#[tokio::test]
async fn a_request_without_an_answer_is_overtaken_by_a_second_one() {
    let landscape = Landscape::start(KNOWN, |registration| registration).await;
    // The first request is never answered, so that only the second one can have been.
    landscape.system.swallow_next(1);
    assert_eq!(landscape.search("10000").await, 200);
    assert_eq!((landscape.system.asked().len(), landscape.hedges().await), (KNOWN + 2, [1, 1]));
}

#[tokio::test]
async fn no_second_request_is_sent_unless_the_registration_says_so() {
    let landscape = Landscape::start(KNOWN, |registration| with(registration, "hedging", false)).await;
    landscape.system.swallow_next(1);
    assert_eq!(landscape.search(SHORT).await, 504);
    assert_eq!((landscape.system.asked().len(), landscape.hedges().await), (KNOWN + 1, [0, 0]));
    // From the answer of the change on they are, once they are earned.
    let hedged = with(landscape.registration.clone(), "hedging", true);
    landscape.operator.put(X, &hedged).await.ok();
    for _ in 1..EARNING {
        assert_eq!(landscape.search("10000").await, 200);
    }
    landscape.system.swallow_next(1);
    assert_eq!((landscape.search("10000").await, landscape.hedges().await), (200, [1, 1]));
}

#[tokio::test]
async fn before_its_latencies_are_known_no_source_is_asked_twice() {
    let landscape = Landscape::start(KNOWN - 1, |registration| registration).await;
    landscape.system.swallow_next(1);
    assert_eq!(landscape.search(SHORT).await, 504);
    assert_eq!((landscape.system.asked().len(), landscape.hedges().await), (KNOWN, [0, 0]));
}

#[tokio::test]
async fn a_failing_source_is_not_asked_twice() {
    let landscape = Landscape::start(KNOWN, |registration| registration).await;
    landscape.system.set_mood(Mood::Status(500));
    assert_eq!(landscape.search("10000").await, 502);
    landscape.system.set_mood(Mood::Good);
    let before = (landscape.system.asked().len(), landscape.hedges().await);
    landscape.system.swallow_next(1);
    assert_eq!(landscape.search(SHORT).await, 504);
    assert_eq!((landscape.system.asked().len(), landscape.hedges().await), (before.0 + 1, before.1));
}

#[tokio::test]
async fn a_source_whose_calls_are_all_taken_is_not_asked_twice() {
    let one = |registration| with(registration, "maxConcurrency", 1);
    let landscape = Landscape::start(KNOWN, one).await;
    landscape.system.swallow_next(1);
    assert_eq!(landscape.search(SHORT).await, 504);
    assert_eq!((landscape.system.asked().len(), landscape.hedges().await), (KNOWN + 1, [0, 0]));
}

#[tokio::test]
async fn second_requests_are_at_most_one_in_twenty_calls() {
    let landscape = Landscape::start(KNOWN, |registration| registration).await;
    let calls = 2 * EARNING;
    for _ in KNOWN..calls {
        // Neither of two requests is answered.
        landscape.system.swallow_next(2);
        assert_eq!(landscape.search("100").await, 504);
    }
    assert_eq!((landscape.system.asked().len(), landscape.hedges().await), (calls + 2, [2, 0]));
}
