//! Sources with an API key, basic authentication or a bearer token.

use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    external::{ExternalSystem, ReceivedSearch, with},
    items::many,
};

const SECRET: &str = "very-secret-0123456789";

type Seen = fn(&ReceivedSearch) -> &str;

/// Each with what the source must receive.
fn all() -> [(Value, Seen, String); 3] {
    [
        (json!({"type": "API_KEY", "key": SECRET}), |asked| &asked.api_key, SECRET.to_owned()),
        (
            json!({"type": "BASIC", "username": "trawl", "password": SECRET}),
            |asked| &asked.authorization,
            "Basic dHJhd2w6dmVyeS1zZWNyZXQtMDEyMzQ1Njc4OQ==".to_owned(),
        ),
        (
            json!({"type": "BEARER", "token": SECRET}),
            |asked| &asked.authorization,
            format!("Bearer {SECRET}"),
        ),
    ]
}

#[tokio::test]
async fn source_is_searched_with_each_kind_of_fixed_credentials() {
    for (auth, seen, expected) in all() {
        let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
        let (app, acme) = TestApp::start_with_acme().await;
        let source = with(system.registration("x"), "auth", auth.clone());
        app.register_source(&acme, source, "all", &["x"]).await;
        let found = acme.caller.search(&[("keyword", "harbour"), ("moduleId", "all")]).await.ok();
        assert_eq!(found.total(), 3, "{}", auth["type"]);
        let asked = system.requests();
        assert_eq!((asked.len(), seen(&asked[0])), (1, expected.as_str()), "{}", auth["type"]);
    }
}

/// The server's own check, and the report's command lines.
#[tokio::test]
async fn report_of_a_check_holds_placeholders_for_secrets() {
    let (_app, operator) = TestApp::start_operated().await;
    for (place, (auth, seen, expected)) in all().into_iter().enumerate() {
        let system = ExternalSystem::start(many("x", "harbour", 12, 1)).await;
        let id = format!("x{place}");
        operator.post("/admin/v1/sources", &with(system.registration(&id), "auth", auth)).await.ok();

        let report = operator.post_empty(&format!("/admin/v1/sources/{id}/check?keyword=harbour")).await.ok();

        assert!(system.requests().iter().any(|asked| seen(asked) == expected));
        let placeholder = ["x-api-key: $API_KEY", "-u \\\"$USERNAME:$PASSWORD\\\"", "Bearer $TOKEN"][place];
        assert!(report.text.contains(placeholder), "{placeholder}: {}", report.text);
        assert!(!report.text.contains(SECRET) && !report.text.contains(&expected), "{}", report.text);
        let clauses = report.data()["clauses"].as_array().unwrap();
        let verdict = |id: &str| clauses.iter().find(|clause| clause["id"] == id).unwrap()["verdict"].clone();
        assert_eq!(verdict("token"), "unknown");
        assert_eq!(verdict("auth-scope"), "unknown");
        assert_eq!(verdict("auth-required"), "fail", "the system wants no credentials");
    }
}
