use serde_json::{Value, json};

use crate::util::app::TestApp;

const PATH: &str = "/admin/v1/settings";

#[tokio::test]
async fn settings_in_force_are_shown_without_secrets() {
    let app = TestApp::start_with(|config| {
        config.search.slow_ms = 77;
        config.master_key = Some("bWFzdGVyIGtleSBvZiB0aGlydHktdHdvIGJ5dGVzISE=".into());
        config.engine.opensearch.password = Some("hush-hush".into());
    })
    .await;
    let operator = app.operator().await.caller;
    let shown = operator.get(PATH).await.ok();
    assert_eq!(shown.data()["version"], env!("CARGO_PKG_VERSION"));
    let of = |name: &str| -> Value {
        let settings = shown.data()["settings"].as_array().unwrap();
        let found: Vec<&Value> = settings.iter().filter(|setting| setting["name"] == name).collect();
        assert!(found.len() < 2, "{name} is shown twice");
        found.first().map_or(Value::Null, |setting| json!([setting["value"], setting["isDefault"]]))
    };
    assert_eq!(of("search.slow_ms"), json!([77, false]));
    assert_eq!(of("audit.keep_days")[1], true);
    assert_eq!(of("master_key"), json!(["********", false]));
    assert_eq!(of("engine.opensearch.password"), json!(["********", false]));
    assert!(of("public_url").is_null());
    for secret in ["hush-hush", "bWFzdGVyIGtleSBv"] {
        assert!(!shown.text.contains(secret), "{secret} is shown");
    }
    let acme = app.tenant("acme").await;
    acme.caller.get(PATH).await.fails(403, "admin");
}
