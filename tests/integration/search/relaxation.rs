//! Searches by time that would find nothing, answered with fewer words.

use serde_json::{Value, json};

use crate::util::{
    all_modules::{module_entry, search_all},
    answer::Answer,
    app::{Application, TestApp},
    external::ExternalSystem,
    items::item,
};

async fn search(acme: &Application, parameters: &[(&str, &str)]) -> Answer {
    acme.caller.search(&[&[("moduleId", "article")], parameters].concat()).await.ok()
}

#[tokio::test]
async fn words_are_left_out_until_something_is_found() {
    let (app, acme) = TestApp::start_with_acme().await;
    let items = [
        item("policy", "Parental leave policy", 5),
        item("contractors", "Shanghai contractors", 4),
        item("budget", "Budget due on Friday", 3),
        item("claims", "报销流程说明", 2),
        item("code", "Drawing C-2052 of the harbour", 1),
    ];
    app.put_contents(&acme.caller, "article", &items).await;
    for (keyword, id, left_out) in [
        ("parental leave policy Shanghai contractors", "policy", Some(json!(["Shanghai", "contractors"]))),
        ("harbour zzzzzz", "code", Some(json!(["zzzzzz"]))),
        ("harbour \"leave policy\"", "policy", Some(json!(["harbour"]))),
        ("-leave budget harbour Friday", "budget", Some(json!(["harbour"]))),
        ("C-2052 leave", "code", Some(json!(["leave"]))),
        ("报销流程怎么走", "claims", Some(json!(["走"]))),
        // Words that only ask are not required.
        ("when is the budget due", "budget", None),
        ("what is budget", "budget", None),
        // The last word may be unfinished.
        ("zzzzzz contract", "contractors", Some(json!(["zzzzzz"]))),
        // The correction finds nothing either.
        ("harbuor budget", "code", Some(json!(["budget"]))),
    ] {
        let answer = search(&acme, &[("keyword", keyword)]).await;
        let relaxed = left_out.map(|words| json!({"leftOut": words}));
        assert_eq!((answer.ids(), answer.body.get("relaxed")), (vec![id], relaxed.as_ref()), "{keyword}");
    }
    for parameters in [
        &[("keyword", "harbour zzzzzz"), ("exact", "true")][..],
        &[("keyword", "when is the budget due"), ("exact", "true")],
        &[("keyword", "harbuor"), ("exact", "true")],
        &[("keyword", "\"harbour budget\"")],
        &[("keyword", "budget -budget")],
        &[("keyword", "budget author:nobody")],
        &[("keyword", "budget C-7777")],
        &[("keyword", "zzzzzz qqqqqq")],
    ] {
        let answer = search(&acme, parameters).await;
        let changed = ["relaxed", "corrected"].map(|field| answer.body.get(field));
        assert_eq!((answer.total(), changed), (0, [None, None]), "{parameters:?}");
    }
    let marked = search(&acme, &[("keyword", "harbour zzzzzz"), ("highlight", "true")]).await;
    assert_eq!(marked.items()[0]["highlight"]["title"], "Drawing C-2052 of the <em>harbour</em>");
    let wrong = [("moduleId", "article"), ("keyword", "harbour"), ("exact", "maybe")];
    let refused = acme.caller.search(&wrong).await;
    assert_eq!(
        (refused.status, refused.body["message"].as_str().unwrap()),
        (400, "exact: must be `true` or `false`, not \"maybe\"")
    );
}

#[tokio::test]
async fn external_sources_are_asked_for_the_words_that_stay() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("own", "harbour", 2)]).await;
    let system = ExternalSystem::start(Vec::new()).await;
    app.register_source(&acme, system.registration("sys"), "mixed", &["builtin:article", "sys"]).await;
    let parameters = [("moduleId", "mixed"), ("keyword", "harbour zzzzzz")];
    let answer = acme.caller.search(&parameters).await.ok();
    assert_eq!((answer.ids(), &answer.body["relaxed"]), (vec!["own"], &json!({"leftOut": ["zzzzzz"]})));
    let asked: Vec<String> = system.requests().into_iter().map(|request| request.keyword).collect();
    assert_eq!(asked, ["harbour zzzzzz", "harbour "]);
}

#[tokio::test]
async fn search_of_all_modules_is_relaxed_only_without_matches() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "harbour budget", 3)]).await;
    app.put_contents(&acme.caller, "news", &[item("2", "harbour", 2), item("3", "quay budget", 1)]).await;
    let found = async |keyword: &str| {
        let answer = search_all(&acme.caller, &[("keyword", keyword)]).await.ok();
        ["article", "news"].map(|code| {
            let entry = module_entry(answer.items(), code);
            let ids: Vec<Value> =
                entry["data"].as_array().unwrap().iter().map(|item| item["id"].clone()).collect();
            (Value::from(ids), entry["relaxed"]["leftOut"].clone())
        })
    };
    let nothing = (json!([]), Value::Null);
    assert_eq!(found("harbour budget").await, [(json!(["1"]), Value::Null), nothing.clone()]);
    assert_eq!(found("harbour budget zzzzzz").await, [(json!(["1"]), json!(["zzzzzz"])), nothing.clone()]);
    assert_eq!(
        found("harbour zzzzzz").await,
        [(json!(["1"]), json!(["zzzzzz"])), (json!(["2"]), json!(["zzzzzz"]))]
    );
    assert_eq!(found("qqqqqq zzzzzz").await, [nothing.clone(), nothing]);
}

#[tokio::test]
async fn words_that_nothing_holds_are_named_by_relevance() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("a", "Harbour plan", 1)]).await;
    app.put_contents(&acme.caller, "news", &[item("n", "Harbour news", 1)]).await;
    let system = ExternalSystem::start(vec![item("x", "harbour of Qqqzzz", 1)]).await;
    app.register_source(&acme, system.registration("x"), "crm", &["x"]).await;
    let parameters = [("keyword", "harbour qqqzzz xxyyzz"), ("sort", "relevance")];
    let relaxed = |words: &[&str]| json!({"leftOut": words});
    assert_eq!(search(&acme, &parameters).await.body["relaxed"], relaxed(&["qqqzzz", "xxyyzz"]));
    let all = search_all(&acme.caller, &parameters).await.ok();
    for (module, left_out) in
        [("article", &["qqqzzz", "xxyyzz"][..]), ("news", &["qqqzzz", "xxyyzz"]), ("crm", &["xxyyzz"])]
    {
        assert_eq!(module_entry(all.items(), module)["relaxed"], relaxed(left_out), "{module}");
    }
    for parameters in [
        [("keyword", "harbour plan"), ("sort", "relevance"), ("exact", "false")],
        [("keyword", "harbour qqqzzz"), ("sort", "relevance"), ("exact", "true")],
        [("keyword", "qqqzzz"), ("sort", "relevance"), ("exact", "false")],
    ] {
        assert_eq!(search(&acme, &parameters).await.body["relaxed"], Value::Null, "{parameters:?}");
    }
}
