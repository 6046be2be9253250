//! Operators' changes of subscriptions.

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::{Caller, send},
    external::with,
    feed_server::FeedServer,
    groups::people,
    subscriptions::{SUBSCRIPTIONS, feed},
};

const PATH: &str = "/admin/v1/subscriptions/a";

async fn start() -> (TestApp, Application, Caller, FeedServer, Value) {
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await.caller.on("acme");
    let server = FeedServer::start().await;
    server.set_entries("/a", &[("1", "harbour one"), ("2", "harbour two")]);
    server.set_entries("/b", &[("1", "harbour one"), ("3", "harbour three")]);
    let form = feed("a", &server.url("127.0.0.1", "/a"));
    (app, acme, operator, server, form)
}

#[tokio::test]
async fn wrong_field_is_named() {
    let (app, _, operator, _server, form) = start().await;
    let url = |url: &str| with(form.clone(), "feed", json!({"url": url}));
    for (wrong, named) in [
        (with(form.clone(), "id", "a b"), "id: "),
        (with(form.clone(), "name", " "), "name: "),
        (with(form.clone(), "module", Value::Null), "module: "),
        (with(form.clone(), "module", "nothing"), "module: "),
        (with(form.clone(), "module", "todo"), "module: "),
        (with(form.clone(), "feed", Value::Null), "feed: "),
        (with(form.clone(), "feed", json!([])), "feed"),
        (with(form.clone(), "feed", json!({})), "feed.url: "),
        (url("nothing"), "feed.url: "),
        (url("http://example.org/"), "feed.url: must be https"),
        (url("https://mei:secret@example.org/"), "feed.url: "),
        (url("https://169.254.169.254/"), "feed.url: "),
        (with(form.clone(), "intervalMinutes", 0), "intervalMinutes: "),
        (with(form.clone(), "intervalMinutes", 40_321), "intervalMinutes: "),
        (with(form.clone(), "keepDays", 0), "keepDays: "),
        (with(form.clone(), "visibility", json!({"users": 1})), "visibility"),
    ] {
        operator.post(SUBSCRIPTIONS, &wrong).await.fails(400, named);
        operator.post(&format!("{SUBSCRIPTIONS}?dryRun=true"), &wrong).await.fails(400, named);
    }
    assert!(operator.post(&format!("{SUBSCRIPTIONS}?dryRun=true"), &form).await.ok().data().is_null());
    assert_eq!(operator.get(SUBSCRIPTIONS).await.ok().items(), [] as [Value; 0]);
    operator.subscribe(&form).await;
    operator.post(SUBSCRIPTIONS, &form).await.fails(409, "id");
    for (wrong, named) in [
        (with(form.clone(), "id", "b"), "id: "),
        (with(form.clone(), "module", "news"), "module: "),
        (with(form.clone(), "name", Value::Null), "name: "),
    ] {
        operator.put(PATH, &wrong).await.fails(400, named);
    }
    for path in ["none", "none/run"] {
        let path = format!("{SUBSCRIPTIONS}/{path}");
        let answer =
            if path.ends_with("run") { operator.post_empty(&path).await } else { operator.get(&path).await };
        answer.fails(404, "id");
    }
    app.tenant("other").await;
    operator.on("other").get(PATH).await.fails(404, "id");
    operator.on("other").post_empty(&format!("{PATH}/run")).await.fails(404, "id");
}

#[tokio::test]
async fn another_address_is_read_at_once() {
    let (app, acme, operator, server, form) = start().await;
    operator.subscribe(&form).await;
    let moved = with(form, "feed", json!({"url": server.url("127.0.0.1", "/b")}));
    let shown = operator.replace_subscription(&moved).await;
    assert_eq!((&shown["lastRun"]["added"], &shown["items"]), (&json!(1), &json!(3)), "{shown}");
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["harbour one", "harbour three", "harbour two"]);
    assert!(server.requests().iter().all(|request| !request.is_conditional));
}

#[tokio::test]
async fn disabled_subscription_runs_on_request_alone() {
    let (_app, _, operator, server, form) = start().await;
    let form = with(form, "enabled", false);
    let made = operator.post(SUBSCRIPTIONS, &form).await.ok();
    assert!(made.data()["nextRunAt"].is_null() && made.data()["lastRun"].is_null());
    let shown = operator.run_subscription("a").await;
    assert!(shown["nextRunAt"].is_null() && shown["items"] == 2, "{shown}");
    operator.put(PATH, &with(form, "enabled", true)).await.ok();
    operator.wait_for_runs("a", 2).await;
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn visibility_holds_for_present_and_later_items() {
    let (app, acme, operator, server, form) = start().await;
    let [mei, omar] = people(&app, &acme, ["mei", "omar"]).await;
    operator.subscribe(&form).await;
    assert_eq!(app.titles(&omar, "harbour").await.len(), 2);
    operator.put(PATH, &with(form, "visibility", json!({"users": ["mei"]}))).await.ok();
    app.app.maintenance.make_round().await.unwrap();
    server.set_entries("/a", &[("3", "harbour three")]);
    operator.run_subscription("a").await;
    assert_eq!(app.titles(&mei, "harbour").await.len(), 3);
    assert_eq!(app.titles(&omar, "harbour").await, [] as [&str; 0]);
}

#[tokio::test]
async fn removal_takes_the_items_along() {
    let (app, acme, operator, _server, form) = start().await;
    operator.subscribe(&form).await;
    app.put_contents(&acme.caller, "article", &[json!({"id": "a:", "title": "harbour of another"})]).await;
    operator.delete(PATH).await.ok();
    operator.get(PATH).await.fails(404, "id");
    operator.delete(PATH).await.fails(404, "id");
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["harbour of another"]);
    let shown = operator.subscribe(&form).await;
    assert_eq!(shown["items"], json!(2));
    let events = operator.get("/admin/v1/audit?objectKind=subscription").await.ok();
    let actions: Vec<_> = events.items().iter().map(|event| event["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["create", "delete", "create"], "{}", events.text);
}

#[tokio::test]
async fn run_names_a_removed_module_as_the_form_does() {
    let (_app, _, operator, _server, form) = start().await;
    operator.register_module("guide", &["builtin:guide"]).await;
    operator.subscribe(&with(form, "module", "guide")).await;
    operator.delete("/admin/v1/modules/id-of-guide").await.ok();
    let shown = operator.run_subscription("a").await;
    assert!(shown["lastRun"]["error"].as_str().unwrap().starts_with("module: "), "{shown}");
}

#[tokio::test]
async fn change_of_an_earlier_state_is_refused() {
    let (_app, _, operator, _server, form) = start().await;
    operator.subscribe(&form).await;
    let seen = operator.get(PATH).await.ok();
    let tag = seen.header("etag").to_owned();
    let put = async |form: &Value| {
        send(operator.request(Method::PUT, PATH).header("if-match", &tag).json(form)).await
    };
    // Runs change no setting.
    operator.run_subscription("a").await;
    put(&with(form.clone(), "name", "News")).await.ok();
    put(&with(form, "name", "Other")).await.fails(412, "If-Match");
    send(operator.request(Method::DELETE, PATH).header("if-match", &tag)).await.fails(412, "If-Match");
    assert_eq!(operator.subscription("a").await["name"], "News");
}
