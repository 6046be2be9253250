//! Failing sources are left alone, by cause and for growing pauses, and come back by one probe (decisions 6.3).
//!
//! The clock of suspensions stands still until a test moves it.

use std::time::Duration;

use futures::{StreamExt, future::join_all, stream::FuturesUnordered};
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::Caller,
    eventually,
    external::{ExternalSystem, Mood, with},
    items::{NEW_YEAR, many},
};

const ALL: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "all")];
const X: &str = "/admin/v1/sources/x";

/// Three articles beside the system, which is `x`.
struct Landscape {
    app: TestApp,
    acme: Application,
    operator: Caller,
    system: ExternalSystem,
    registration: Value,
}

impl Landscape {
    async fn start() -> Self {
        Self::start_with(|_, registration| registration).await
    }

    /// With another registration.
    async fn start_with(change: impl FnOnce(&ExternalSystem, Value) -> Value) -> Self {
        let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
        let app = TestApp::start().await;
        let acme = app.tenant("acme").await;
        app.keep(&acme.caller, "article", &many("a", "harbour", 3, 1)).await;
        let registration = change(&system, system.registration("x"));
        app.show(&acme, registration.clone(), "all", &["builtin:article", "x"]).await;
        let operator = app.operator().await.caller.on("acme");
        Self { app, acme, operator, system, registration }
    }

    async fn search(&self) -> Answer {
        self.acme.caller.search(&ALL).await.ok()
    }

    /// The status of the system in as many searches, one after another.
    async fn search_times(&self, count: usize) -> Vec<String> {
        let mut statuses = Vec::new();
        for _ in 0..count {
            let answer = self.search().await;
            statuses.push(answer.source("x")["status"].as_str().unwrap().to_owned());
        }
        statuses
    }

    /// What the health of the system says of its suspension.
    async fn suspended(&self) -> Value {
        self.operator.get(&format!("{X}/health")).await.ok().data()["suspended"].clone()
    }

    fn pass(&self, milliseconds: i64) {
        self.app.clock.pass(Duration::from_millis(milliseconds.try_into().unwrap()));
    }

    /// One page beside which the system was left alone: partial, with the way to catch up, and no call.
    async fn leaves_it_alone(&self, cause: &str, times: u32) -> Value {
        let asked = self.system.asked().len();
        let answer = self.search().await;
        assert_eq!(answer.ids(), ["a00000", "a00001", "a00002"], "{}", answer.text);
        assert_eq!((answer.total(), &answer.body["partial"]), (3, &json!(true)), "{}", answer.text);
        assert!(answer.cursor().is_some(), "what the system has could not be caught up with");
        let report = answer.source("x").clone();
        assert_eq!(report["status"], "unavailable", "{report}");
        let message = report["message"].as_str().unwrap();
        assert!(message.starts_with("not asked: suspended because"), "{message}");
        assert!(message.ends_with(&format!("suspensions in a row: {times}")), "{message}");
        assert_eq!(self.system.asked().len(), asked, "it was asked");
        let suspended = self.suspended().await;
        assert_eq!(suspended, json!({"until": report["retryAt"], "cause": cause, "times": times}));
        suspended
    }

    /// Suspends the system for a second or so, and lets that pass.
    async fn is_due_for_a_probe(&self) {
        self.system.set_mood(Mood::Status(503));
        assert_eq!(self.search_times(3).await, ["unavailable"; 3]);
        assert_eq!(self.suspended().await["times"], 1);
        self.system.set_mood(Mood::Good);
        self.pass(60_000);
    }
}

