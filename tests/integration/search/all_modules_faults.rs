//! Late and failing sources, and disconnects.

use reqwest::Method;
use serde_json::json;
use trawl::registry::modules::DEFAULT_MODULES;

use crate::util::{
    all_modules::{HARBOUR, PATH, module_entry, search_all, show, without_modules},
    app::TestApp,
    caller::{Caller, send},
    events::{EVENTS, Events},
    eventually,
    external::{ExternalSystem, Reply},
    gate::Gate,
    items::many,
};

/// Book: explanation/failures.md.
#[tokio::test]
async fn hanging_source_is_late_in_its_modules_only() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &many("a", "harbour", 3, 1)).await;
    let (hanging, broken) =
        (ExternalSystem::start(Vec::new()).await, ExternalSystem::start(Vec::new()).await);
    hanging.set_reply(Reply::Silent);
    app.register_source(&acme, hanging.registration("hanging"), "alone", &["hanging"]).await;
    broken.set_reply(Reply::Status(500));
    app.register_source(&acme, broken.registration("broken"), "broken", &["broken"]).await;
    let operator = app.operator().await.caller.on("acme");
    show(&operator, "mixed", 60, &["hanging", "builtin:article"]).await;

    let parameters = [HARBOUR[0], ("timeout", "4000")];
    let answer = search_all(&acme.caller, &parameters).await.ok();
    let streamed = Events::open(&acme.caller, PATH, &parameters).await;
    let (streamed, done) = streamed.read_to_end().await;
    assert_eq!((&done["count"], &done["partial"]), (&json!(14), &json!(true)));
    assert_eq!((answer.total(), &answer.body["partial"]), (14, &json!(true)));
    for entries in [answer.items(), &streamed] {
        for (code, status, source, said) in
            [("alone", 504, "timeout", "in time"), ("broken", 502, "error", "`sources` says why")]
        {
            let entry = module_entry(entries, code);
            assert_eq!((&entry["code"], &entry["data"]), (&json!(status), &json!([])), "{entry}");
            assert_eq!(
                (&entry["partial"], &entry["count"], &entry["total"]),
                (&json!(true), &json!(0), &json!(0))
            );
            assert!(entry["cursor"].is_null(), "{entry}");
            assert!(entry["message"].as_str().unwrap().contains(said), "{entry}");
            assert_eq!(entry["sources"][0]["status"], source);
        }
        let mixed = module_entry(entries, "mixed");
        assert_eq!(
            (&mixed["code"], &mixed["partial"], &mixed["count"]),
            (&json!(200), &json!(true), &json!(3))
        );
        assert_eq!(mixed["sources"][0]["status"], "timeout");
        assert!(mixed["cursor"].is_string(), "no cursor to catch the source up");
        let complete =
            entries.iter().filter(|entry| entry["partial"] == false && entry["code"] == 200).count();
        assert_eq!(complete, DEFAULT_MODULES.len());
        assert_eq!(module_entry(entries, "article")["count"], 3);
    }
    assert_eq!(hanging.requests().len(), 2, "the modules share one call in each search");
}

/// The error precedes the stream.
#[tokio::test]
async fn search_fails_when_no_module_answers() {
    let app = TestApp::start().await;
    let (acme, operator) = without_modules(&app).await;
    let (hanging, broken) =
        (ExternalSystem::start(Vec::new()).await, ExternalSystem::start(Vec::new()).await);
    hanging.set_reply(Reply::Silent);
    operator.register_source(&hanging.registration("hanging"), "one", &["hanging"]).await;
    show(&operator, "two", 1, &["hanging"]).await;
    let parameters = [HARBOUR[0], ("timeout", "500")];
    let as_events = acme.caller.request(Method::POST, PATH).header("accept", EVENTS);
    for request in [acme.caller.request(Method::POST, PATH), as_events.try_clone().unwrap()] {
        let answer =
            send(request.query(&parameters)).await.fails(504, "no source of any module answered in time");
        assert_eq!(answer.source("hanging")["status"], "timeout");
        assert_eq!(answer.body["sources"].as_array().unwrap().len(), 1, "a source is reported twice");
    }
    // A new registration is waited for again.
    operator.put("/admin/v1/sources/hanging", &hanging.registration("hanging")).await.ok();
    broken.set_reply(Reply::Status(500));
    operator.register_source(&broken.registration("broken"), "three", &["broken"]).await;
    // One of the sources answers in time.
    let parameters = [HARBOUR[0], ("timeout", "4000")];
    for request in [acme.caller.request(Method::POST, PATH), as_events] {
        let answer = send(request.query(&parameters)).await.fails(502, "no source of any module answered");
        assert_eq!(answer.source("hanging")["status"], "timeout");
        assert_eq!(answer.source("broken")["status"], "error");
    }
    // A suspended source sets no `Retry-After` while another can be called.
    broken.set_reply(Reply::RetryAfter(503, 60));
    for _ in 0..2 {
        let answer = send(acme.caller.request(Method::POST, PATH).query(&parameters)).await;
        let answer = answer.fails(502, "no source of any module answered");
        assert_eq!(
            (answer.header("retry-after"), &answer.source("broken")["status"]),
            ("", &json!("unavailable"))
        );
    }
}

/// The disconnect ends the external call before the deadline and frees the permit (book: explanation/federation.md).
#[tokio::test]
async fn disconnected_caller_ends_its_external_calls() {
    let app = TestApp::start_with(|config| config.search.at_once = 2).await;
    let acme = app.tenant("acme").await;
    let operator = app.operator().await.caller.on("acme");
    let parameters = [HARBOUR[0], ("timeout", "10000")];
    for (name, accept) in [("as-events", EVENTS), ("as-json", "application/json")] {
        let gate = Gate::start(&[]).await;
        operator.post("/admin/v1/sources", &gate.registration(name)).await.ok();
        show(&operator, name, -1, &[name]).await;
        let caller = acme.caller.clone();
        let patient = tokio::spawn(async move { search_all(&caller, &parameters).await });
        gate.wait_for(1).await;
        // A connection to be dropped, and a keyword that needs a call of its own.
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let impatient = Caller { http, ..acme.caller.clone() };
        let other_words = [("keyword", "harbour office"), parameters[1]];
        let request = impatient.request(Method::GET, PATH).header("accept", accept).query(&other_words);
        let call = tokio::spawn(async move {
            let mut response = request.send().await.unwrap();
            while response.chunk().await.unwrap().is_some() {}
            panic!("the answer ended while its source hangs");
        });
        gate.wait_for(2).await;
        // The refusal precedes the stream.
        let refused = acme.caller.request(Method::POST, PATH).header("accept", EVENTS).query(&parameters);
        let refused = send(refused).await.fails(503, "too many searches");
        assert_eq!(refused.header("retry-after"), "1");

        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        drop(impatient);
        gate.wait_for(1).await;
        let article = [HARBOUR[0], ("moduleId", "article")];
        let is_free = async || (acme.caller.search(&article).await.status == 200).then_some(());
        eventually("the permit", is_free).await;
        gate.open();
        let answer = patient.await.unwrap().ok();
        assert_eq!(module_entry(answer.items(), name)["code"], 200, "the deadline ended the call");
    }
}
