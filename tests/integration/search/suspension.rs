//! Suspension of failing sources. The suspension clock stands still until a test moves it.

use std::time::Duration;

use futures::{StreamExt, future::join_all, stream::FuturesUnordered};
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::Caller,
    eventually,
    external::{ExternalSystem, Reply, with},
    items::{NEW_YEAR, many},
};

const ALL: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "all")];
const X: &str = "/admin/v1/sources/x";

struct SuspendedSource {
    app: TestApp,
    acme: Application,
    operator: Caller,
    system: ExternalSystem,
    registration: Value,
}

impl SuspendedSource {
    async fn start() -> Self {
        Self::start_with(|_, registration| registration).await
    }

    async fn start_with(change: impl FnOnce(&ExternalSystem, Value) -> Value) -> Self {
        let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
        let (app, acme) = TestApp::start_with_acme().await;
        app.put_contents(&acme.caller, "article", &many("a", "harbour", 3, 1)).await;
        let registration = change(&system, system.registration("x"));
        app.register_source(&acme, registration.clone(), "all", &["builtin:article", "x"]).await;
        let operator = app.operator().await.caller.on("acme");
        Self { app, acme, operator, system, registration }
    }

    async fn search(&self) -> Answer {
        self.acme.caller.search(&ALL).await.ok()
    }

    async fn search_times(&self, count: usize) -> Vec<String> {
        let mut statuses = Vec::new();
        for _ in 0..count {
            let answer = self.search().await;
            statuses.push(answer.source("x")["status"].as_str().unwrap().to_owned());
        }
        statuses
    }

    async fn suspended(&self) -> Value {
        self.operator.get(&format!("{X}/health")).await.ok().data()["suspended"].clone()
    }

    fn pass(&self, milliseconds: i64) {
        self.app.clock.pass(Duration::from_millis(milliseconds.try_into().unwrap()));
    }

    /// Partial, without a call to the system, with a cursor to catch up.
    async fn assert_suspended(&self, cause: &str, times: u32) -> Value {
        let asked = self.system.requests().len();
        let answer = self.search().await;
        assert_eq!(answer.ids(), ["a00000", "a00001", "a00002"], "{}", answer.text);
        assert_eq!((answer.total(), &answer.body["partial"]), (3, &json!(true)), "{}", answer.text);
        assert!(answer.cursor().is_some(), "no cursor to catch the system up");
        let report = answer.source("x").clone();
        assert_eq!(report["status"], "unavailable", "{report}");
        let message = report["message"].as_str().unwrap();
        assert!(message.starts_with("not asked: suspended because"), "{message}");
        assert!(message.ends_with(&format!("suspensions in a row: {times}")), "{message}");
        assert_eq!(self.system.requests().len(), asked, "the system was called");
        let suspended = self.suspended().await;
        assert_eq!(suspended, json!({"until": report["retryAt"], "cause": cause, "times": times}));
        suspended
    }

    /// Suspends the system for a second and passes it.
    async fn make_due_for_a_probe(&self) {
        self.system.set_reply(Reply::Status(503));
        assert_eq!(self.search_times(3).await, ["unavailable"; 3]);
        assert_eq!(self.suspended().await["times"], 1);
        self.system.set_reply(Reply::Good);
        self.pass(60_000);
    }
}