#[tokio::test]
async fn each_cause_has_its_patience_and_its_first_pause() {
    for (mood, cause, failures, pause) in [
        (Mood::Status(503), "unavailable", 3, 1_000),
        (Mood::Status(401), "unauthorized", 2, 5_000),
        (Mood::Status(500), "error", 5, 1_000),
        (Mood::Status(404), "error", 5, 1_000),
        (Mood::Body(r#"{"code":500,"message":"out of order"}"#.to_owned()), "error", 5, 1_000),
        (Mood::Body("<html>".to_owned()), "invalid", 5, 5_000),
        (Mood::Silent, "timeout", 5, 1_000),
    ] {
        let timeout = if mood == Mood::Silent { 50 } else { 10_000 };
        let own_limit = |_: &ExternalSystem, registration| with(registration, "timeoutMs", timeout);
        let landscape = Landscape::start_with(own_limit).await;
        landscape.system.set_mood(mood);
        assert_eq!(landscape.search_times(failures).await, vec![cause; failures]);
        assert_eq!(landscape.system.asked().len(), failures);
        let suspended = landscape.leaves_it_alone(cause, 1).await;
        let until = suspended["until"].as_i64().unwrap() - NEW_YEAR;
        assert!((pause..=pause * 5 / 4).contains(&until), "{until}");
        landscape.pass(until - 1);
        landscape.leaves_it_alone(cause, 1).await;
        // The probe fails too, and the pause grows.
        landscape.pass(1);
        assert_eq!(landscape.search_times(1).await, [cause]);
        assert_eq!(landscape.system.asked().len(), failures + 1);
        let again = landscape.leaves_it_alone(cause, 2).await;
        let further = again["until"].as_i64().unwrap() - NEW_YEAR - until;
        assert!((pause * 2..=pause * 5 / 2).contains(&further), "{further}");
    }
}

#[tokio::test]
async fn an_identity_that_the_token_endpoint_refuses_costs_it_two_attempts() {
    let refused = |system: &ExternalSystem, registration| {
        system.refuse_tokens();
        with(registration, "auth", system.credentials())
    };
    let landscape = Landscape::start_with(refused).await;
    assert_eq!(landscape.search_times(2).await, ["unauthorized"; 2]);
    landscape.leaves_it_alone("unauthorized", 1).await;
}

#[tokio::test]
async fn retry_after_holds_from_the_first_failure_on() {
    for status in [429, 503] {
        let landscape = Landscape::start().await;
        landscape.system.set_mood(Mood::RetryAfter(status, 90));
        assert_eq!(landscape.search_times(1).await, ["unavailable"]);
        let suspended = landscape.leaves_it_alone("unavailable", 1).await;
        assert_eq!(suspended["until"], NEW_YEAR + 90_000);
        landscape.system.set_mood(Mood::Good);
        landscape.pass(89_999);
        landscape.leaves_it_alone("unavailable", 1).await;
        landscape.pass(1);
        assert_eq!(landscape.search().await.total(), 6);
    }
}

/// Nobody waits for a suspended source: it is not called, whatever it would do.
#[tokio::test]
async fn the_others_go_on_as_if_it_were_not_there() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
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
    systems[4].set_mood(Mood::RetryAfter(503, 60));
    acme.caller.search(&ALL).await.ok();
    systems[4].set_mood(Mood::Silent);
    for _ in 0..5 {
        let parameters = [ALL[0], ALL[1], ("limit", "100")];
        let answer = acme.caller.search(&parameters).await.ok();
        assert_eq!((answer.items().len(), answer.total()), (27, 27));
        assert_eq!(answer.source("s4")["retryAt"], NEW_YEAR + 60_000);
    }
    let asked: Vec<usize> = systems.iter().map(|system| system.asked().len()).collect();
    assert_eq!(asked, [6, 6, 6, 6, 1, 6, 6, 6, 6, 6]);
}

#[tokio::test]
async fn where_all_are_suspended_the_answer_says_when_to_come_back() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let operator = app.operator().await.caller.on("acme");
    let (one, two) = (ExternalSystem::start(Vec::new()).await, ExternalSystem::start(Vec::new()).await);
    let disabled = with(one.registration("off"), "enabled", false);
    for registration in [one.registration("one"), two.registration("two"), disabled] {
        operator.post("/admin/v1/sources", &registration).await.ok();
    }
    let module = json!({"code": "all", "name": "All", "type": 100, "sources": ["one", "two", "off"]});
    operator.post("/admin/v1/modules", &module).await.ok();
    one.set_mood(Mood::RetryAfter(503, 90));
    two.set_mood(Mood::Status(500));
    // One of them can be asked again at once.
    let failed = acme.caller.search(&ALL).await.has_no_source(502);
    assert_eq!(failed.header("retry-after"), "");
    let failed = acme.caller.search(&ALL).await.has_no_source(502);
    assert_eq!((failed.header("retry-after"), &failed.source("two")["status"]), ("", &json!("error")));
    two.set_mood(Mood::RetryAfter(429, 30));
    acme.caller.search(&ALL).await.has_no_source(502);

    let both = acme.caller.search(&ALL).await.has_no_source(502);
    assert_eq!(both.header("retry-after"), "30");
    assert_eq!(both.source("one")["retryAt"], NEW_YEAR + 90_000);
    assert_eq!(both.source("two")["retryAt"], NEW_YEAR + 30_000);
    assert_eq!(both.source("off")["retryAt"], Value::Null);
    app.clock.pass(Duration::from_millis(29_500));
    assert_eq!(acme.caller.search(&ALL).await.has_no_source(502).header("retry-after"), "1");
    assert_eq!((one.asked().len(), two.asked().len()), (1, 3));
}

