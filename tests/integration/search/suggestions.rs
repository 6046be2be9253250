//! `/contents/suggest`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::{Caller, send},
    files::put_file,
    folders::{folder, give},
    groups::people,
    items::{department, item, todo, user},
};

const PATH: &str = "/contents/suggest";

async fn suggest(caller: &Caller, parameters: &[(&str, &str)]) -> Vec<Value> {
    let answer = send(caller.request(Method::GET, PATH).query(parameters)).await.ok();
    assert_eq!(answer.total(), answer.items().len() as u64);
    answer.items().to_vec()
}

/// Returns the suggested texts in order.
async fn texts(caller: &Caller, prefix: &str) -> Vec<String> {
    let suggestions = suggest(caller, &[("prefix", prefix)]).await;
    suggestions.iter().map(|suggestion| suggestion["text"].as_str().unwrap().to_owned()).collect()
}

fn by(author: &str, mut item: Value) -> Value {
    item["author"] = author.into();
    item
}

fn visible_to(visibility: Value, mut item: Value) -> Value {
    item["visibility"] = visibility;
    item
}

fn named(id: &str, name: &str) -> Value {
    let mut person = user(id, "");
    person["name"] = name.into();
    person
}

async fn acme(app: &TestApp) -> Application {
    let acme = app.tenant("acme").await;
    let mut finance = department("d-finance", "");
    finance["name"] = "财务部 Finance".into();
    app.sync(&acme.caller, "organizations", &json!([finance])).await;
    let staff = json!([named("u1", "周海龙"), named("u2", "Wang Fang"), named("u3", "王芳")]);
    app.sync(&acme.caller, "users", &staff).await;
    let articles = [
        by("Noor Annan", item("a1", "Annual budget 2026", 1_000)),
        item("a2", "The annual report", 3_000),
        item("a3", "Annual report", 2_000),
        item("a4", "年度预算报告", 4_000),
        by("周海龙", item("a5", "国际会议纪要", 5_000)),
    ];
    app.put_contents(&acme.caller, "article", &articles).await;
    app.put_contents(
        &acme.caller,
        "news",
        &[item("n1", "ANNUAL REPORT", 9_000), item("n2", "Announcement", 1)],
    )
    .await;
    acme
}

#[tokio::test]
async fn titles_people_departments_authors_and_modules_are_suggested() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    let modules = acme.caller.post_empty("/modules").await.ok();
    let people_module = modules.items().iter().find(|module| module["code"] == "people").unwrap();
    let of = |text: &str, kind: &str, module: &str, id: &str| {
        let of_item = |value: &str| if value.is_empty() { Value::Null } else { value.into() };
        json!({"text": text, "kind": kind, "module": of_item(module), "id": of_item(id)})
    };
    for (prefix, expected) in [
        ("annual b", of("Annual budget 2026", "title", "article", "a1")),
        ("年度预", of("年度预算报告", "title", "article", "a4")),
        ("預算", of("年度预算报告", "title", "article", "a4")),
        ("國際", of("国际会议纪要", "title", "article", "a5")),
        ("ａｎｎｏ", of("Announcement", "title", "news", "n2")),
        ("zhouh", of("周海龙", "person", "people", "u1")),
        ("zhl", of("周海龙", "person", "people", "u1")),
        ("周", of("周海龙", "person", "people", "u1")),
        ("wang fa", of("王芳", "person", "people", "u3")),
        ("caiw", of("财务部 Finance", "department", "department", "d-finance")),
        ("noor", of("Noor Annan", "author", "", "")),
        (
            people_module["name"].as_str().unwrap(),
            of("People", "module", "people", people_module["id"].as_str().unwrap()),
        ),
    ] {
        let found = suggest(&acme.caller, &[("prefix", prefix)]).await;
        assert_eq!(found.first(), Some(&expected), "{prefix}: {found:?}");
    }
    assert_eq!(texts(&acme.caller, "wang f").await, ["王芳", "Wang Fang"]);
    assert_eq!(texts(&acme.caller, "budget annual").await, [""; 0]);
    assert_eq!(texts(&acme.caller, "nnual").await, [""; 0]);
}

#[tokio::test]
async fn id_is_completed_by_its_item_from_the_first_digit_on() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    app.put_contents(&acme.caller, "article", &[item("QT-1042", "Harbour dues", 1)]).await;
    for prefix in ["QT-1", "qt1042", "qt 10"] {
        assert_eq!(texts(&acme.caller, prefix).await, ["Harbour dues"], "{prefix}");
    }
    for prefix in ["q", "QT", "QT-"] {
        assert_eq!(texts(&acme.caller, prefix).await, [""; 0], "{prefix}");
    }
}

