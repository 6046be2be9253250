//! Suspension of failing sources. The suspension clock stands still until a test moves it.

use std::time::Duration;

use futures::{StreamExt, stream::FuturesUnordered};
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
        let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
        let (app, acme) = TestApp::start_with_acme().await;
        app.put_contents(&acme.caller, "article", &many("a", "harbour", 3, 1)).await;
        let registration = with(system.registration("x"), "pageSize", 2);
        let operator = app.operator().await.caller.on("acme");
        operator.register_source(&registration, "all", &["builtin:article", "x"]).await;
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
    async fn assert_suspended(&self, cause: &str) -> Value {
        let asked = self.system.requests().len();
        let answer = self.search().await;
        assert_eq!(answer.ids(), ["a00000", "a00001", "a00002"], "{}", answer.text);
        assert_eq!((answer.total(), &answer.body["partial"]), (3, &json!(true)), "{}", answer.text);
        assert!(answer.cursor().is_some(), "no cursor to catch the system up");
        let report = answer.source("x").clone();
        assert_eq!(report["status"], "unavailable", "{report}");
        let message = report["message"].as_str().unwrap();
        assert!(message.starts_with("not asked: suspended because"), "{message}");
        assert!(message.ends_with("suspensions in a row: 1"), "{message}");
        assert_eq!(self.system.requests().len(), asked, "the system was called");
        let suspended = self.suspended().await;
        assert_eq!(suspended, json!({"until": report["retryAt"], "cause": cause, "times": 1}));
        suspended
    }

    /// Suspends the system and passes the pause.
    async fn make_due_for_a_probe(&self) {
        self.system.set_reply(Reply::Status(503));
        assert_eq!(self.search_times(3).await, ["unavailable"; 3]);
        self.system.set_reply(Reply::Good);
        let until = self.assert_suspended("unavailable").await["until"].as_i64().unwrap();
        assert!((1_000..=1_250).contains(&(until - NEW_YEAR)), "{until}");
        self.pass(until - NEW_YEAR - 1);
        self.assert_suspended("unavailable").await;
        self.pass(1);
    }
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
    operator.register_module("all", &["one", "two", "off"]).await;
    one.set_reply(Reply::RetryAfter(503, 90));
    two.set_reply(Reply::Status(500));
    acme.caller.search(&ALL).await.fails_without_sources(502);
    // One of the sources can be called at once.
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
    assert_eq!(setup.search().await.total(), 6);
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
        // The probe may be under way before it is received.
        let status = hurried.source("x")["status"].as_str().unwrap();
        assert!(["timeout", "unavailable"].contains(&status), "{}", hurried.text);
        (setup.system.requests().len() == asked + 1).then_some(())
    })
    .await;
    assert_eq!(setup.search().await.source("x")["status"], "unavailable", "a second probe was sent");
    setup.system.release_answers();
    eventually("the source's return", async || setup.suspended().await.is_null().then_some(())).await;
    assert_eq!(setup.search().await.total(), 6);
}

/// Neither do expired cursors.
#[tokio::test]
async fn usable_answers_do_not_suspend_the_source() {
    let setup = SuspendedSource::start().await;
    setup.system.set_reply(Reply::Disordered);
    assert_eq!(setup.search_times(7).await, ["invalid"; 7]);
    setup.system.set_reply(Reply::Good);
    setup.system.set_reply_at(Some(("2", Reply::Status(410))));
    assert_eq!(setup.search_times(7).await, ["ok"; 7]);
    assert_eq!(setup.suspended().await, Value::Null);
}

/// A disabled source stays disabled.
#[tokio::test]
async fn new_registration_ends_a_suspension() {
    let setup = SuspendedSource::start().await;
    setup.system.set_reply(Reply::Status(401));
    setup.search_times(2).await;
    let suspended = setup.assert_suspended("unauthorized").await;
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
    setup.assert_suspended("error").await;
    let answer = setup.search().await;
    assert!(!answer.text.contains("unmentionable"), "{}", answer.text);
    let metrics = setup.acme.caller.get("/metrics").await.text;
    for name in ["trawl_sources_suspended ", "trawl_source_suspensions_total{cause=\"error\"}"] {
        assert!(metrics.contains(name), "no {name} in {metrics}");
    }
    assert!(!metrics.contains("unmentionable"));
}
