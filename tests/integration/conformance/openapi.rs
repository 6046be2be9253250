use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::Path,
    process::Command,
};

use serde_json::{Map, Value};

use crate::{
    layers::rust_files,
    util::{app::TestApp, internals::rules, program::run},
};

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

#[tokio::test]
async fn every_reference_leads_to_a_schema() {
    let description = describe().await;
    let mut references = Vec::new();
    visit(&description, "", &mut |_, node| {
        references.extend(node.get("$ref").and_then(Value::as_str).map(str::to_owned));
    });
    assert!(references.len() > 500, "{}", references.len());
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(description.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

#[tokio::test]
async fn operation_ids_are_unique() {
    let description = describe().await;
    let mut places: HashMap<&str, Vec<String>> = HashMap::new();
    for (place, operation) in operations(&description) {
        places.entry(operation["operationId"].as_str().unwrap()).or_default().push(place);
    }
    places.retain(|_, places| places.len() > 1);
    assert_eq!(places, HashMap::new());
}

/// Schemas that allow any object or value, and why.
const FREE: &[(&str, &str)] = &[
    ("CardMessage/properties/data", "its keys are those of an application's template"),
    ("CardTemplate/properties/template", "an application's own"),
    ("DatedFailure/properties/data", "null"),
    ("Empty", "has no field"),
    ("FailureEnvelope/properties/data", "null"),
    ("NamedDeed/properties/details", "the action says which"),
    ("NoSourceEnvelope/properties/data", "null"),
    ("SentMessage/properties/content", "the type of the message says which"),
    ("SettingInForce/properties/value", "the setting says of which type"),
    ("TemplateForm/properties/template", "an application's own"),
];

#[tokio::test]
async fn schemas_say_what_they_hold() {
    let description = describe().await;
    let mut free = Vec::new();
    visit(&description, "", &mut |place, node| {
        let is_schema = ["schema", "items"].iter().any(|key| place.ends_with(&format!("/{key}")))
            || place.rsplit('/').nth(1).is_some_and(|parent| ["schemas", "properties"].contains(&parent));
        let says = ["$ref", "oneOf", "allOf", "properties", "additionalProperties", "items", "enum"];
        let is_open = match node.get("type") {
            Some(Value::Array(kinds)) => kinds.contains(&"object".into()),
            kind => kind.is_none_or(|kind| kind == "object"),
        };
        if is_schema && is_open && !says.iter().any(|key| node.contains_key(*key)) {
            free.push(place.trim_start_matches("/components/schemas/").to_owned());
        }
    });
    assert_eq!(free, FREE.iter().map(|(place, _)| *place).collect::<Vec<_>>());
}

#[tokio::test]
async fn bodies_and_answers_have_schemas() {
    let description = describe().await;
    for (place, operation) in operations(&description) {
        let answers = operation["responses"].as_object().unwrap().iter();
        let answers = answers.filter(|(status, _)| status.starts_with('2')).map(|(_, answer)| answer);
        for body in answers.chain([&operation["requestBody"]]) {
            for (kind, content) in body["content"].as_object().into_iter().flatten() {
                assert!(content["schema"].is_object(), "{place}: {kind} of {body}");
            }
        }
    }
}

#[tokio::test]
async fn fields_are_one_flat_list() {
    let description = describe().await;
    visit(&description, "", &mut |place, node| assert!(!node.contains_key("allOf"), "{place}: {node:?}"));
    for (schema, fields) in [
        ("Content", &["id", "displayTime", "visibility", "title"][..]),
        ("EnterpriseForm", &["eCode", "isAllowManage", "enterpriseName"]),
        ("Item", &["id", "title", "source", "text", "people"]),
        ("SearchEnvelope", &["code", "data", "total", "cursor", "sources", "facets"]),
        ("NoSourceEnvelope", &["code", "message", "date", "sources"]),
        ("TokenRequest", &["grant_type", "client_secret", "code"]),
        ("Envelope_Empty", &["code", "message", "data"]),
    ] {
        let properties = &description["components"]["schemas"][schema]["properties"];
        for field in fields {
            assert!(properties[field].is_object(), "{schema} lacks {field}: {properties}");
        }
    }
}

#[tokio::test]
async fn texts_cite_nothing_outside_of_the_project() {
    let description = describe().await;
    visit(&description, "", &mut |place, node| {
        for text in ["description", "summary"].iter().filter_map(|key| node.get(*key)?.as_str()) {
            let cited = ["decisions", "specification", "open-interface", "/work/"];
            let cited = cited.iter().find(|cited| text.contains(**cited));
            assert_eq!(cited, None, "{place}: {text}");
        }
    });
}

#[tokio::test]
async fn body_of_a_search_has_the_fields_of_its_query() {
    let description = describe().await;
    for (path, name) in
        [("/contents/search", "moduleId"), ("/contents/search/all", "top"), ("/admin/v1/search", "userId")]
    {
        let operation = &description["paths"][path]["post"];
        let body = &operation["requestBody"]["content"]["application/json"]["schema"]["properties"];
        assert!(body[name].is_object() && body["keyword"].is_object(), "{path}: {body}");
        for parameter in operation["parameters"].as_array().unwrap() {
            let field = &body[parameter["name"].as_str().unwrap()];
            assert_eq!(field["type"], parameter["schema"]["type"], "{path}: {parameter}");
            assert_eq!(parameter["required"], false, "{path}: it may stand in the body: {parameter}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redocly_finds_nothing_to_mend() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openapi");
    let program = folder.join("node_modules/.bin/redocly");
    assert!(program.exists(), "{} is not there; ./tests/run installs it", program.display());
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("openapi.json"), describe().await.to_string()).unwrap();
    let mut command = Command::new(program);
    command.current_dir(&directory).args(["lint", "openapi.json", "--format", "json", "--config"]);
    command.arg(folder.join("redocly.yaml"));
    command.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
    let output = run(command).await;
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let found = ["errors", "warnings"].map(|kind| report["totals"][kind].as_u64());
    assert_eq!(found, [Some(0), Some(0)], "{report:#}");
}

/// utoipa omits what serde does not write, or does not read, in both directions.
#[test]
fn described_types_have_all_their_fields() {
    for file in rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = fs::read_to_string(&file).unwrap();
        let hides = ["skip_serializing)", "skip_serializing,", "skip_deserializing)", "skip_deserializing,"];
        let hidden = hides.iter().find(|word| text.contains("ToSchema") && text.contains(**word));
        assert_eq!(hidden, None, "{}: take `skip_serializing_if`", file.display());
    }
}

async fn describe() -> Value {
    let app = TestApp::start().await;
    app.caller("").get("/openapi.json").await.body
}

/// Calls `see` with each object and the place where it stands.
fn visit(value: &Value, place: &str, see: &mut impl FnMut(&str, &Map<String, Value>)) {
    match value {
        Value::Array(elements) => {
            elements
                .iter()
                .enumerate()
                .for_each(|(index, element)| visit(element, &format!("{place}/{index}"), see));
        }
        Value::Object(node) => {
            see(place, node);
            node.iter().for_each(|(key, inner)| visit(inner, &format!("{place}/{key}"), see));
        }
        _ => {}
    }
}

/// Operations by method and path.
fn operations(description: &Value) -> impl Iterator<Item = (String, &Value)> {
    description["paths"].as_object().unwrap().iter().flat_map(|(path, methods)| {
        methods
            .as_object()
            .unwrap()
            .iter()
            .map(move |(method, operation)| (format!("{method} {path}"), operation))
    })
}

fn is_page(path: &str) -> bool {
    ["/", "/console", "/account", "/openapi.json", "/opensearch.xml"].contains(&path)
        || ["/docs", "/assets/"].iter().any(|prefix| path.starts_with(prefix))
}
