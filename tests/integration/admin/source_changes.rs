//! Changes of modules and sources at run time, and source health.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    eventually,
    external::{ExternalSystem, Reply, with},
    items::{NEW_YEAR, item, many},
};

const ALL: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "all")];
const X: &str = "/admin/v1/sources/x";
const MODULE: &str = "/admin/v1/modules/id-of-all";

async fn beside_articles(articles: &[Value], source: Value) -> (TestApp, Application, Caller) {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", articles).await;
    app.register_source(&acme, source, "all", &["builtin:article", "x"]).await;
    let operator = app.operator().await.caller.on("acme");
    (app, acme, operator)
}

fn all(sources: &[&str]) -> Value {
    json!({"code": "all", "name": "All", "type": 101, "sources": sources})
}

#[tokio::test]
async fn change_applies_from_its_response_on() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (_app, acme, operator) = beside_articles(&many("a", "harbour", 3, 1), system.registration("x")).await;
    for _ in 0..5 {
        operator.put(MODULE, &all(&["builtin:article"])).await.ok();
        assert_eq!(acme.caller.search(&ALL).await.ok().total(), 3);
        operator.put(MODULE, &all(&["x", "builtin:article"])).await.ok();
        let answer = acme.caller.search(&ALL).await.ok();
        assert_eq!((answer.total(), answer.ids()[0]), (6, "x00000"), "ties are ordered by source");
        operator.put(X, &with(system.registration("x"), "enabled", false)).await.ok();
        assert_eq!(acme.caller.search(&ALL).await.ok().source("x")["status"], "unavailable");
        operator.put(X, &with(system.registration("x"), "name", "Renamed")).await.ok();
        assert_eq!(acme.caller.search(&ALL).await.ok().source("x")["name"], "Renamed");
        operator.delete(MODULE).await.ok();
        acme.caller.search(&ALL).await.fails(404, "moduleId");
        operator
            .post("/admin/v1/modules", &with(all(&["builtin:article", "x"]), "id", "id-of-all"))
            .await
            .ok();
        assert_eq!(acme.caller.search(&ALL).await.ok().total(), 6);
    }
}

#[tokio::test]
async fn unchanged_source_keeps_its_token() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let source = with(system.registration("x"), "auth", system.credentials());
    let (_app, acme, operator) = beside_articles(&[], source.clone()).await;
    acme.caller.search(&ALL).await.ok();
    operator.put(MODULE, &with(all(&["x"]), "name", "Everything")).await.ok();
    operator.post("/admin/v1/sources", &system.registration("y")).await.ok();
    acme.caller.search(&ALL).await.ok();
    assert_eq!(system.issued_tokens(), 1);
    let mut kept = with(source, "timeoutMs", 9_000);
    kept["auth"].as_object_mut().unwrap().remove("clientSecret");
    operator.put(X, &kept).await.ok();
    assert_eq!(acme.caller.search(&ALL).await.ok().total(), 3, "the secret is kept");
    assert_eq!(system.issued_tokens(), 2);
}

#[tokio::test]
async fn search_in_flight_keeps_its_configuration() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    system.set_reply(Reply::Silent);
    let source = with(system.registration("x"), "timeoutMs", 3_000);
    let (_app, acme, operator) = beside_articles(&many("a", "harbour", 3, 1), source).await;
    let caller = acme.caller.clone();
    let search = tokio::spawn(async move { caller.search(&ALL).await });
    eventually("the search to run", async || (!system.requests().is_empty()).then_some(())).await;
    operator.delete(MODULE).await.ok();
    operator.delete(X).await.ok();
    let answer = search.await.unwrap().ok();
    assert_eq!((answer.ids().len(), &answer.source("x")["status"]), (3, &json!("timeout")));
    acme.caller.search(&ALL).await.fails(404, "moduleId");
}

#[tokio::test]
async fn reenabled_source_is_caught_up() {
    let of_x: Vec<Value> =
        (0..10).map(|number| item(&format!("x{number}"), "harbour", NEW_YEAR - 2 * number)).collect();
    let of_a: Vec<Value> =
        (0..10).map(|number| item(&format!("a{number}"), "harbour", NEW_YEAR - 2 * number - 1)).collect();
    let system = ExternalSystem::start(of_x).await;
    let (_app, acme, operator) = beside_articles(&of_a, system.registration("x")).await;
    let page = async |cursor: Option<&str>| {
        let next = cursor.map_or(("paging", "cursor"), |cursor| ("cursor", cursor));
        acme.caller.search(&[ALL[0], ALL[1], ("limit", "4"), next]).await.ok()
    };
    let first = page(None).await;
    assert_eq!(first.ids(), ["x0", "a0", "x1", "a1"]);
    operator.put(X, &with(system.registration("x"), "enabled", false)).await.ok();
    let second = page(first.cursor().as_deref()).await;
    assert_eq!((second.ids(), &second.body["partial"]), (vec!["a2", "a3", "a4", "a5"], &json!(false)));
    assert_eq!(second.source("x")["message"], "disabled by the operator");
    operator.put(X, &system.registration("x")).await.ok();
    let third = page(second.cursor().as_deref()).await;
    assert_eq!(third.ids(), ["x2", "x3", "x4", "x5"]);
    let fourth = page(third.cursor().as_deref()).await;
    assert_eq!(fourth.ids(), ["x6", "a6", "x7", "a7"]);
    let last = page(fourth.cursor().as_deref()).await;
    assert_eq!((last.ids(), last.cursor()), (vec!["x8", "a8", "x9", "a9"], None));
}

