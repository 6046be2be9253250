//! `POST /admin/v1/search`: a search as an application or a person sees it.

use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::Caller,
    console::Operated,
    external::ExternalSystem,
    items::{item, many, todo, user},
};

const PATH: &str = "/admin/v1/search";

async fn find(operator: &Caller, body: &Value) -> Answer {
    operator.post(PATH, body).await.ok()
}

#[tokio::test]
async fn operator_searches_as_an_application_and_as_a_person() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", ""), user("tom", "")])).await;
    acme.caller.post("/api/todo/create", &todo("t1", "Harbour plan", "mei")).await.ok();
    app.put_contents(&acme.caller, "article", &[item("1", "Harbour map", 1)]).await;
    app.wait_for_index().await;
    let operator = app.operator().await;
    let on_acme = operator.caller.on("acme");
    let of_todos = json!({"keyword": "harbour", "moduleId": "todo", "explain": true});
    let as_mei = json!({"keyword": "harbour", "moduleId": "todo", "explain": true, "userId": "mei"});

    assert_eq!(find(&on_acme, &of_todos).await.total(), 0);
    let found = find(&on_acme, &as_mei).await;
    assert_eq!(found.total(), 1);
    assert_eq!(found.items()[0]["explain"]["words"][0]["word"], "harbour");
    let by_query = on_acme.post_empty(&format!("{PATH}?keyword=harbour&moduleId=todo&userId=mei")).await.ok();
    assert_eq!(by_query.ids(), found.ids());
    let as_tom = json!({"keyword": "harbour", "moduleId": "todo", "userId": "tom"});
    assert_eq!(find(&on_acme, &as_tom).await.total(), 0);
    assert_eq!(find(&on_acme, &json!({"keyword": "harbour", "moduleId": "article"})).await.total(), 1);

    let audited = on_acme.get("/admin/v1/audit?action=search-as").await.ok();
    let searched: Vec<Value> = audited
        .items()
        .iter()
        .map(|event| json!([event["objectId"], event["clientId"], event["details"]]))
        .collect();
    assert_eq!(searched, ["tom", "mei", "mei"].map(|id| json!([id, operator.client_id, {}])));
    assert!(!audited.text.contains("harbour"), "{}", audited.text);
}

#[tokio::test]
async fn search_as_a_person_is_for_operators_and_people_of_the_tenant() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut off = user("off", "");
    off["status"] = json!(0);
    app.sync(&acme.caller, "users", &json!([user("mei", ""), off])).await;
    app.tenant("beta").await;
    let operator = app.operator().await.caller;
    let as_person = |id: &str| json!({"keyword": "harbour", "moduleId": "todo", "userId": id});
    for (tenant, id) in [("acme", "nobody"), ("acme", "off"), ("beta", "mei")] {
        operator.on(tenant).post(PATH, &as_person(id)).await.fails(404, "userId: ");
    }
    operator.on("acme").post(PATH, &json!({"keyword": " ", "moduleId": "todo"})).await.fails(400, "keyword");
    operator.on("acme").post(PATH, &json!({"keyword": "x", "moduleId": "none"})).await.fails(404, "moduleId");
    acme.caller.post(PATH, &as_person("mei")).await.fails(403, "admin");
    app.user(&acme, "mei").await.post(PATH, &as_person("mei")).await.fails(403, "application token");
    let audited = operator.get("/admin/v1/audit?allTenants=true&action=search-as").await.ok();
    assert!(audited.items().is_empty(), "{}", audited.text);
}

#[tokio::test]
async fn operator_in_a_browser_searches_one_source() {
    let all = Operated::start().await;
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let operator = all.app.operator().await.caller.on("acme");
    operator.register_source(&system.registration("x"), "all", &["builtin:article", "x"]).await;
    let body =
        json!({"keyword": "harbour", "moduleId": "all", "source": "x", "explain": true, "userId": "tom"});
    let found = all.mei.post(PATH, &body).await.ok();
    assert_eq!((found.total(), found.body["sources"].as_array().unwrap().len()), (3, 1));
    let audited = all.mei.get("/admin/v1/audit?action=search-as").await.ok();
    let event = &audited.items()[0];
    assert_eq!((&event["objectId"], &event["userId"]), (&json!("tom"), &json!("mei")));
    let tom = all.app.web_session("tom").await;
    tom.post(PATH, &body).await.fails(403, "operators");
}
