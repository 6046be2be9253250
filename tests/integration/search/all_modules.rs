//! `/contents/search/all`, whole and as a stream.

use std::collections::HashSet;

use reqwest::Method;
use serde_json::json;
use trawl::registry::modules::DEFAULT_MODULES;

use crate::util::{
    all_modules::{HARBOUR, PATH, codes, comparable, module_entry, search_all, show, without_modules},
    answer::Answer,
    app::TestApp,
    caller::send,
    events::{EVENTS, Events},
    external::ExternalSystem,
    gate::Gate,
    items::{item, many, todo, user},
    paging::ids_of,
};

#[tokio::test]
async fn every_module_is_answered_as_alone_and_in_order() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &many("a", "harbour", 30, 4)).await;
    app.put_contents(&acme.caller, "news", &many("n", "harbour quay", 5, 1)).await;
    let system = ExternalSystem::start(many("x", "harbour", 25, 3)).await;
    app.register_source(&acme, system.registration("x"), "crm", &["x"]).await;
    let operator = app.operator().await.caller.on("acme");
    show(&operator, "first", -1, &["x", "builtin:article"]).await;

    for parameters in [
        vec![("keyword", "harbour")],
        vec![("keyword", "harbour"), ("limit", "7"), ("timeout", "9000")],
        vec![("keyword", "quay"), ("sort", "relevance")],
        vec![("keyword", "harbour"), ("from", "1704067199995"), ("to", "1704067199999")],
        vec![("keyword", "harbour"), ("author", "nobody")],
    ] {
        let answer = search_all(&acme.caller, &parameters).await.ok();
        let modules = acme.caller.post_empty("/modules").await.ok();
        assert_eq!((answer.total(), &answer.body["count"]), (13, &json!(13)));
        assert_eq!(answer.body["partial"], false);
        for (entry, module) in answer.items().iter().zip(modules.items()) {
            assert_eq!(entry["module"], *module);
            let code = module["code"].as_str().unwrap();
            let alone = [parameters.as_slice(), &[("moduleId", code)]].concat();
            let alone = acme.caller.search(&alone).await.ok();
            let mut expected = comparable(alone.body);
            expected["module"] = module.clone();
            assert_eq!(comparable(entry.clone()), expected);
        }
    }
    let ordered =
        ["first", "article", "news", "todo", "done", "feed", "people", "department", "group", "file"];
    let answer = search_all(&acme.caller, &HARBOUR).await.ok();
    assert_eq!(codes(&answer.items()[..10]), ordered);
    assert_eq!(module_entry(answer.items(), "first")["total"], 55);

    let get = send(acme.caller.request(Method::GET, PATH).query(&HARBOUR)).await.ok();
    let body = acme.caller.post(PATH, &json!({"keyword": "harbour", "limit": 10, "other": 1})).await.ok();
    for other in [get, body] {
        let both = |answer: &Answer| answer.items().iter().cloned().map(comparable).collect::<Vec<_>>();
        assert_eq!(both(&other), both(&answer));
    }
}

/// Book: reference/search.md, "All modules".
#[tokio::test]
async fn cursor_of_a_module_continues_to_the_end() {
    let (app, acme) = TestApp::start_with_acme().await;
    let (articles, others) = (many("a", "harbour", 55, 3), many("x", "harbour", 40, 2));
    app.put_contents(&acme.caller, "article", &articles).await;
    let system = ExternalSystem::start(others.clone()).await;
    app.register_source(&acme, system.registration("x"), "both", &["builtin:article", "x"]).await;
    for sort in ["time", "relevance"] {
        let answer = search_all(&acme.caller, &[HARBOUR[0], ("limit", "7"), ("sort", sort)]).await.ok();
        for (code, expected) in
            [("article", ids_of(&articles)), ("both", [ids_of(&articles), ids_of(&others)].concat())]
        {
            let entry = module_entry(answer.items(), code);
            let mut met = ids_of(entry["data"].as_array().unwrap());
            assert!((7..expected.len()).contains(&met.len()), "{met:?}");
            let id = entry["module"]["id"].as_str().unwrap();
            let mut cursor = entry["cursor"].as_str().map(str::to_owned);
            while let Some(after) = cursor {
                let page = [HARBOUR[0], ("moduleId", id), ("limit", "7"), ("sort", sort), ("cursor", &after)];
                let page = acme.caller.search(&page).await.ok();
                met.extend(page.ids().into_iter().map(str::to_owned));
                cursor = page.cursor();
            }
            let once: HashSet<&String> = met.iter().collect();
            assert_eq!((once.len(), met.len()), (expected.len(), expected.len()), "{code} by {sort}");
            assert_eq!(once, expected.iter().collect());
        }
    }
}