#[tokio::test]
async fn source_and_module_relations_are_many_to_many() {
    let x = ExternalSystem::start(many("x", "harbour", 2, 1)).await;
    let y = ExternalSystem::start(many("y", "harbour", 2, 1)).await;
    let (_app, acme, operator) = beside_articles(&[], x.registration("x")).await;
    operator.post("/admin/v1/sources", &y.registration("y")).await.ok();
    operator.put(MODULE, &all(&["y", "x", "builtin:article"])).await.ok();
    let module = json!({"code": "only-x", "name": "x", "type": 100, "sources": ["x"]});
    operator.post("/admin/v1/modules", &module).await.ok();
    assert_eq!(acme.caller.search(&ALL).await.ok().ids(), ["y00000", "x00000", "y00001", "x00001"]);
    assert_eq!(acme.caller.find("only-x", "harbour").await, ["x00000", "x00001"]);
}

#[tokio::test]
async fn source_with_invalidated_settings_fails_alone() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (app, acme, operator) = beside_articles(&many("a", "harbour", 3, 1), system.registration("x")).await;
    let sealed = ExternalSystem::start(many("s", "harbour", 3, 1)).await;
    let secret = with(sealed.registration("s"), "auth", sealed.credentials());
    operator.post("/admin/v1/sources", &secret).await.ok();
    operator.put(MODULE, &all(&["builtin:article", "x", "s"])).await.ok();

    let app = app.restart_with(|config| config.connectors.allow_auth_none = false).await;
    let (searcher, operator) = (acme.caller.at(&app.base), operator.at(&app.base));
    let answer = searcher.search(&ALL).await.ok();
    assert_eq!((answer.total(), &answer.body["partial"]), (6, &json!(true)), "{}", answer.text);
    let failed = answer.source("x");
    assert_eq!(failed["status"], "error");
    let message = failed["message"].as_str().unwrap();
    assert!(message.starts_with("its settings are not usable: auth.type: NONE"), "{message}");
    for answer in [operator.get(X).await.ok().data()["health"].clone(), {
        let health = operator.get("/admin/v1/sources/x/health").await.ok();
        json!({
            "status": health.data()["status"], "message": health.data()["message"],
            "suspended": health.data()["suspended"], "latencyMs": health.data()["latencyMs"],
            "late": health.data()["late"],
        })
    }] {
        let expected = json!({"status": "error", "message": message, "suspended": null, "latencyMs": null, "late": false});
        assert_eq!(answer, expected);
    }

    let elsewhere = app.restart_with(|config| {
        config.connectors.allow_auth_none = true;
        config.connectors.allow_http_hosts = Vec::new();
    });
    let app = elsewhere.await;
    let answer = searcher.at(&app.base).search(&ALL).await.ok();
    assert_eq!(answer.total(), 3);
    for id in ["x", "s"] {
        let message = answer.source(id)["message"].as_str().unwrap();
        assert!(message.contains("url: must be https"), "{message}");
    }
    let back = app.restart_with(|config| config.connectors.allow_http_hosts = vec!["127.0.0.1".to_owned()]);
    let app = back.await;
    let (searcher, operator) = (searcher.at(&app.base), operator.at(&app.base));
    assert_eq!(searcher.search(&ALL).await.ok().total(), 9);
    // Foreign rows, or another master key.
    let garbled = "UPDATE search_sources SET client_secret_sealed = ? WHERE id = 's'";
    app.execute_with(garbled, vec![vec![0_u8].into()]).await;
    let broken = "UPDATE search_sources SET page_size = -1 WHERE id = 'x'";
    app.execute(broken).await;
    // Any change reloads all modules.
    operator.put(MODULE, &with(all(&["builtin:article", "x", "s"]), "name", "Again")).await.ok();
    let answer = searcher.search(&ALL).await.ok();
    assert_eq!(answer.total(), 3, "{}", answer.text);
    assert!(
        answer.source("s")["message"].as_str().unwrap().contains("auth.clientSecret: "),
        "{}",
        answer.text
    );
    assert_eq!(answer.source("x")["status"], "error");
    assert_eq!(operator.get("/admin/v1/sources").await.ok().total(), 2);
    let mut kept = secret.clone();
    kept["auth"].as_object_mut().unwrap().remove("clientSecret");
    operator.put("/admin/v1/sources/s", &kept).await.fails(400, "auth.clientSecret: must be given again");
    operator.put("/admin/v1/sources/s", &secret).await.ok();
    operator.put(X, &system.registration("x")).await.ok();
    assert_eq!(searcher.search(&ALL).await.ok().total(), 9);
}

