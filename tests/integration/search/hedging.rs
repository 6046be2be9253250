//! Hedged requests.

use serde_json::Value;

use crate::util::{
    app::{Application, TestApp, disable_suspension},
    caller::Caller,
    external::{ExternalSystem, Reply, with},
    items::many,
};

/// Unhedged calls until latencies are known.
const KNOWN: usize = 32;
const EARNING: usize = 20;
/// Milliseconds for searches that are not answered in full.
const SHORT: &str = "300";
const X: &str = "/admin/v1/sources/x";

struct HedgedSource {
    acme: Application,
    operator: Caller,
    system: ExternalSystem,
    registration: Value,
}

impl HedgedSource {
    async fn start(calls: usize, change: impl FnOnce(Value) -> Value) -> Self {
        let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
        let app = TestApp::start_with(disable_suspension).await;
        let acme = app.tenant("acme").await;
        let registration = change(with(system.registration("x"), "hedging", true));
        app.register_source(&acme, registration.clone(), "all", &["x"]).await;
        let operator = app.operator().await.caller.on("acme");
        let setup = Self { acme, operator, system, registration };
        for _ in 0..calls {
            assert_eq!(setup.search("10000").await, 200);
        }
        setup
    }

    async fn search(&self, timeout: &str) -> u16 {
        let parameters = [("keyword", "harbour"), ("moduleId", "all"), ("timeout", timeout)];
        self.acme.caller.search(&parameters).await.status
    }

    async fn hedges(&self) -> [u64; 2] {
        let hedges = self.operator.get(&format!("{X}/health")).await.ok().data()["hedges"].clone();
        ["sent", "won"].map(|name| hedges[name].as_u64().unwrap())
    }
}

#[tokio::test]
async fn unanswered_request_is_overtaken_by_its_hedge() {
    let setup = HedgedSource::start(KNOWN, |registration| registration).await;
    setup.system.ignore_next(1);
    assert_eq!(setup.search("10000").await, 200);
    assert_eq!((setup.system.requests().len(), setup.hedges().await), (KNOWN + 2, [1, 1]));
}

#[tokio::test]
async fn hedging_is_off_unless_registered() {
    let setup = HedgedSource::start(KNOWN, |registration| with(registration, "hedging", false)).await;
    setup.system.ignore_next(1);
    assert_eq!(setup.search(SHORT).await, 504);
    assert_eq!((setup.system.requests().len(), setup.hedges().await), (KNOWN + 1, [0, 0]));
    let hedged = with(setup.registration.clone(), "hedging", true);
    setup.operator.put(X, &hedged).await.ok();
    for _ in 1..EARNING {
        assert_eq!(setup.search("10000").await, 200);
    }
    setup.system.ignore_next(1);
    assert_eq!((setup.search("10000").await, setup.hedges().await), (200, [1, 1]));
}

#[tokio::test]
async fn source_with_unknown_latencies_is_not_hedged() {
    let setup = HedgedSource::start(KNOWN - 1, |registration| registration).await;
    setup.system.ignore_next(1);
    assert_eq!(setup.search(SHORT).await, 504);
    assert_eq!((setup.system.requests().len(), setup.hedges().await), (KNOWN, [0, 0]));
}

#[tokio::test]
async fn failing_source_is_not_hedged() {
    let setup = HedgedSource::start(KNOWN, |registration| registration).await;
    setup.system.set_reply(Reply::Status(500));
    assert_eq!(setup.search("10000").await, 502);
    setup.system.set_reply(Reply::Good);
    let before = (setup.system.requests().len(), setup.hedges().await);
    setup.system.ignore_next(1);
    assert_eq!(setup.search(SHORT).await, 504);
    assert_eq!((setup.system.requests().len(), setup.hedges().await), (before.0 + 1, before.1));
}

#[tokio::test]
async fn source_without_free_permits_is_not_hedged() {
    let one = |registration| with(registration, "maxConcurrency", 1);
    let setup = HedgedSource::start(KNOWN, one).await;
    setup.system.ignore_next(1);
    assert_eq!(setup.search(SHORT).await, 504);
    assert_eq!((setup.system.requests().len(), setup.hedges().await), (KNOWN + 1, [0, 0]));
}

#[tokio::test]
async fn hedges_are_at_most_one_in_twenty_calls() {
    let setup = HedgedSource::start(KNOWN, |registration| registration).await;
    let calls = 2 * EARNING;
    for _ in KNOWN..calls {
        setup.system.ignore_next(2);
        // A new registration is waited for again.
        setup.operator.put(X, &setup.registration).await.ok();
        assert_eq!(setup.search("1000").await, 504);
    }
    assert_eq!((setup.system.requests().len(), setup.hedges().await), (calls + 2, [2, 0]));
}
