//! `highlight=true`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::send,
    external::ExternalSystem,
    items::item,
};

async fn with_both(articles: &[Value], foreign: Vec<Value>) -> (TestApp, Application, ExternalSystem) {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", articles).await;
    let system = ExternalSystem::start(foreign).await;
    app.register_source(&acme, system.registration("x"), "all", &["builtin:article", "x"]).await;
    (app, acme, system)
}

fn take_highlights(answer: &mut Answer) -> Vec<(String, Value)> {
    let items = answer.body["data"].as_array_mut().unwrap();
    let take = |item: &mut Value| {
        let highlight = item.as_object_mut().unwrap().remove("highlight");
        (item["id"].as_str().unwrap().to_owned(), highlight.unwrap_or_default())
    };
    items.iter_mut().map(take).collect()
}

#[tokio::test]
async fn parts_of_a_missing_word_are_marked() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "联通与公司的合同", 1)]).await;
    for sort in ["time", "relevance"] {
        let parameters =
            [("moduleId", "article"), ("keyword", "联通公司"), ("sort", sort), ("highlight", "true")];
        let found = acme.caller.search(&parameters).await.ok();
        let title = &found.items()[0]["highlight"]["title"];
        assert_eq!(title, "<em>联通</em>与<em>公司</em>的合同", "{sort}");
        assert_eq!(
            found.body["relaxed"]["leftOut"][0],
            if sort == "time" { json!("联通公司") } else { Value::Null }
        );
    }
}

#[tokio::test]
async fn items_of_every_source_are_highlighted() {
    let long =
        format!("{}the <b>harbour</b> master{}", "Nothing here. ".repeat(2_000), " or there".repeat(2_000));
    let article = json!({
        "id": "a", "title": "Harbours & \"quays\"", "subTitle": "Hafen", "brief": long, "author": "harbour", "displayTime": 9,
        "visibility": null,
    });
    let foreign = json!({
        "id": "x", "title": "HARBOUR\\\\/ 國際碼頭", "displayTime": 5, "highlight": {"title": "<script>", "brief": "x"},
    });
    let (_app, acme, _system) = with_both(&[article], vec![foreign]).await;
    let plain = acme.caller.search(&[("keyword", "harb"), ("moduleId", "all")]).await.ok();
    assert!(plain.items().iter().all(|item| item.get("highlight").is_none()), "{}", plain.text);

    let parameters = [("keyword", "harb"), ("moduleId", "all"), ("highlight", "true")];
    let mut marked = acme.caller.search(&parameters).await.ok();
    let highlights = take_highlights(&mut marked);
    assert_eq!(marked.items(), plain.items(), "other fields changed");
    assert_eq!((marked.total(), marked.cursor()), (2, None));
    let [(first, article), (second, foreign)] = &highlights[..] else { panic!("{}", marked.text) };
    assert_eq!((first.as_str(), second.as_str()), ("a", "x"));
    assert_eq!(article["title"], "<em>Harbours</em> &amp; &quot;quays&quot;");
    assert_eq!(article["subTitle"], "Hafen");
    assert_eq!(article.as_object().unwrap().len(), 3, "{article}");
    let brief = article["brief"].as_str().unwrap();
    assert!(brief.contains("the &lt;b&gt;<em>harbour</em>&lt;/b&gt; master"), "{brief}");
    assert!(brief.starts_with('…') && brief.ends_with('…') && brief.len() < 400, "{brief}");
    assert_eq!(*foreign, json!({"title": "<em>HARBOUR</em>\\\\/ 國際碼頭"}));
}

#[tokio::test]
async fn highlight_in_a_body_is_a_boolean_or_its_text() {
    let (_app, acme, _system) = with_both(&[item("a", "国际新闻", 1)], vec![]).await;
    let marked = json!({"title": "<em>国际</em>新闻"});
    for (given, expected) in [
        (json!(true), &marked),
        (json!("true"), &marked),
        (json!(false), &Value::Null),
        (json!(""), &Value::Null),
        (json!(null), &Value::Null),
    ] {
        let body = json!({"keyword": "國際", "moduleId": "all", "highlight": given});
        let mut answer = acme.caller.post("/contents/search", &body).await.ok();
        assert_eq!(take_highlights(&mut answer), [("a".to_owned(), expected.clone())]);
    }
}

#[tokio::test]
async fn search_of_all_modules_is_highlighted() {
    let (app, acme, _system) = with_both(&[item("a", "harbour", 1)], vec![item("x", "no harbour", 1)]).await;
    app.put_contents(&acme.caller, "news", &[item("n", "Harbours", 1)]).await;
    let parameters = [("keyword", "harbour"), ("highlight", "true")];
    let request = acme.caller.request(Method::POST, "/contents/search/all").query(&parameters);
    let answer = send(request).await.ok();
    let title_of = |entries: &[Value], code: &str, place: usize| {
        let entry = entries.iter().find(|entry| entry["module"]["code"] == code).unwrap();
        entry["data"][place]["highlight"]["title"].as_str().unwrap().to_owned()
    };
    assert_eq!(title_of(answer.items(), "news", 0), "<em>Harbours</em>");
    assert_eq!(title_of(answer.items(), "all", 1), "no <em>harbour</em>");

    let request = acme.caller.request(Method::POST, "/contents/search/all").query(&parameters);
    let stream = send(request.header("accept", "text/event-stream")).await;
    assert_eq!(stream.status, 200);
    let data = stream.text.lines().filter_map(|line| line.strip_prefix("data:"));
    let entries: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    assert_eq!(title_of(&entries, "article", 0), "<em>harbour</em>");
    assert_eq!(title_of(&entries, "all", 1), "no <em>harbour</em>");
}

/// A page of this size is marked on a worker thread.
#[tokio::test]
async fn page_of_long_articles_is_highlighted() {
    let brief = "码头起重机维修计划。".repeat(600);
    let articles: Vec<Value> = (0..100)
        .map(
            |number| json!({"id": format!("{number:03}"), "title": "维修", "brief": brief, "displayTime": 1}),
        )
        .collect();
    let (_app, acme, _system) = with_both(&articles, vec![]).await;
    let parameters =
        [("keyword", "起重机"), ("moduleId", "article"), ("limit", "100"), ("highlight", "true")];
    let mut answer = acme.caller.search(&parameters).await.ok();
    let highlights = take_highlights(&mut answer);
    assert_eq!(highlights.len(), 100);
    for (_, highlight) in highlights {
        assert_eq!(highlight["title"], "维修");
        assert!(highlight["brief"].as_str().unwrap().contains("<em>起重机</em>"), "{highlight}");
    }
}

#[tokio::test]
async fn question_words_are_not_highlighted() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "What the harbour costs", 1)]).await;
    for sort in ["relevance", "time"] {
        let parameters = [
            ("keyword", "what the harbour costs"),
            ("moduleId", "article"),
            ("highlight", "true"),
            ("sort", sort),
        ];
        let answer = acme.caller.search(&parameters).await.ok();
        let title = &answer.items()[0]["highlight"]["title"];
        assert_eq!(title, "What the <em>harbour</em> <em>costs</em>", "by {sort}");
    }
}
