//! `top` of searches of all modules.

use serde_json::{Value, json};
use trawl::registry::modules::DEFAULT_MODULES;

use crate::util::{
    all_modules::{PATH, codes, search_all, show},
    app::{Application, TestApp},
    caller::Caller,
    events::Events,
    eventually,
    external::ExternalSystem,
    items::{NEW_YEAR, item, user},
};

const BEST: [(&str, &str); 2] = [("sort", "relevance"), ("timeout", "10000")];

fn opening(address: &str, mut item: Value) -> Value {
    item["action"] = json!({ "web": format!("[OpenUrl]\nurl={address}") }).to_string().into();
    item
}

async fn acme(app: &TestApp) -> Application {
    let acme = app.tenant("acme").await;
    app.sync(&acme.caller, "users", &json!([user("ann", ""), user("bob", "")])).await;
    let mut secret = item("a2", "Harbour dues", NEW_YEAR);
    secret["visibility"] = json!({"users": ["ann"]});
    let plan = opening("https://plans.example/harbour", item("a1", "Harbour dues of this year", NEW_YEAR));
    app.put_contents(&acme.caller, "article", &[plan, secret, item("a3", "Garden", NEW_YEAR)]).await;
    let mut news = item("n1", "News", NEW_YEAR);
    news["brief"] = "The dues of the harbour, at some length and among many other words of the week".into();
    app.put_contents(&acme.caller, "news", &[news]).await;
    acme
}

/// The best items, once every module was in time for them.
async fn top_of(caller: &Caller, parameters: &[(&str, &str)]) -> Value {
    eventually("the best of all modules", async || {
        let answer = search_all(caller, &[&BEST, parameters].concat()).await.ok();
        let top = answer.body["top"].clone();
        (top.is_null() || top["partial"] == false).then_some(top)
    })
    .await
}

/// Modules and ids.
fn names(top: &Value) -> Vec<[&str; 2]> {
    let items = top["data"].as_array().unwrap().iter();
    items.map(|item| ["module", "id"].map(|name| item[name].as_str().unwrap())).collect()
}

#[tokio::test]
async fn best_items_of_all_modules_are_shown_once_to_their_viewers() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    let operator = app.operator().await.caller.on("acme");
    show(&operator, "mixed", 0, &["builtin:news", "builtin:article"]).await;
    let [ann, bob] = [app.user(&acme, "ann").await, app.user(&acme, "bob").await];
    let dues = [("keyword", "harbour dues"), ("top", "5")];
    let top = top_of(&ann, &dues).await;
    assert_eq!(names(&top), [["article", "a2"], ["article", "a1"], ["news", "n1"]]);
    assert_eq!((&top["code"], &top["partial"], &top["cursor"]), (&json!(200), &json!(false), &Value::Null));
    let top = top_of(&bob, &dues).await;
    assert_eq!((names(&top), &top["total"]), (vec![["article", "a1"], ["news", "n1"]], &json!(2)));
    assert_eq!(names(&top_of(&bob, &[dues[0], ("top", "1")]).await), [["article", "a1"]]);
    let marked = top_of(&bob, &[dues[0], dues[1], ("highlight", "true")]).await;
    assert_eq!(marked["data"][0]["highlight"]["title"], "<em>Harbour</em> <em>dues</em> of this year");
    assert_eq!(top_of(&bob, &[dues[0]]).await, Value::Null);
}

#[tokio::test]
async fn item_of_two_systems_with_one_address_is_shown_once() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    let copies = [
        opening("https://plans.example/harbour", item("x1", "Harbour dues", NEW_YEAR)),
        opening("https://plans.example/other", item("x2", "Harbour dues", NEW_YEAR)),
    ];
    let system = ExternalSystem::start(copies.to_vec()).await;
    app.register_source(&acme, system.registration("x"), "wiki", &["x"]).await;
    let top = top_of(&acme.caller, &[("keyword", "harbour dues"), ("top", "9")]).await;
    let mut found = names(&top);
    found.sort_unstable();
    // The one with the shorter title stays of the two with one address.
    assert_eq!(found, [["news", "n1"], ["wiki", "x1"], ["wiki", "x2"]]);
}

#[tokio::test]
async fn pinned_items_come_first() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    let operator = app.operator().await.caller.on("acme");
    let pins = json!({"pinned": [{"keyword": "harbour", "items": [{"module": "article", "id": "a3"}]}]});
    operator.put("/admin/v1/vocabulary", &pins).await.ok();
    let top = top_of(&acme.caller, &[("keyword", "harbour"), ("top", "2")]).await;
    assert_eq!(names(&top)[0], ["article", "a3"]);
    assert_eq!(top["data"][0]["pinned"], true);
}

#[tokio::test]
async fn corrected_words_are_searched_for_in_all_alike() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    let top = top_of(&acme.caller, &[("keyword", "harbuor dues"), ("top", "3")]).await;
    assert_eq!((top["corrected"].as_str(), names(&top).len()), (Some("harbour dues"), 2));
    let top = top_of(&acme.caller, &[("keyword", "harbuor"), ("top", "3"), ("exact", "true")]).await;
    assert_eq!((top["code"].clone(), names(&top).len()), (json!(200), 0));
}

#[tokio::test]
async fn hanging_system_is_not_waited_for() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    let system = ExternalSystem::start(vec![item("x1", "Harbour dues", NEW_YEAR)]).await;
    app.register_source(&acme, system.registration("x"), "wiki", &["x"]).await;
    system.hold_answers();
    let parameters = [&BEST[..], &[("keyword", "harbour dues"), ("top", "3")]].concat();
    // The index of a busy machine may miss the part of the time, too.
    let (events, modules, top) = eventually("the best of the index", async || {
        let mut events = Events::open(&acme.caller, PATH, &parameters).await;
        let mut modules = Vec::new();
        loop {
            let (name, data) = events.next().await.unwrap();
            if name == "top" {
                let is_whole = modules.len() == DEFAULT_MODULES.len();
                break is_whole.then_some((events, modules, data));
            }
            modules.push(data);
        }
    })
    .await;
    assert!(!codes(&modules).contains(&"wiki"));
    assert_eq!((names(&top), &top["partial"]), (vec![["article", "a1"], ["news", "n1"]], &json!(true)));
    system.release_answers();
    let (rest, done) = events.read_to_end().await;
    assert_eq!(codes(&rest), ["wiki"]);
    assert_eq!((&rest[0]["data"][0]["id"], &done["partial"]), (&json!("x1"), &json!(false)));
}

#[tokio::test]
async fn wrong_number_or_order_is_refused_by_name() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    let keyword = ("keyword", "harbour");
    for number in ["0", "21", "x"] {
        search_all(&acme.caller, &[BEST[0], keyword, ("top", number)]).await.fails(400, "top: ");
    }
    for order in ["time", ""] {
        search_all(&acme.caller, &[("sort", order), keyword, ("top", "3")]).await.fails(400, "top: ");
    }
}
