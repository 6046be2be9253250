use std::collections::BTreeSet;

use crate::util::{app::TestApp, internals::rules};

#[tokio::test]
async fn every_route_is_described_and_in_the_access_table() {
    let app = TestApp::start().await;
    let description = app.caller("").get("/openapi.json").await;
    assert_eq!(description.status, 200);
    let described: BTreeSet<(String, String)> = description.body["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            methods.map(|method| (path.clone(), method.to_uppercase()))
        })
        .collect();
    let in_table: BTreeSet<(String, String)> = rules()
        .filter(|rule| !is_page(rule.path))
        .map(|rule| (rule.path.to_owned(), rule.method.to_owned()))
        .collect();
    assert_eq!(described, in_table);
}

#[tokio::test]
async fn every_operation_describes_its_responses() {
    let app = TestApp::start().await;
    let description = app.caller("").get("/openapi.json").await.body;
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            assert!(operation["summary"].is_string(), "{method} {path} has no summary");
            let succeeds = ["200", "303"].iter().any(|status| operation["responses"][status].is_object());
            assert!(succeeds, "{method} {path} has no success");
        }
    }
    assert_eq!(description["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
}

#[tokio::test]
async fn weight_duplicates_and_recency_describe_their_values() {
    let app = TestApp::start().await;
    let description = app.caller("").get("/openapi.json").await.body;
    let schemas = &description["components"]["schemas"];
    let names = serde_json::json!(["keep", "byId", "byAction"]);
    assert_eq!(schemas["Duplicates"]["enum"], names, "{}", schemas["Duplicates"]);
    assert!(schemas["ModuleForm"]["properties"]["duplicates"].to_string().contains("schemas/Duplicates"));
    let weight = &schemas["SourceForm"]["properties"]["weight"];
    assert_eq!((&weight["minimum"], &weight["maximum"]), (&0.01.into(), &100.into()), "{weight}");
    let recency = &schemas["RecencyForm"]["properties"];
    assert_eq!(
        (&recency["percent"]["maximum"], &recency["halfLifeDays"]["minimum"]),
        (&100.into(), &1.into())
    );
    assert!(schemas["ContentItem"]["properties"]["alsoIn"].is_object());
    assert!(schemas["ContentItem"]["properties"]["highlight"].to_string().contains("schemas/Highlight"));
    assert!(schemas["Highlight"]["properties"]["subTitle"].is_object());
    for field in ["duplicates", "recency"] {
        assert!(schemas["Module"]["properties"].get(field).is_none(), "{field} is for operators");
    }
}

#[tokio::test]
async fn docs_page_loads_nothing_from_the_network() {
    let app = TestApp::start().await;
    let page = app.caller("").get("/docs/").await;
    assert_eq!(page.status, 200);
    assert!(!page.text.contains("https://"), "{}", page.text);
    // Outside loopback the page would send the description's URL to a public validator.
    let settings = app.caller("").get("/docs/swagger-initializer.js").await;
    assert!(settings.text.contains(r#""validatorUrl": "none""#), "{}", settings.text);
}

/// A business failure is HTTP 200 without data.
#[tokio::test]
async fn envelopes_of_business_failures_allow_absent_data() {
    let app = TestApp::start().await;
    let description = app.caller("").get("/openapi.json").await.body;
    let schemas = description["components"]["schemas"].as_object().unwrap();
    let timed: Vec<_> = schemas.iter().filter(|(name, _)| name.starts_with("TimedEnvelope")).collect();
    assert!(timed.len() > 3, "{timed:?}");
    for (name, schema) in timed {
        let choices = schema["properties"]["data"]["oneOf"].as_array().unwrap();
        assert!(choices.iter().any(|choice| choice["type"] == "null"), "{name}: {schema}");
    }
}

fn is_page(path: &str) -> bool {
    ["/", "/console", "/openapi.json", "/opensearch.xml"].contains(&path)
        || ["/docs", "/assets/"].iter().any(|prefix| path.starts_with(prefix))
}
