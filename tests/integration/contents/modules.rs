//! `POST /modules`.

use serde_json::Value;

use crate::util::{app::TestApp, external::ExternalSystem};

#[tokio::test]
async fn new_tenant_has_the_built_in_modules_in_order() {
    let (_app, acme) = TestApp::start_with_acme().await;
    let modules = acme.caller.post_empty("/modules").await.ok();
    let codes: Vec<&str> = modules.items().iter().map(|module| module["code"].as_str().unwrap()).collect();
    let expected = [
        "article",
        "news",
        "todo",
        "done",
        "feed",
        "people",
        "department",
        "group",
        "file",
        "favorite",
        "message",
    ];
    assert_eq!(codes, expected);
    let kinds: Vec<i64> = modules.items().iter().map(|module| module["type"].as_i64().unwrap()).collect();
    assert_eq!(kinds, (1..=11).collect::<Vec<_>>());
    assert_eq!((modules.total(), &modules.body["count"]), (11, &Value::from(11)));
    for module in modules.items() {
        for field in ["id", "name", "icon", "code"] {
            assert!(module[field].is_string(), "{field} of {module}");
        }
        assert!(module["orderNo"].is_i64(), "{module}");
        assert!(module.get("sources").is_none(), "sources of a module are for operators only: {module}");
    }
}

#[tokio::test]
async fn registered_module_is_listed_for_its_tenant_only() {
    let app = TestApp::start().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    acme.caller.post_empty("/modules").await.ok();
    let system = ExternalSystem::start(Vec::new()).await;
    app.register_source(&acme, system.registration("crm"), "customers", &["crm"]).await;

    let listed = |answer: &Value| answer["data"].to_string().contains("customers");
    assert!(listed(&acme.caller.post_empty("/modules").await.ok().body));
    assert!(!listed(&other.caller.post_empty("/modules").await.ok().body));
    let query = [("moduleId", "customers"), ("keyword", "x")];
    acme.caller.search(&query).await.ok();
    other.caller.search(&query).await.fails(404, "moduleId");
}
