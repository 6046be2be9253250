//! An operator's vocabulary in searches: words never corrected (decisions 12.4).

use serde_json::{Value, json};

use crate::util::{
    all_modules::{module_entry, search_all},
    answer::Answer,
    app::{Application, TestApp},
    caller::Caller,
    items::item,
};

async fn put(app: &TestApp, acme: &Application, vocabulary: Value) {
    let operator = app.operator().await.caller.on(&acme.tenant);
    operator.put("/admin/v1/vocabulary", &vocabulary).await.ok();
}

async fn find(caller: &Caller, module: &str, keyword: &str, more: &[(&str, &str)]) -> Answer {
    let parameters = [&[("moduleId", module), ("keyword", keyword)][..], more].concat();
    caller.search(&parameters).await.ok()
}

#[tokio::test]
async fn words_of_the_vocabulary_are_not_corrected_and_others_are() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &[item("1", "harbour budget of the company", 1)]).await;
    let other = app.tenant("other").await;
    app.put_contents(&other.caller, "article", &[item("1", "harbour budget", 1)]).await;
    let corrected = async |caller: &Caller, keyword: &str| {
        let answer = find(caller, "article", keyword, &[("sort", "relevance")]).await;
        answer.body.get("corrected").and_then(Value::as_str).map(str::to_owned)
    };
    assert_eq!(corrected(&acme.caller, "harbuor").await.as_deref(), Some("harbour"));
    let vocabulary = json!({
        "synonyms": [["bugdet", "cost plan"], ["compony law", "act"]], "oneWay": [{"from": "compani", "to": ["firm"]}],
        "neverCorrect": ["Harbuor"],
    });
    put(&app, &acme, vocabulary).await;
    for (keyword, meant) in [
        ("harbuor", None),
        ("HARBUORS", None),
        ("bugdet", None),
        ("compani", None),
        ("\"harbuor bugdet\"", None),
        ("budgte", Some("budget")),
        // Words of longer terms are ordinary ones.
        ("compony", Some("company")),
        ("budgte harbuor", Some("budget harbuor")),
        ("harbuor budgte compony", Some("harbuor budget company")),
    ] {
        assert_eq!(corrected(&acme.caller, keyword).await.as_deref(), meant, "{keyword}");
    }
    assert_eq!(corrected(&other.caller, "harbuor").await.as_deref(), Some("harbour"));
    let all = search_all(&acme.caller, &[("keyword", "harbuor")]).await.ok();
    assert_eq!(module_entry(all.items(), "article").get("corrected"), None);
    put(&app, &acme, json!({})).await;
    assert_eq!(corrected(&acme.caller, "harbuor").await.as_deref(), Some("harbour"), "in the next search");
}
