//! `explain=true`: the words that found each item, and the parts of its score.

use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::Caller,
    external::ExternalSystem,
    items::{department, item, user},
};

async fn operator(app: &TestApp, acme: &Application) -> Caller {
    app.operator().await.caller.on(&acme.tenant)
}

async fn explained(caller: &Caller, module: &str, keyword: &str, sort: &str) -> Answer {
    let parameters = [("moduleId", module), ("keyword", keyword), ("sort", sort), ("explain", "true")];
    caller.search(&parameters).await.ok()
}

fn word(word: &str, field: &str, matched_as: &str) -> Value {
    json!({"word": word, "field": field, "as": matched_as})
}

#[track_caller]
fn assert_words(answer: &Answer, expected: &[Value]) {
    let words = answer.items()[0]["explain"]["words"].as_array().unwrap();
    assert_eq!(words, expected, "{}", answer.text);
}

#[tokio::test]
async fn item_tells_which_words_matched_where() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut article = item("1", "Travel policies", 1);
    article["brief"] = json!("Hotels and rail, from ISO 27001 to 信息技术");
    article["author"] = json!("Ann Lee");
    app.put_contents(&acme.caller, "article", &[article, item("2", "Harbour map", 2)]).await;
    app.sync(&acme.caller, "organizations", &json!([department("d1", "")])).await;
    let mut person = user("u1", "d1");
    person["name"] = json!("张伟");
    person["loginId"] = json!("quartz");
    app.sync(&acme.caller, "users", &json!([person])).await;
    let operator = operator(&app, &acme).await;
    operator.put("/admin/v1/vocabulary", &json!({"synonyms": [["IT", "信息技术"]]})).await.ok();
    for sort in ["time", "relevance"] {
        for (keyword, expected) in [
            ("travel policy ", &[word("travel", "title", "exact"), word("policy", "title", "stem")][..]),
            ("policies hot", &[word("policies", "title", "exact"), word("hot", "brief", "prefix")]),
            ("travle hotels ", &[word("travel", "title", "corrected"), word("hotels", "brief", "exact")]),
            ("travel author:ann ", &[word("travel", "title", "exact"), word("ann", "author", "exact")]),
        ] {
            let answer = explained(&operator, "article", keyword, sort).await;
            assert_words(&answer, expected);
        }
        let answer = explained(&operator, "article", "hotels author:annlee", sort).await;
        assert_words(&answer, &[word("hotels", "brief", "exact"), word("annlee", "author", "exact")]);
        let answer = explained(&operator, "people", "zhangwei", sort).await;
        assert_words(&answer, &[word("zhangwei", "title", "pinyin")]);
        let answer = explained(&operator, "people", "quartz ", sort).await;
        assert_words(&answer, &[word("quartz", "text", "exact")]);
    }
}

#[tokio::test]
async fn parts_of_a_score_make_the_score() {
    let (app, acme) = TestApp::start_with_acme().await;
    let articles: Vec<Value> =
        (1..20).map(|number| item(&number.to_string(), &"harbour plan ".repeat(number), 1)).collect();
    app.put_contents(&acme.caller, "article", &articles).await;
    let operator = operator(&app, &acme).await;
    let answer = explained(&operator, "article", "harbour plan", "relevance").await;
    let mut before = f64::MAX;
    for item in answer.items() {
        let explain = &item["explain"];
        let part = |name: &str| explain["factors"][name].as_f64().unwrap();
        let together = (part("words") + part("nearness")) * part("completeness") + part("feedback");
        let score = explain["score"].as_f64().unwrap();
        assert!((together * part("recency") - score).abs() < 1e-3, "{explain}");
        assert!(score <= before && score > 0.0, "{explain}");
        before = score;
        assert_eq!(explain["pinned"], false);
    }
    let by_time = explained(&operator, "article", "harbour", "time").await;
    assert_eq!(by_time.items()[0]["explain"]["score"], Value::Null);
    assert_eq!(by_time.items()[0]["explain"]["factors"], Value::Null);
}

#[tokio::test]
async fn pinned_and_external_items_are_explained() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "Leave form", 1), item("2", "Map", 2)]).await;
    let system = ExternalSystem::start(vec![item("x", "Leave of absence", 3)]).await;
    app.register_source(&acme, system.registration("x"), "mixed", &["builtin:article", "x"]).await;
    let operator = operator(&app, &acme).await;
    let pins = json!({"pinned": [{"keyword": "leave", "items": [{"module": "article", "id": "2"}]}]});
    operator.put("/admin/v1/vocabulary", &pins).await.ok();
    let answer = explained(&operator, "mixed", "leave", "relevance").await;
    let of = |id: &str| answer.items().iter().find(|item| item["id"] == id).unwrap()["explain"].clone();
    assert_eq!((of("2")["pinned"].clone(), of("2")["words"].clone()), (json!(true), json!([])));
    assert_eq!(of("1")["pinned"], false);
    assert_eq!(of("x")["words"], json!([word("leave", "title", "exact")]));
    assert!(of("x")["score"].as_f64().unwrap() > 0.0);
}

#[tokio::test]
async fn explanation_takes_the_scope_admin_and_a_short_page() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "Leave form", 1)]).await;
    let asked = [("moduleId", "article"), ("keyword", "leave"), ("explain", "true")];
    acme.caller.search(&asked).await.fails(403, "admin");
    let operator = operator(&app, &acme).await;
    operator.search(&[&asked[..], &[("limit", "51")]].concat()).await.fails(400, "limit");
    operator.search(&[&asked[..2], &[("explain", "yes")]].concat()).await.fails(400, "explain");
    let answer = operator.search(&asked[..2]).await.ok();
    assert_eq!(answer.items()[0].get("explain"), None);
}
