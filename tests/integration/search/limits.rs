//! Limits of callers and sources.

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::{Caller, send},
    eventually,
    external::{ExternalSystem, Reply},
    items::{NEW_YEAR, item, many, user},
};

const ALL: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "all")];

#[tokio::test]
async fn search_beyond_the_concurrency_limit_is_503_until_a_caller_disconnects() {
    let app = TestApp::start_with(|config| config.search.at_once = 1).await;
    let acme = app.tenant("acme").await;
    app.put_contents(&acme.caller, "article", &[item("1", "harbour", 1)]).await;
    let system = ExternalSystem::start(Vec::new()).await;
    system.set_reply(Reply::Silent);
    app.register_source(&acme, system.registration("x"), "all", &["builtin:article", "x"]).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let impatient = Caller { http, ..acme.caller.clone() };
    let first = tokio::spawn(async move { impatient.search(&[ALL[0], ALL[1], ("timeout", "10000")]).await });
    eventually("the first search to run", async || (!system.requests().is_empty()).then_some(())).await;
    let articles = [ALL[0], ("moduleId", "article")];
    let refused = acme.caller.search(&articles).await.fails(503, "too many searches");
    assert_eq!(refused.header("retry-after"), "1");
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let found = eventually("the permit", async || {
        let answer = acme.caller.search(&articles).await;
        (answer.status == 200).then_some(answer)
    })
    .await;
    assert_eq!(found.ids(), ["1"]);
}

/// Before the requested time.
#[tokio::test]
async fn pages_read_from_a_source_by_one_search_are_limited() {
    let app = TestApp::start_with(|config| config.search.source_pages = 3).await;
    let acme = app.tenant("acme").await;
    let system = ExternalSystem::start(many("x", "harbour", 100, 1)).await;
    app.register_source(&acme, system.registration("x"), "all", &["x"]).await;
    let before = (NEW_YEAR - 60).to_string();
    let answer = acme.caller.search(&[ALL[0], ALL[1], ("cursor", &before)]).await.ok();
    assert_eq!((system.requests().len(), &answer.body["partial"]), (3, &json!(true)));
    assert!(answer.source("x")["message"].as_str().unwrap().contains("3 pages"), "{}", answer.text);
    assert!(answer.cursor().is_some());
}

#[tokio::test]
async fn slow_source_times_out_at_its_own_limit() {
    let (app, acme) = TestApp::start_with_acme().await;
    let (slow, quick) =
        (ExternalSystem::start(Vec::new()).await, ExternalSystem::start(many("q", "harbour", 2, 1)).await);
    slow.set_reply(Reply::Silent);
    let mut registration = slow.registration("slow");
    registration["timeoutMs"] = 100.into();
    app.register_source(&acme, registration, "slow", &["slow"]).await;
    app.register_source(&acme, quick.registration("quick"), "all", &["slow", "quick"]).await;
    let answer = acme.caller.search(&[ALL[0], ALL[1], ("timeout", "10000")]).await.ok();
    assert_eq!(
        (answer.ids(), &answer.source("slow")["status"]),
        (vec!["q00000", "q00001"], &json!("timeout"))
    );
    assert!(answer.source("slow")["tookMs"].as_u64().unwrap() < 9_000, "{}", answer.text);
}

/// 10,000 users in a sync, 1,000 items in a batch.
#[tokio::test]
async fn batches_of_the_documented_size_are_accepted() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut users: Vec<Value> = (0..10_000).map(|number| user(&format!("user-{number:05}"), "")).collect();
    app.sync(&acme.caller, "users", &json!(users)).await;
    app.user(&acme, "user-09999").await;
    users.push(user("one-more", ""));
    acme.caller.put("/v1/users/sync", &json!(users)).await.fails(400, "at most 10,000");
    app.put_contents(&acme.caller, "article", &many("i", "harbour", 1_000, 1)).await;
    let one_more = json!(many("j", "harbour", 1_001, 1));
    acme.caller.put("/v1/contents/article", &one_more).await.fails(400, "at most 1,000");
    let found = acme.caller.search(&[("keyword", "harbour"), ("moduleId", "article")]).await.ok();
    assert_eq!(found.total(), 1_000);
}

#[tokio::test]
async fn head_is_get_without_a_body() {
    let (app, acme) = TestApp::start_with_acme().await;
    for path in ["/healthz", "/readyz", "/contents/search?keyword=x&moduleId=article"] {
        let answer = send(acme.caller.request(Method::HEAD, path)).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, ""), "{path}");
    }
    let nobody = app.http.head(format!("{}/contents/search?keyword=x&moduleId=article", app.base));
    assert_eq!(send(nobody).await.status, 401);
}