#[tokio::test]
async fn limit_bounds_the_list_and_a_module_narrows_it() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let many: Vec<Value> =
        (10..40).map(|number| item(&number.to_string(), &format!("Harbour {number}"), number)).collect();
    app.put_contents(&acme.caller, "article", &many).await;
    app.put_contents(&acme.caller, "news", &[item("n", "Harbour news", 1)]).await;
    assert_eq!(texts(&acme.caller, "harb").await.len(), 8);
    for limit in [1, 20] {
        let found = suggest(&acme.caller, &[("prefix", "harb"), ("limit", &limit.to_string())]).await;
        assert_eq!(found.len(), limit);
        assert_eq!(found[0]["text"], "Harbour 39", "the newest of equally long ones");
    }
    let modules = acme.caller.post_empty("/modules").await.ok();
    let news = modules.items().iter().find(|module| module["code"] == "news").unwrap();
    for module in ["news", news["id"].as_str().unwrap()] {
        let found = suggest(&acme.caller, &[("prefix", "h"), ("moduleId", module)]).await;
        assert_eq!(found, [json!({"text": "Harbour news", "kind": "title", "module": "news", "id": "n"})]);
    }
    assert_eq!(suggest(&acme.caller, &[("prefix", "new"), ("moduleId", "news")]).await.len(), 1, "no module");
}

#[tokio::test]
async fn invisible_items_are_never_suggested() {
    let app = TestApp::start().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    let mut hidden = department("d-hidden", "");
    (hidden["name"], hidden["isHidden"]) = ("Harbour takeover".into(), true.into());
    app.sync(&acme.caller, "organizations", &json!([hidden, department("d1", "")])).await;
    let [mei, omar] = people(&app, &acme, ["mei", "omar"]).await;
    let mut gone = named("gone", "Harbour Master");
    gone["isHidden"] = true.into();
    app.sync(&acme.caller, "users", &json!([gone, {"userId": "omar", "orgId": "d1"}])).await;
    let articles = [
        item("open", "Harbour plan", 1),
        visible_to(json!({"users": ["mei"]}), by("Harbourer Mei", item("mei", "Harbour of Mei", 2))),
        visible_to(json!({"departments": ["d1"]}), item("d1", "Harbour of department one", 3)),
        visible_to(json!({"users": []}), by("Harbourer Nobody", item("nobody", "Harbour of nobody", 4))),
    ];
    app.put_contents(&acme.caller, "article", &articles).await;
    app.put_contents(&other.caller, "article", &[by("Harbour Other", item("x", "Harbour elsewhere", 5))])
        .await;
    acme.caller.post("/api/todo/create", &todo("t", "Harbour task", "omar")).await.ok();
    let private = folder(&mei, "", "Private").await;
    put_file(&mei, &private, "Harbour file.md", b"# Quay").await;
    app.wait_for_index().await;

    let seen = async |caller: &Caller| {
        let mut seen = texts(caller, "harb").await;
        seen.sort_unstable();
        seen
    };
    assert_eq!(seen(&acme.caller).await, ["Harbour plan"]);
    assert_eq!(seen(&other.caller).await, ["Harbour Other", "Harbour elsewhere"]);
    assert_eq!(seen(&mei).await, ["Harbour file.md", "Harbour of Mei", "Harbour plan", "Harbourer Mei"]);
    assert_eq!(seen(&omar).await, ["Harbour of department one", "Harbour plan", "Harbour task"]);

    give(&mei, &private, "viewer", &["omar"]).await;
    app.sync(&acme.caller, "users", &json!([{"userId": "omar", "orgId": ""}])).await;
    assert_eq!(seen(&omar).await, ["Harbour file.md", "Harbour plan", "Harbour task"]);
}

#[tokio::test]
async fn prefix_without_a_word_has_no_suggestions() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    for prefix in ["", " \t\u{3000}", "…", "🦀"] {
        assert_eq!(texts(&acme.caller, prefix).await, [""; 0], "{prefix:?}");
    }
}

#[tokio::test]
async fn wrong_parameters_of_suggestions_are_named() {
    let app = TestApp::start().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    let get = async |parameters: &[(&str, &str)]| {
        send(acme.caller.request(Method::GET, PATH).query(parameters)).await
    };
    for limit in ["0", "21", "-1", "abc", "1.5"] {
        get(&[("prefix", "x"), ("limit", limit)]).await.fails(400, "limit");
    }
    let longest = "港".repeat(256);
    get(&[("prefix", &longest)]).await.ok();
    get(&[("prefix", &(longest.clone() + "x"))]).await.fails(400, "prefix");
    get(&[]).await.fails(400, "prefix");
    get(&[("prefix", "a"), ("prefix", "b")]).await.fails(400, "prefix");
    let modules = other.caller.post_empty("/modules").await.ok();
    for module in ["nothing", modules.items()[0]["id"].as_str().unwrap()] {
        get(&[("prefix", "x"), ("moduleId", module)]).await.fails(404, "moduleId");
        get(&[("prefix", ""), ("moduleId", module)]).await.fails(404, "moduleId");
    }
}
