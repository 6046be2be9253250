use crate::util::{app::TestApp, items::item};

#[tokio::test]
async fn health_and_readiness_need_no_token() {
    let app = TestApp::start().await;
    let nobody = app.http.clone();
    let alive = nobody.get(format!("{}/healthz", app.base)).send().await.unwrap();
    assert_eq!(alive.status(), 200);
    assert!(alive.headers().contains_key("x-request-id"));

    let acme = app.tenant("acme").await;
    app.put_contents(&acme.caller, "article", &[item("1", "anything", 1)]).await;
    app.wait_for_rebuild().await;
    let ready = acme.caller.get("/readyz").await;
    assert_eq!(ready.status, 200, "{}", ready.text);
    assert_eq!(ready.body["ready"], true);
    assert_eq!(ready.body["rebuilding"], false);
    assert_eq!(ready.body["indexPosition"], ready.body["storePosition"]);
    assert_eq!(ready.body["storePosition"], 1);
}

#[tokio::test]
async fn metrics_count_requests_without_keywords() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "anything", 1)]).await;
    acme.caller.search(&[("moduleId", "article"), ("keyword", "unmentionable")]).await.ok();
    let metrics = acme.caller.get("/metrics").await;
    assert_eq!(metrics.status, 200);
    assert!(metrics.text.contains(r#"route="/contents/search""#), "{}", metrics.text);
    assert!(metrics.text.contains("trawl_index_position"), "{}", metrics.text);
    assert!(metrics.text.contains("trawl_writes_waiting "), "{}", metrics.text);
    let tasks = metrics.text.lines().find_map(|line| line.strip_prefix("trawl_runtime_tasks "));
    assert!(tasks.is_some_and(|tasks| tasks.parse::<u32>().unwrap() > 0), "{}", metrics.text);
    assert!(!metrics.text.contains("unmentionable"));
}