#[tokio::test]
async fn of_fifty_searches_one_carries_the_probe() {
    let landscape = Landscape::start().await;
    landscape.is_due_for_a_probe().await;
    let asked = landscape.system.asked().len();
    landscape.system.hold();
    let mut searches: FuturesUnordered<_> = (0..50).map(|_| landscape.search()).collect();
    for _ in 0..49 {
        let answer = searches.next().await.unwrap();
        assert_eq!((answer.total(), &answer.source("x")["status"]), (3, &json!("unavailable")));
        assert!(answer.source("x")["retryAt"].is_i64(), "{}", answer.text);
    }
    assert_eq!(landscape.system.asked().len(), asked + 1);
    landscape.system.let_go();
    let probe = searches.next().await.unwrap();
    assert_eq!((probe.total(), &probe.body["partial"]), (6, &json!(false)));
    assert_eq!(landscape.suspended().await, Value::Null);
    for answer in join_all((0..5).map(|_| landscape.search())).await {
        assert_eq!(answer.total(), 6);
    }
    // Those who ask at once may share a call.
    assert!((asked + 2..=asked + 6).contains(&landscape.system.asked().len()));
}

#[tokio::test]
async fn a_probe_whose_caller_goes_away_leaves_its_place_to_the_next() {
    let landscape = Landscape::start().await;
    landscape.is_due_for_a_probe().await;
    let asked = landscape.system.asked().len();
    landscape.system.hold();
    let caller = landscape.acme.caller.clone();
    let probe = tokio::spawn(async move { caller.search(&ALL).await });
    let probes = || landscape.system.asked().len() - asked;
    eventually("the probe", async || (probes() == 1).then_some(())).await;
    probe.abort();
    assert!(probe.await.unwrap_err().is_cancelled());
    // The source has answered nobody yet.
    let hurry = [ALL[0], ALL[1], ("timeout", "50")];
    eventually("the next probe", async || {
        landscape.acme.caller.search(&hurry).await;
        (probes() == 2).then_some(())
    })
    .await;
    landscape.system.let_go();
    eventually("the source's return", async || (landscape.search().await.total() == 6).then_some(())).await;
    assert_eq!(probes(), 3);
}

/// The probe of someone in a hurry shows all the same that the source is back, however long it takes.
#[tokio::test]
async fn a_probe_outlives_its_search() {
    let landscape = Landscape::start().await;
    landscape.is_due_for_a_probe().await;
    let asked = landscape.system.asked().len();
    landscape.system.hold();
    let hurry = [ALL[0], ALL[1], ("timeout", "50")];
    eventually("the probe", async || {
        let hurried = landscape.acme.caller.search(&hurry).await;
        assert_eq!(hurried.source("x")["status"], "timeout", "{}", hurried.text);
        (landscape.system.asked().len() == asked + 1).then_some(())
    })
    .await;
    assert_eq!(landscape.search().await.source("x")["status"], "unavailable", "nobody else probes meanwhile");
    landscape.system.let_go();
    eventually("the source's return", async || landscape.suspended().await.is_null().then_some(())).await;
    assert_eq!(landscape.search().await.total(), 6);
    assert_eq!(landscape.system.asked().len(), asked + 2);
}

/// Slow is not down: those who cannot wait do not take the source from those who can.
#[tokio::test]
async fn a_source_that_is_slower_than_the_deadline_is_not_cut_off() {
    let landscape = Landscape::start().await;
    landscape.system.hold();
    let hurry = [ALL[0], ALL[1], ("timeout", "50")];
    for answer in join_all((0..10).map(|_| landscape.acme.caller.search(&hurry))).await {
        assert_eq!(answer.source("x")["status"], "timeout", "{}", answer.text);
    }
    assert_eq!(landscape.suspended().await, Value::Null);
    landscape.system.let_go();
    assert_eq!(landscape.search().await.total(), 6);
}