#[tokio::test]
async fn every_cause_has_its_threshold_and_first_pause() {
    for (reply, cause, failures, pause) in [
        (Reply::Status(503), "unavailable", 3, 1_000),
        (Reply::Status(401), "unauthorized", 2, 5_000),
        (Reply::Status(500), "error", 5, 1_000),
        (Reply::Status(404), "error", 5, 1_000),
        (Reply::Body(r#"{"code":500,"message":"out of order"}"#.to_owned()), "error", 5, 1_000),
        (Reply::Body("<html>".to_owned()), "invalid", 5, 5_000),
        (Reply::Silent, "timeout", 5, 1_000),
    ] {
        // Long enough for the call to arrive on a busy machine.
        let timeout = if reply == Reply::Silent { 500 } else { 10_000 };
        let own_limit = |_: &ExternalSystem, registration| with(registration, "timeoutMs", timeout);
        let setup = SuspendedSource::start_with(own_limit).await;
        setup.system.set_reply(reply);
        assert_eq!(setup.search_times(failures).await, vec![cause; failures]);
        assert_eq!(setup.system.requests().len(), failures);
        let suspended = setup.assert_suspended(cause, 1).await;
        let until = suspended["until"].as_i64().unwrap() - NEW_YEAR;
        assert!((pause..=pause * 5 / 4).contains(&until), "{until}");
        setup.pass(until - 1);
        setup.assert_suspended(cause, 1).await;
        setup.pass(1);
        assert_eq!(setup.search_times(1).await, [cause]);
        assert_eq!(setup.system.requests().len(), failures + 1);
        let again = setup.assert_suspended(cause, 2).await;
        let further = again["until"].as_i64().unwrap() - NEW_YEAR - until;
        assert!((pause * 2..=pause * 5 / 2).contains(&further), "{further}");
    }
}

#[tokio::test]
async fn refused_credentials_suspend_after_two_attempts() {
    let refused = |system: &ExternalSystem, registration| {
        system.refuse_tokens();
        with(registration, "auth", system.credentials())
    };
    let setup = SuspendedSource::start_with(refused).await;
    assert_eq!(setup.search_times(2).await, ["unauthorized"; 2]);
    setup.assert_suspended("unauthorized", 1).await;
}

#[tokio::test]
async fn retry_after_suspends_from_the_first_failure() {
    for status in [429, 503] {
        let setup = SuspendedSource::start().await;
        setup.system.set_reply(Reply::RetryAfter(status, 90));
        assert_eq!(setup.search_times(1).await, ["unavailable"]);
        let suspended = setup.assert_suspended("unavailable", 1).await;
        assert_eq!(suspended["until"], NEW_YEAR + 90_000);
        setup.system.set_reply(Reply::Good);
        setup.pass(89_999);
        setup.assert_suspended("unavailable", 1).await;
        setup.pass(1);
        assert_eq!(setup.search().await.total(), 6);
    }
}

#[tokio::test]
async fn suspended_source_does_not_delay_the_others() {
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await.caller.on("acme");
    let names: Vec<String> = (0..10).map(|number| format!("s{number}")).collect();
    let mut systems = Vec::new();
    for name in &names {
        let system = ExternalSystem::start(many(name, "harbour", 3, 1)).await;
        operator.post("/admin/v1/sources", &system.registration(name)).await.ok();
        systems.push(system);
    }
    let module = json!({"code": "all", "name": "All", "type": 100, "sources": names});
    operator.post("/admin/v1/modules", &module).await.ok();
    systems[4].set_reply(Reply::RetryAfter(503, 60));
    acme.caller.search(&ALL).await.ok();
    systems[4].set_reply(Reply::Silent);
    for _ in 0..5 {
        let parameters = [ALL[0], ALL[1], ("limit", "100")];
        let answer = acme.caller.search(&parameters).await.ok();
        assert_eq!((answer.items().len(), answer.total()), (27, 27));
        assert_eq!(answer.source("s4")["retryAt"], NEW_YEAR + 60_000);
    }
    let asked: Vec<usize> = systems.iter().map(|system| system.requests().len()).collect();
    assert_eq!(asked, [6, 6, 6, 6, 1, 6, 6, 6, 6, 6]);
}

#[tokio::test]
async fn answer_has_retry_after_when_all_are_suspended() {
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await.caller.on("acme");
    let (one, two) = (ExternalSystem::start(Vec::new()).await, ExternalSystem::start(Vec::new()).await);
    let disabled = with(one.registration("off"), "enabled", false);
    for registration in [one.registration("one"), two.registration("two"), disabled] {
        operator.post("/admin/v1/sources", &registration).await.ok();
    }
    let module = json!({"code": "all", "name": "All", "type": 100, "sources": ["one", "two", "off"]});
    operator.post("/admin/v1/modules", &module).await.ok();
    one.set_reply(Reply::RetryAfter(503, 90));
    two.set_reply(Reply::Status(500));
    // One of the sources can be called at once.
    let failed = acme.caller.search(&ALL).await.fails_without_sources(502);
    assert_eq!(failed.header("retry-after"), "");
    let failed = acme.caller.search(&ALL).await.fails_without_sources(502);
    assert_eq!((failed.header("retry-after"), &failed.source("two")["status"]), ("", &json!("error")));
    two.set_reply(Reply::RetryAfter(429, 30));
    acme.caller.search(&ALL).await.fails_without_sources(502);

    let both = acme.caller.search(&ALL).await.fails_without_sources(502);
    assert_eq!(both.header("retry-after"), "30");
    assert_eq!(both.source("one")["retryAt"], NEW_YEAR + 90_000);
    assert_eq!(both.source("two")["retryAt"], NEW_YEAR + 30_000);
    assert_eq!(both.source("off")["retryAt"], Value::Null);
    app.clock.pass(Duration::from_millis(29_500));
    assert_eq!(acme.caller.search(&ALL).await.fails_without_sources(502).header("retry-after"), "1");
    assert_eq!((one.requests().len(), two.requests().len()), (1, 3));
}

#[tokio::test]
async fn concurrent_searches_send_one_probe() {
    let setup = SuspendedSource::start().await;
    setup.make_due_for_a_probe().await;
    let asked = setup.system.requests().len();
    setup.system.hold_answers();
    let mut searches: FuturesUnordered<_> = (0..50).map(|_| setup.search()).collect();
    for _ in 0..49 {
        let answer = searches.next().await.unwrap();
        assert_eq!((answer.total(), &answer.source("x")["status"]), (3, &json!("unavailable")));
        assert!(answer.source("x")["retryAt"].is_i64(), "{}", answer.text);
    }
    assert_eq!(setup.system.requests().len(), asked + 1);
    setup.system.release_answers();
    let probe = searches.next().await.unwrap();
    assert_eq!((probe.total(), &probe.body["partial"]), (6, &json!(false)));
    assert_eq!(setup.suspended().await, Value::Null);
    for answer in join_all((0..5).map(|_| setup.search())).await {
        assert_eq!(answer.total(), 6);
    }
    // Concurrent searches may share a call.
    assert!((asked + 2..=asked + 6).contains(&setup.system.requests().len()));
}

#[tokio::test]
async fn probe_of_a_disconnected_caller_passes_to_the_next() {
    let setup = SuspendedSource::start().await;
    setup.make_due_for_a_probe().await;
    let asked = setup.system.requests().len();
    setup.system.hold_answers();
    let caller = setup.acme.caller.clone();
    let probe = tokio::spawn(async move { caller.search(&ALL).await });
    let probes = || setup.system.requests().len() - asked;
    eventually("the probe", async || (probes() == 1).then_some(())).await;
    probe.abort();
    assert!(probe.await.unwrap_err().is_cancelled());
    // No caller has received an answer of the source yet.
    let hurry = [ALL[0], ALL[1], ("timeout", "50")];
    eventually("the next probe", async || {
        setup.acme.caller.search(&hurry).await;
        (probes() == 2).then_some(())
    })
    .await;
    setup.system.release_answers();
    eventually("the source's return", async || (setup.search().await.total() == 6).then_some(())).await;
    assert_eq!(probes(), 3);
}

#[tokio::test]
async fn probe_outlives_its_search() {
    let setup = SuspendedSource::start().await;
    setup.make_due_for_a_probe().await;
    let asked = setup.system.requests().len();
    setup.system.hold_answers();
    let hurry = [ALL[0], ALL[1], ("timeout", "50")];
    eventually("the probe", async || {
        let hurried = setup.acme.caller.search(&hurry).await;
        assert_eq!(hurried.source("x")["status"], "timeout", "{}", hurried.text);
        (setup.system.requests().len() == asked + 1).then_some(())
    })
    .await;
    assert_eq!(setup.search().await.source("x")["status"], "unavailable", "a second probe was sent");
    setup.system.release_answers();
    eventually("the source's return", async || setup.suspended().await.is_null().then_some(())).await;
    assert_eq!(setup.search().await.total(), 6);
    assert_eq!(setup.system.requests().len(), asked + 2);
}

/// A short deadline must not suspend the source for patient callers.
#[tokio::test]
async fn source_slower_than_the_deadline_is_not_suspended() {
    let setup = SuspendedSource::start().await;
    setup.system.hold_answers();
    let hurry = [ALL[0], ALL[1], ("timeout", "50")];
    for answer in join_all((0..10).map(|_| setup.acme.caller.search(&hurry))).await {
        assert_eq!(answer.source("x")["status"], "timeout", "{}", answer.text);
    }
    assert_eq!(setup.suspended().await, Value::Null);
    setup.system.release_answers();
    assert_eq!(setup.search().await.total(), 6);
}

/// Neither do expired cursors.
#[tokio::test]
async fn usable_answers_do_not_suspend_the_source() {
    let setup = SuspendedSource::start_with(|_, registration| with(registration, "pageSize", 2)).await;
    setup.system.set_reply(Reply::Disordered);
    assert_eq!(setup.search_times(7).await, ["invalid"; 7]);
    setup.system.set_reply(Reply::Good);
    for refusal in [400, 404, 410, 422] {
        setup.system.set_reply_at(Some(("2", Reply::Status(refusal))));
        assert_eq!(setup.search_times(7).await, ["error"; 7]);
    }
    let gone = Reply::Body(r#"{"code":410,"message":"gone"}"#.to_owned());
    setup.system.set_reply_at(Some(("2", gone)));
    assert_eq!(setup.search_times(7).await, ["error"; 7]);
    assert_eq!(setup.suspended().await, Value::Null);
}

/// Paging catches up.
#[tokio::test]
async fn items_of_a_suspended_source_come_later() {
    let setup = SuspendedSource::start().await;
    setup.system.set_reply(Reply::RetryAfter(503, 60));
    setup.search().await;
    let page = async |next: (&str, &str), limit| {
        setup.acme.caller.search(&[ALL[0], ALL[1], ("limit", limit), next]).await
    };
    let first = page(("paging", "cursor"), "2").await.ok();
    assert_eq!((first.ids(), &first.body["partial"]), (vec!["a00000", "a00001"], &json!(true)));
    let second = page(("cursor", &first.cursor().unwrap()), "2").await.ok();
    assert_eq!((second.ids(), &second.body["partial"]), (vec!["a00002"], &json!(true)));
    // Only the suspended source has items left, so this is an error.
    let cursor = second.cursor().unwrap();
    let too_early = page(("cursor", &cursor), "10").await.fails_without_sources(502);
    assert_eq!(too_early.header("retry-after"), "60");
    setup.system.set_reply(Reply::Good);
    setup.pass(60_000);
    let caught_up = page(("cursor", &cursor), "10").await.ok();
    assert_eq!(caught_up.ids(), ["x00000", "x00001", "x00002"]);
    assert_eq!((caught_up.cursor(), &caught_up.body["partial"]), (None, &json!(false)));
}

/// A disabled source stays disabled.
#[tokio::test]
async fn new_registration_ends_a_suspension() {
    let setup = SuspendedSource::start().await;
    setup.system.set_reply(Reply::Status(401));
    setup.search_times(2).await;
    let suspended = setup.assert_suspended("unauthorized", 1).await;
    let listed = setup.operator.get("/admin/v1/sources").await.ok();
    assert_eq!(listed.items()[0]["health"]["suspended"], suspended);
    assert_eq!(listed.items()[0]["health"]["status"], "unauthorized");
    setup.system.set_reply(Reply::Good);
    let put = async |registration: &Value| setup.operator.put(X, registration).await.ok();
    assert_eq!(put(&setup.registration).await.data()["health"]["suspended"], Value::Null);
    assert_eq!(setup.search().await.total(), 6);

    setup.system.set_reply(Reply::RetryAfter(503, 60));
    setup.search().await;
    put(&with(setup.registration.clone(), "enabled", false)).await;
    setup.pass(60_000);
    let asked = setup.system.requests().len();
    let answer = setup.search().await;
    assert_eq!(answer.source("x")["message"], "disabled by the operator");
    assert_eq!(answer.source("x")["retryAt"], Value::Null);
    assert_eq!((setup.system.requests().len(), setup.suspended().await), (asked, Value::Null));
}

/// The cause may contain another caller's data.
#[tokio::test]
async fn suspension_reveals_nothing_of_other_searches() {
    let setup = SuspendedSource::start().await;
    let quoting = r#"{"code":500,"message":"no index for unmentionable"}"#;
    setup.system.set_reply(Reply::Body(quoting.to_owned()));
    for _ in 0..5 {
        let parameters = [("keyword", "unmentionable harbour"), ALL[1]];
        let answer = setup.acme.caller.search(&parameters).await.ok();
        assert!(answer.source("x")["message"].as_str().unwrap().contains("unmentionable"));
    }
    setup.assert_suspended("error", 1).await;
    let answer = setup.search().await;
    assert!(!answer.text.contains("unmentionable"), "{}", answer.text);
    let metrics = setup.acme.caller.get("/metrics").await.text;
    for name in ["trawl_sources_suspended ", "trawl_source_suspensions_total{cause=\"error\"}"] {
        assert!(metrics.contains(name), "no {name} in {metrics}");
    }
    assert!(!metrics.contains("unmentionable"));
}
