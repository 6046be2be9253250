use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::{Caller, send},
    external::{ExternalSystem, Reply},
    items::{NEW_YEAR, item, many},
};

async fn start(slow_ms: u64) -> (TestApp, Caller) {
    let app = TestApp::start_with(|config| config.search.slow_ms = slow_ms).await;
    app.tenant("acme").await;
    let operator = app.operator().await.caller.on("acme");
    (app, operator)
}

async fn slow(operator: &Caller) -> Vec<Value> {
    operator.get("/admin/v1/searches/slow").await.ok().items().to_vec()
}

fn lasting(mut search: Value) -> Value {
    for field in ["time", "tookMs"] {
        assert!(search[field].is_u64(), "{search}");
        search[field].take();
    }
    for source in search["sources"].as_array_mut().unwrap() {
        assert!(source["tookMs"].is_u64(), "{source}");
        source["tookMs"].take();
    }
    search
}

#[tokio::test]
async fn slow_search_is_reported_without_its_keyword() {
    let (app, operator) = start(0).await;
    let acme = app.tenant("acme").await;
    app.put_contents(&acme.caller, "article", &many("i", "harbour", 30, 1)).await;
    let first = [("moduleId", "article"), ("keyword", "harbour"), ("paging", "cursor")];
    let cursor = acme.caller.search(&first).await.ok().cursor().unwrap();
    acme.caller.search(&[first[0], first[1], ("cursor", &cursor)]).await.ok();
    let parameters = [
        ("moduleId", "article"),
        ("keyword", "  unmentionable harbour words "),
        ("author", "nobody-in-particular"),
        ("from", "1234567890123"),
        ("source", "builtin:article"),
        ("sort", "relevance"),
    ];
    acme.caller.search(&parameters).await.ok();

    let answer = operator.get("/admin/v1/searches/slow").await.ok();
    for said in ["harbour", "unmentionable", "nobody-in-particular", "1234567890123"] {
        assert!(!answer.text.contains(said), "{said}: {}", answer.text);
    }
    let found: Vec<Value> = answer.items().iter().cloned().map(lasting).collect();
    let name = acme.caller.post_empty("/modules").await.ok();
    let name = name.items().iter().find(|module| module["code"] == "article").unwrap()["name"].clone();
    let source = json!([{"id": "builtin:article", "name": name, "status": "ok", "tookMs": null}]);
    let search = |order, words, filters: &[&str], later| {
        json!({
            "time": null, "tookMs": null, "module": "article", "order": order, "words": words, "filters": filters,
            "later": later, "partial": false, "status": "ok", "sources": source,
        })
    };
    let expected = [
        search("relevance", 3, &["from", "author", "source"], false),
        search("time", 1, &[], true),
        search("time", 1, &[], false),
    ];
    assert_eq!(found, expected);
    let limited = operator.get("/admin/v1/searches/slow?limit=2").await.ok();
    assert_eq!(limited.items(), &answer.items()[..2]);
    app.tenant("other").await;
    assert_eq!(slow(&operator.on("other")).await, [] as [Value; 0]);
    for limit in ["0", "201", "x", "-1"] {
        operator.get(&format!("/admin/v1/searches/slow?limit={limit}")).await.fails(400, "limit");
    }
    acme.caller.get("/admin/v1/searches/slow").await.fails(403, "admin");
}

#[tokio::test]
async fn search_of_all_modules_is_one_entry() {
    let (app, operator) = start(0).await;
    let acme = app.tenant("acme").await;
    app.put_contents(&acme.caller, "article", &[item("x", "harbour", NEW_YEAR)]).await;
    let path = "/contents/search/all?keyword=harbour";
    acme.caller.get(path).await.ok();
    let as_stream = acme.caller.request(reqwest::Method::GET, path).header("accept", "text/event-stream");
    assert!(send(as_stream).await.text.contains("event: done"));
    let found: Vec<Value> = slow(&operator).await.into_iter().map(lasting).collect();
    assert_eq!(found.len(), 2);
    for search in found {
        assert_eq!((&search["module"], &search["status"]), (&Value::Null, &json!("ok")));
        let sources = search["sources"].as_array().unwrap();
        assert!(sources.iter().any(|source| source["id"] == "builtin:article"), "{search}");
        assert!(sources.len() > 1, "{search}");
    }
}

#[tokio::test]
async fn failed_search_is_kept_and_refused_one_is_not() {
    let (app, operator) = start(0).await;
    let acme = app.tenant("acme").await;
    let system = ExternalSystem::start(Vec::new()).await;
    app.register_source(&acme, system.registration("x"), "all", &["x"]).await;
    system.set_reply(Reply::Body(r#"{"code": 500, "message": "unmentionable", "data": null}"#.to_owned()));
    acme.caller.search(&[("moduleId", "all"), ("keyword", "harbour")]).await.fails_without_sources(502);
    acme.caller.search(&[("moduleId", "nothing"), ("keyword", "harbour")]).await.fails(404, "moduleId");
    acme.caller
        .search(&[("moduleId", "all"), ("keyword", "harbour"), ("cursor", "v4.x")])
        .await
        .fails(400, "");
    let answer = operator.get("/admin/v1/searches/slow").await.ok();
    assert!(!answer.text.contains("unmentionable"), "{}", answer.text);
    let [search] = answer.items() else { panic!("{}", answer.text) };
    assert_eq!((&search["status"], &search["partial"]), (&json!("failed"), &json!(true)));
    assert_eq!((&search["module"], &search["sources"][0]["status"]), (&json!("all"), &json!("error")));
}

#[tokio::test]
async fn fast_search_is_not_kept() {
    let (app, operator) = start(3_600_000).await;
    let acme = app.tenant("acme").await;
    acme.caller.search(&[("moduleId", "article"), ("keyword", "harbour")]).await.ok();
    acme.caller.get("/contents/search/all?keyword=harbour").await.ok();
    assert_eq!(slow(&operator).await, [] as [Value; 0]);
}