/// What is usable is an answer, and a cursor that ended is no fault of the source.
#[tokio::test]
async fn what_speaks_not_against_the_source_does_not_suspend_it() {
    let landscape = Landscape::start_with(|_, registration| with(registration, "pageSize", 2)).await;
    landscape.system.set_mood(Mood::Disordered);
    assert_eq!(landscape.search_times(7).await, ["invalid"; 7]);
    landscape.system.set_mood(Mood::Good);
    for refusal in [400, 404, 410, 422] {
        landscape.system.set_mood_at(Some(("2", Mood::Status(refusal))));
        assert_eq!(landscape.search_times(7).await, ["error"; 7]);
    }
    let gone = Mood::Body(r#"{"code":410,"message":"gone"}"#.to_owned());
    landscape.system.set_mood_at(Some(("2", gone)));
    assert_eq!(landscape.search_times(7).await, ["error"; 7]);
    assert_eq!(landscape.suspended().await, Value::Null);
}

/// Whoever pages on meanwhile loses nothing: the source is caught up with.
#[tokio::test]
async fn what_a_suspended_source_has_comes_later() {
    let landscape = Landscape::start().await;
    landscape.system.set_mood(Mood::RetryAfter(503, 60));
    landscape.search().await;
    let page = async |next: (&str, &str), limit| {
        landscape.acme.caller.search(&[ALL[0], ALL[1], ("limit", limit), next]).await
    };
    let first = page(("paging", "cursor"), "2").await.ok();
    assert_eq!((first.ids(), &first.body["partial"]), (vec!["a00000", "a00001"], &json!(true)));
    let second = page(("cursor", &first.cursor().unwrap()), "2").await.ok();
    assert_eq!((second.ids(), &second.body["partial"]), (vec!["a00002"], &json!(true)));
    // Nothing is left but what it has, and that is no empty success.
    let cursor = second.cursor().unwrap();
    let too_early = page(("cursor", &cursor), "10").await.has_no_source(502);
    assert_eq!(too_early.header("retry-after"), "60");
    landscape.system.set_mood(Mood::Good);
    landscape.pass(60_000);
    let caught_up = page(("cursor", &cursor), "10").await.ok();
    assert_eq!(caught_up.ids(), ["x00000", "x00001", "x00002"]);
    assert_eq!((caught_up.cursor(), &caught_up.body["partial"]), (None, &json!(false)));
}

/// An operator who mends a source need not wait, and one who disables it is not overruled.
#[tokio::test]
async fn a_new_registration_ends_a_suspension() {
    let landscape = Landscape::start().await;
    landscape.system.set_mood(Mood::Status(401));
    landscape.search_times(2).await;
    let suspended = landscape.leaves_it_alone("unauthorized", 1).await;
    let listed = landscape.operator.get("/admin/v1/sources").await.ok();
    assert_eq!(listed.items()[0]["health"]["suspended"], suspended);
    assert_eq!(listed.items()[0]["health"]["status"], "unauthorized");
    landscape.system.set_mood(Mood::Good);
    // Even the same one.
    let put = async |registration: &Value| landscape.operator.put(X, registration).await.ok();
    assert_eq!(put(&landscape.registration).await.data()["health"]["suspended"], Value::Null);
    assert_eq!(landscape.search().await.total(), 6);

    landscape.system.set_mood(Mood::RetryAfter(503, 60));
    landscape.search().await;
    put(&with(landscape.registration.clone(), "enabled", false)).await;
    landscape.pass(60_000);
    let asked = landscape.system.asked().len();
    let answer = landscape.search().await;
    assert_eq!(answer.source("x")["message"], "disabled by the operator");
    assert_eq!(answer.source("x")["retryAt"], Value::Null);
    assert_eq!((landscape.system.asked().len(), landscape.suspended().await), (asked, Value::Null));
}

/// What a source said to one caller is not shown to the next, who was not there; metrics and names hold none of it.
#[tokio::test]
async fn a_suspension_tells_nothing_of_what_others_searched() {
    let landscape = Landscape::start().await;
    let quoting = r#"{"code":500,"message":"no index for unmentionable"}"#;
    landscape.system.set_mood(Mood::Body(quoting.to_owned()));
    for _ in 0..5 {
        let parameters = [("keyword", "unmentionable harbour"), ALL[1]];
        let answer = landscape.acme.caller.search(&parameters).await.ok();
        assert!(answer.source("x")["message"].as_str().unwrap().contains("unmentionable"));
    }
    landscape.leaves_it_alone("error", 1).await;
    let answer = landscape.search().await;
    assert!(!answer.text.contains("unmentionable"), "{}", answer.text);
    let metrics = landscape.acme.caller.get("/metrics").await.text;
    for name in ["trawl_sources_suspended ", "trawl_source_suspensions_total{cause=\"error\"}"] {
        assert!(metrics.contains(name), "no {name} in {metrics}");
    }
    assert!(!metrics.contains("unmentionable"));
}
