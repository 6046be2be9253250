//! Hedged requests.

use crate::util::{
    app::{TestApp, disable_suspension},
    external::{ExternalSystem, with},
    items::many,
};

/// Unhedged calls until latencies are known.
const KNOWN: usize = 32;
/// Hedged calls that earn a second request.
const EARNING: usize = 20;

#[tokio::test]
async fn unanswered_request_is_overtaken_once_hedging_is_registered() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let app = TestApp::start_with(disable_suspension).await;
    let caller = app.tenant("acme").await.caller;
    let operator = app.operator().await.caller.on("acme");
    operator.register_source(&system.registration("x"), "all", &["x"]).await;
    let search = async |timeout: &str| {
        caller.search(&[("keyword", "harbour"), ("moduleId", "all"), ("timeout", timeout)]).await.status
    };
    let hedges = async || {
        let hedges = operator.get("/admin/v1/sources/x/health").await.ok().data()["hedges"].clone();
        ["sent", "won"].map(|name| hedges[name].as_u64().unwrap())
    };
    for _ in 0..KNOWN {
        assert_eq!(search("10000").await, 200);
    }
    system.ignore_next(1);
    assert_eq!(search("2000").await, 504);
    assert_eq!((system.requests().len(), hedges().await), (KNOWN + 1, [0, 0]), "it is not registered");

    let with_hedging = with(system.registration("x"), "hedging", true);
    // A second request of the first one would wait for its permit.
    for (max_concurrency, timeout, status, sent) in [(1, "2000", 504, 0), (8, "10000", 200, 1)] {
        let registration = with(with_hedging.clone(), "maxConcurrency", max_concurrency);
        operator.put("/admin/v1/sources/x", &registration).await.ok();
        // On a busy machine a call may be late, and spend what the others earned.
        let mut earlier = [u64::MAX; 2];
        while earlier != hedges().await {
            earlier = hedges().await;
            for _ in 1..EARNING {
                assert_eq!(search("10000").await, 200);
            }
        }
        let before = system.requests().len();
        system.ignore_next(1);
        assert_eq!(search(timeout).await, status, "{max_concurrency}");
        let requests = before + 1 + usize::try_from(sent).unwrap();
        let now = earlier.map(|earlier| earlier + sent);
        assert_eq!((system.requests().len(), hedges().await), (requests, now));
    }
}
