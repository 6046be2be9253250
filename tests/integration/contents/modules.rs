//! `POST /modules`.

use serde_json::Value;

use crate::util::app::TestApp;

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