/// Book: explanation/visibility.md.
#[tokio::test]
async fn callers_see_only_permitted_items() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
    acme.caller.post("/api/todo/create", &todo("t1", "harbour", "mei")).await.ok();
    let mut restricted = item("for-omar", "harbour", 2);
    restricted["visibility"] = json!({"users": ["omar"]});
    app.put_contents(&acme.caller, "article", &[item("for-all", "harbour", 1), restricted]).await;
    let (mei, omar) = (app.user(&acme, "mei").await, app.user(&acme, "omar").await);
    for (caller, tasks, articles) in [
        (&mei, 1, vec!["for-all"]),
        (&omar, 0, vec!["for-omar", "for-all"]),
        (&acme.caller, 0, vec!["for-all"]),
    ] {
        let answer = search_all(caller, &HARBOUR).await.ok();
        let streamed = Events::open(caller, PATH, &HARBOUR).await.all().await;
        for entries in [answer.items(), &streamed] {
            let todo = module_entry(entries, "todo");
            assert_eq!((&todo["code"], &todo["total"]), (&json!(200), &json!(tasks)));
            let article = module_entry(entries, "article");
            assert_eq!(ids_of(article["data"].as_array().unwrap()), articles);
            assert_eq!(article["total"], articles.len());
        }
    }
    let other = app.tenant("other").await;
    let answer = search_all(&other.caller, &HARBOUR).await.ok();
    assert!(answer.items().iter().all(|entry| entry["total"] == 0), "{}", answer.text);
}

#[tokio::test]
async fn stream_sends_each_module_once_ready() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut articles = many("a", "harbour", 3, 1);
    for article in &mut articles {
        article["brief"] = "two\nlines".into();
    }
    app.put_contents(&acme.caller, "article", &articles).await;
    let gate = Gate::start(&[item("late", "harbour", 1)]).await;
    let operator = app.operator().await.caller.on("acme");
    operator.post("/admin/v1/sources", &gate.registration("gated")).await.ok();
    show(&operator, "slow", -1, &["gated"]).await;

    let mut events = Events::open(&acme.caller, PATH, &[HARBOUR[0], ("timeout", "10000")]).await;
    assert_eq!(events.header("content-type"), EVENTS);
    assert_eq!((events.header("cache-control"), events.header("x-accel-buffering")), ("no-store", "no"));
    assert!(!events.header("x-request-id").is_empty());
    let mut fast = Vec::new();
    for _ in DEFAULT_MODULES {
        fast.push(events.module().await);
    }
    assert!(!codes(&fast).contains(&"slow"), "{fast:?}");
    gate.wait_for(1).await;
    gate.open();
    let slow = events.module().await;
    assert_eq!((&slow["module"]["code"], &slow["data"][0]["id"]), (&json!("slow"), &json!("late")));
    let done = events.done().await;
    assert_eq!((&done["count"], &done["partial"]), (&json!(12), &json!(false)));
    assert!(done["tookMs"].is_u64());
    assert!(events.next().await.is_none(), "data after `done`");

    let whole = search_all(&acme.caller, &HARBOUR).await.ok();
    fast.push(slow);
    for entry in whole.items() {
        let code = entry["module"]["code"].as_str().unwrap();
        assert_eq!(comparable(entry.clone()), comparable(module_entry(&fast, code).clone()));
    }
    assert_eq!(module_entry(&fast, "article")["data"][0]["brief"], "two\nlines");
}

#[tokio::test]
async fn other_bodies_and_methods_are_refused_and_other_parameters_ignored() {
    let (_app, acme) = TestApp::start_with_acme().await;
    let as_events = acme.caller.request(Method::GET, PATH).header("accept", EVENTS);
    send(as_events).await.fails(400, "keyword");
    acme.caller.post(PATH, &json!(["harbour"])).await.fails(400, "body");
    acme.caller.send_text(Method::POST, PATH, "{").await.fails(400, "body");
    let others =
        [HARBOUR[0], ("moduleId", "nothing"), ("cursor", "abc"), ("paging", "offset"), ("source", "nothing")];
    assert_eq!(search_all(&acme.caller, &others).await.ok().total(), DEFAULT_MODULES.len() as u64);
    acme.caller.post(PATH, &json!({"keyword": "harbour", "moduleId": 5})).await.ok();
    for method in [Method::HEAD, Method::DELETE, Method::PUT] {
        let answer = send(acme.caller.request(method.clone(), PATH).query(&HARBOUR)).await;
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.header("allow").contains("POST"), "{method}");
    }
}

#[tokio::test]
async fn answer_is_json_unless_a_stream_is_requested() {
    let (app, acme) = TestApp::start_with_acme().await;
    for (accept, expected) in [
        ("*/*", false),
        ("text/event-stream;q=0, */*", false),
        ("text/event-stream;q=0.5, application/json", false),
        ("text/event-stream, application/json;q=0.5", true),
        ("text/event-stream, */*", true),
    ] {
        let request = acme.caller.request(Method::GET, PATH).header("accept", accept).query(&HARBOUR);
        let answer = send(request).await;
        assert_eq!(answer.header("content-type") == EVENTS, expected, "{accept}");
        if expected {
            assert!(answer.text.contains("\nevent: done\n"), "{}", answer.text);
        } else {
            answer.ok();
        }
    }
    let description = app.caller("").get("/openapi.json").await.body;
    for method in ["get", "post"] {
        let content = &description["paths"][PATH][method]["responses"]["200"]["content"];
        assert!(content["application/json"].is_object() && content[EVENTS].is_object(), "{content}");
    }
}

#[tokio::test]
async fn tenant_without_modules_gets_an_empty_list() {
    let app = TestApp::start().await;
    let (acme, _operator) = without_modules(&app).await;
    let answer = search_all(&acme.caller, &HARBOUR).await.ok();
    assert_eq!((answer.items().len(), answer.total(), &answer.body["count"]), (0, 0, &json!(0)));
    let (entries, done) = Events::open(&acme.caller, PATH, &HARBOUR).await.read_to_end().await;
    assert!(entries.is_empty());
    assert_eq!((&done["count"], &done["partial"]), (&json!(0), &json!(false)));
}