#[tokio::test]
async fn health_reflects_real_calls() {
    let mut system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (_app, acme, operator) = beside_articles(&[], system.registration("x")).await;
    let health = async || operator.get("/admin/v1/sources/x/health").await.ok().data().clone();
    let before = health().await;
    let none = json!({"ok": 0, "timeout": 0, "unavailable": 0, "unauthorized": 0, "invalid": 0, "error": 0});
    let since = before["since"].as_i64().unwrap();
    let expected = json!({
        "id": "x", "enabled": true, "status": "unknown", "message": null, "lastSuccessTime": null,
        "lastFailureTime": null, "calls": none, "latencyMs": null, "since": since, "suspended": null, "late": false,
        "hedges": {"sent": 0, "won": 0}, "history": before["history"], "cache": {"hits": 0, "misses": 0, "stale": 0},
    });
    assert_eq!(before, expected);
    let now = || i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    assert!(since <= now() && since > NEW_YEAR);

    for reply in [
        Reply::Good,
        Reply::Good,
        Reply::Status(503),
        Reply::Status(401),
        Reply::Status(500),
        Reply::Body("<html>".to_owned()),
        Reply::Disordered,
    ] {
        system.set_reply(reply);
        acme.caller.search(&ALL).await;
    }
    let after = health().await;
    let calls = json!({"ok": 2, "timeout": 0, "unavailable": 1, "unauthorized": 1, "invalid": 2, "error": 1});
    assert_eq!((&after["calls"], &after["status"]), (&calls, &json!("invalid")), "{after}");
    assert!(after["message"].as_str().unwrap().contains("order"), "{after}");
    for time in ["lastSuccessTime", "lastFailureTime"] {
        let time = after[time].as_i64().unwrap();
        assert!(time >= since && time <= now(), "{after}");
    }
    let latency = &after["latencyMs"];
    assert!(latency["p50"].as_u64().unwrap() <= latency["p99"].as_u64().unwrap(), "{after}");
    let listed = operator.get("/admin/v1/sources").await.ok();
    assert_eq!(
        listed.items()[0]["health"],
        json!({"status": "invalid", "message": after["message"], "suspended": null, "latencyMs": latency, "late": false})
    );

    operator.put(X, &with(system.registration("x"), "name", "Renamed")).await.ok();
    assert_eq!(health().await["calls"], calls);
    system.set_reply(Reply::Silent);
    let alone = [ALL[0], ALL[1], ("source", "x"), ("timeout", "50")];
    // On a busy machine the time may be over before the source is asked.
    let received = system.requests().len();
    eventually("the source to be asked", async || {
        acme.caller.search(&alone).await.fails_without_sources(504);
        (system.requests().len() > received).then_some(())
    })
    .await;
    eventually("the timeout to be counted", async || (health().await["calls"]["timeout"] != 0).then_some(()))
        .await;
    system.stop().await;
    acme.caller.search(&alone[..3]).await.fails_without_sources(502);
    assert_eq!(health().await["status"], "unavailable");
    operator.put(X, &with(system.registration("x"), "enabled", false)).await.ok();
    assert_eq!(health().await["enabled"], false);
    operator.put(MODULE, &all(&["builtin:article"])).await.ok();
    operator.delete(X).await.ok();
    operator.get("/admin/v1/sources/x/health").await.fails(404, "no such source");
    operator.post("/admin/v1/sources", &system.registration("x")).await.ok();
    assert_eq!((&health().await["calls"], &health().await["status"]), (&none, &json!("unknown")));
}

/// The first search after enabling finds a token and a connection.
#[tokio::test]
async fn enabled_source_is_warmed_up() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let source = with(system.registration("x"), "auth", system.credentials());
    let disabled = with(source.clone(), "enabled", false);
    let (_app, acme, operator) = beside_articles(&[], disabled).await;
    acme.caller.search(&ALL).await.ok();
    assert_eq!(system.issued_tokens(), 0, "a disabled source is not called");

    operator.put(X, &source).await.ok();
    eventually("the first token", async || (system.issued_tokens() == 1).then_some(())).await;
    assert!(system.requests().is_empty());

    assert_eq!(acme.caller.search(&ALL).await.ok().total(), 3);
    assert_eq!(system.issued_tokens(), 1);
}
