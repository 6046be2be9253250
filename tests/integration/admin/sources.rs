//! `/admin/v1/sources`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::send,
    external::{ExternalSystem, SECRET, with},
    items::many,
    postgres::holds,
    program::{Server, create_operator},
};

const SOURCES: &str = "/admin/v1/sources";

fn crm() -> Value {
    json!({
        "id": "crm", "name": "Customers", "url": "https://crm.example/search?tenant=1", "method": "POST",
        "auth": {
            "type": "OAUTH2_CLIENT", "tokenUrl": "https://login.example/token", "clientId": "trawl",
            "clientSecret": "very secret", "scope": "search", "audience": "crm",
        },
        "order": "relevance", "timeoutMs": 900, "pageSize": 50, "maxConcurrency": 4, "enabled": false, "weight": 2.125,
        "hedging": true, "requestsPerMinute": 30, "whileTyping": false,
    })
}

fn shown(mut source: Value) -> Value {
    let auth = source["auth"].as_object_mut().unwrap();
    for secret in ["clientSecret", "key", "password", "token"] {
        auth.remove(secret);
    }
    for field in ["tokenUrl", "clientId", "scope", "audience", "header", "parameter", "username"] {
        auth.entry(field).or_insert(Value::Null);
    }
    source["health"] =
        json!({"status": "unknown", "message": null, "suspended": null, "latencyMs": null, "late": false});
    source["lastCheck"] = Value::Null;
    source["identity"] = Value::Null;
    source["kind"] = "contract".into();
    source["mapping"] = Value::Null;
    for (field, default) in
        [("requestsPerMinute", Value::Null), ("whileTyping", json!(true)), ("site", Value::Null)]
    {
        source.as_object_mut().unwrap().entry(field).or_insert(default);
    }
    source
}

fn with_auth(mut source: Value, field: &str, value: impl Into<Value>) -> Value {
    source["auth"][field] = value.into();
    source
}

fn without_secret(mut source: Value) -> Value {
    source["auth"].as_object_mut().unwrap().remove("clientSecret");
    source
}

#[tokio::test]
async fn source_is_created_shown_replaced_and_removed() {
    let (app, operator) = TestApp::start_operated().await;
    assert_eq!(operator.post(SOURCES, &crm()).await.ok().data(), &shown(crm()));
    assert_eq!(operator.get("/admin/v1/sources/crm").await.ok().data(), &shown(crm()));
    let list = operator.get(SOURCES).await.ok();
    assert_eq!((list.total(), &list.body["count"], list.items()), (1, &json!(1), &[shown(crm())][..]));

    let least = json!({"name": "Wiki", "url": "http://127.0.0.1:1/", "auth": {"type": "NONE"}});
    let wiki = operator.post(SOURCES, &least).await.ok();
    let id = wiki.data()["id"].as_str().unwrap().to_owned();
    assert_eq!(id.len(), 36);
    let expected = shown(json!({
        "id": id, "name": "Wiki", "url": "http://127.0.0.1:1/", "method": "GET", "auth": {"type": "NONE"},
        "order": "time", "timeoutMs": 2_000, "pageSize": 20, "maxConcurrency": 8, "enabled": true,
        "weight": 1.0, "hedging": false,
    }));
    assert_eq!(wiki.data(), &expected);
    let replaced = operator.put("/admin/v1/sources/crm", &with(least, "name", "Notes")).await.ok();
    assert_eq!(replaced.data(), &with(with(expected.clone(), "id", "crm"), "name", "Notes"));
    operator.put("/admin/v1/sources/crm", &crm()).await.ok();

    let app = app.restart().await;
    let operator = operator.at(&app.base);
    let list = operator.get(SOURCES).await.ok();
    assert_eq!(list.items(), [shown(crm()), expected], "by name");
    app.tenant("other").await;
    let other = operator.on("other");
    for (method, path) in
        [(Method::GET, "crm"), (Method::PUT, "crm"), (Method::DELETE, "crm"), (Method::GET, "crm/health")]
    {
        let request = other.request(method, &format!("{SOURCES}/{path}")).json(&crm());
        send(request).await.fails(404, "no such source");
    }
    other.post(SOURCES, &crm()).await.ok();
    let module = json!({"code": "x", "name": "x", "type": 100, "sources": [id]});
    other.post("/admin/v1/modules", &module).await.fails(400, "sources[0]: ");

    assert!(operator.delete("/admin/v1/sources/crm").await.ok().data().is_null());
    operator.get("/admin/v1/sources/crm").await.fails(404, "no such source");
    operator.delete("/admin/v1/sources/crm").await.fails(404, "no such source");
    operator.put("/admin/v1/sources/crm", &crm()).await.fails(404, "no such source");
    assert_eq!(other.get("/admin/v1/sources/crm").await.ok().data(), &shown(crm()));
}

#[tokio::test]
async fn invalid_source_fields_are_refused_by_name() {
    let (_app, operator) = TestApp::start_operated().await;
    let stored = with(with(crm(), "id", "stored"), "name", "Stored");
    operator.post(SOURCES, &stored).await.ok();
    let long = |bytes: usize| json!("x".repeat(bytes));
    let top = [
        ("id", json!("a/b"), "id: "),
        ("id", long(65), "id: "),
        ("name", Value::Null, "name: "),
        ("name", json!(""), "name: "),
        ("name", long(257), "name: "),
        ("url", Value::Null, "url: "),
        ("url", json!("crm.example"), "url: "),
        ("url", json!(format!("https://crm.example/{}", "x".repeat(2_048))), "url: "),
        ("url", json!("http://crm.example/"), "url: must be https"),
        ("url", json!("ftp://127.0.0.1/"), "url: must be https"),
        ("url", json!("https://user:very%20secret@crm.example/"), "url: must not hold a user name"),
        ("url", json!("https://169.254.169.254/latest"), "url: leads to"),
        ("url", json!("https://[::1]/"), "url: leads to a loopback address"),
        ("method", json!("PUT"), "method: "),
        ("method", json!(5), "method: "),
        ("order", json!("size"), "order: "),
        ("timeoutMs", json!(49), "timeoutMs: must be 50 to 10000"),
        ("timeoutMs", json!(10_001), "timeoutMs: "),
        ("timeoutMs", json!("900"), "timeoutMs: "),
        ("timeoutMs", json!(1e30), "timeoutMs: "),
        ("pageSize", json!(0), "pageSize: must be 1 to 1000"),
        ("pageSize", json!(1_001), "pageSize: "),
        ("maxConcurrency", json!(-1), "maxConcurrency: must be 1 to 256"),
        ("maxConcurrency", json!(257), "maxConcurrency: "),
        ("enabled", json!("yes"), "enabled: "),
        ("weight", json!(0), "weight: must be 0.01 to 100"),
        ("weight", json!(0.009), "weight: "),
        ("weight", json!(100.001), "weight: "),
        ("weight", json!(-1), "weight: "),
        ("weight", json!(0.333_333), "weight: must be 0.01 to 100 with at most three decimals"),
        ("weight", json!("1"), "weight: "),
        ("hedging", json!(1), "hedging: "),
        ("auth", Value::Null, "auth.type: "),
        ("auth", json!("very secret"), "auth: must be an object"),
        ("auth", json!(["OAUTH2_CLIENT", "https://login.example/", "trawl", "very secret"]), "auth: "),
    ];
    let auth = [
        ("type", Value::Null, "auth.type: "),
        (
            "type",
            json!("DIGEST"),
            "auth.type: must be OAUTH2_CLIENT, OAUTH2_JWT_BEARER, OAUTH2_TOKEN_EXCHANGE, API_KEY",
        ),
        ("type", json!("BASIC"), "auth.username: "),
        ("tokenUrl", Value::Null, "auth.tokenUrl: "),
        ("tokenUrl", json!("nowhere"), "auth.tokenUrl: "),
        ("tokenUrl", json!("http://login.example/token"), "auth.tokenUrl: must be https"),
        ("tokenUrl", json!("https://[fe80::1]/token"), "auth.tokenUrl: leads to"),
        ("clientId", Value::Null, "auth.clientId: "),
        ("clientId", long(4_097), "auth.clientId: "),
        ("clientSecret", json!(""), "auth.clientSecret: "),
        ("clientSecret", json!("very\u{7}secret"), "auth.clientSecret: "),
        ("clientSecret", long(4_097), "auth.clientSecret: "),
        ("clientSecret", json!(["very secret"]), "auth.clientSecret: must be a text"),
        ("clientSecret", json!({"very secret": true}), "auth.clientSecret: must be a text"),
        ("scope", long(4_097), "auth.scope: "),
        ("scope", json!(5), "auth.scope: "),
        ("audience", long(4_097), "auth.audience: "),
    ];
    let top = top.into_iter().map(|(field, value, named)| (with(crm(), field, value), named));
    let auth = auth.into_iter().map(|(field, value, named)| (with_auth(crm(), field, value), named));
    for (source, named) in top.chain(auth) {
        let made = operator.post(SOURCES, &source).await.fails(400, named);
        assert!(!made.text.contains("very"), "{}", made.text);
        let source = if source["id"] == "crm" { with(source, "id", Value::Null) } else { source };
        let replaced = operator.put("/admin/v1/sources/stored", &source).await.fails(400, named);
        assert!(!replaced.text.contains("very"), "{}", replaced.text);
    }
    operator.post(SOURCES, &without_secret(crm())).await.fails(400, "auth.clientSecret: is required");
    operator.post(SOURCES, &with(crm(), "id", "stored")).await.fails(409, "id: ");
    operator.put("/admin/v1/sources/stored", &crm()).await.fails(400, "id: must equal the one in the path");
    assert_eq!(operator.get("/admin/v1/sources/stored").await.ok().data(), &shown(stored));
    operator.post(SOURCES, &with(with(crm(), "name", "Red"), "colour", "red")).await.ok();
}

#[tokio::test]
async fn source_with_the_name_of_another_is_refused() {
    let (app, operator) = TestApp::start_operated().await;
    operator.post(SOURCES, &crm()).await.ok();
    for name in ["Customers", " customers", "ＣＵＳＴＯＭＥＲＳ"] {
        let again = with(with(crm(), "id", "again"), "name", name);
        let refused = operator.post(SOURCES, &again).await.fails(409, "name: ");
        assert!(refused.message().contains("crm"), "{}", refused.text);
        operator.post(&format!("{SOURCES}?dryRun=true"), &again).await.fails(409, "name: ");
    }
    operator.post(SOURCES, &with(with(crm(), "id", "wiki"), "name", "Wiki")).await.ok();
    let renamed = with(with(crm(), "id", "wiki"), "name", "customers");
    operator.put("/admin/v1/sources/wiki", &renamed).await.fails(409, "name: ");
    operator.put("/admin/v1/sources/crm", &with(crm(), "name", "CUSTOMERS")).await.ok();
    app.tenant("other").await;
    operator.on("other").post(SOURCES, &crm()).await.ok();

    // Equal names of earlier versions hinder no other change.
    app.execute("UPDATE search_sources SET name = 'Twins'").await;
    operator.put("/admin/v1/sources/wiki", &with(renamed, "name", "Twins")).await.ok();
}

#[tokio::test]
async fn dry_run_checks_the_given_fields_and_registers_nothing() {
    let (_app, operator) = TestApp::start_operated().await;
    let path = format!("{SOURCES}?dryRun=true");
    let address = json!({"name": "Wiki", "url": "https://wiki.example/search"});
    assert!(operator.post(&path, &address).await.ok().data().is_null());
    assert!(operator.post(&path, &crm()).await.ok().data().is_null());
    for (field, value) in
        [("name", json!("")), ("url", json!("ftp://wiki.example/")), ("order", json!("size"))]
    {
        operator.post(&path, &with(address.clone(), field, value)).await.fails(400, &format!("{field}: "));
    }
    operator.post(&path, &with(crm(), "auth", json!({}))).await.fails(400, "auth.type: ");
    operator.post(&path, &without_secret(crm())).await.fails(400, "auth.clientSecret: is required");
    operator.post(&format!("{SOURCES}?dryRun=maybe"), &crm()).await.fails(400, "dryRun");
    assert_eq!(operator.get(SOURCES).await.ok().total(), 0);
}

/// A PUT without a secret keeps it for the same endpoint only (book: how-to/operate.md).
#[tokio::test]
async fn secret_is_kept_and_sent_nowhere_else() {
    let (_app, operator) = TestApp::start_operated().await;
    operator.post(SOURCES, &crm()).await.ok();
    let put = async |source: Value| operator.put("/admin/v1/sources/crm", &source).await;
    let kept = with(without_secret(crm()), "timeoutMs", 1_000);
    assert_eq!(put(kept.clone()).await.ok().data(), &shown(kept.clone()));
    put(with_auth(kept.clone(), "clientSecret", Value::Null)).await.ok();
    put(with_auth(kept.clone(), "tokenUrl", "https://login.example/other?path=1")).await.ok();
    put(with_auth(kept.clone(), "tokenUrl", "https://login.example:443/token")).await.ok();
    put(with(kept.clone(), "url", "https://crm.example/other")).await.ok();
    let moved = put(with(kept.clone(), "url", "https://elsewhere.example/search")).await;
    moved.fails(400, "auth.clientSecret: must be given again, as url moves to another origin");
    for (field, elsewhere) in [
        ("tokenUrl", "https://elsewhere.example/token"),
        ("tokenUrl", "https://login.example:444/token"),
        ("tokenUrl", "http://127.0.0.1/token"),
        ("clientId", "other"),
    ] {
        let moved = with_auth(kept.clone(), field, elsewhere);
        let refused = put(moved.clone()).await.fails(400, "auth.clientSecret: must be given again");
        assert!(refused.message().contains(&format!("auth.{field}")), "{}", refused.text);
        put(with_auth(moved, "clientSecret", "another")).await.ok();
        put(crm()).await.ok();
    }
    put(with(crm(), "auth", json!({"type": "NONE"}))).await.ok();
    put(kept).await.fails(400, "auth.clientSecret: must be given, as there is none");
}

/// The types without a token endpoint, each with its secret's field.
fn fixed_credentials() -> [(Value, &'static str); 3] {
    [
        (json!({"type": "API_KEY", "header": "X-Crm-Key", "key": "very secret"}), "key"),
        (json!({"type": "BASIC", "username": "trawl", "password": "very secret"}), "password"),
        (json!({"type": "BEARER", "token": "very secret"}), "token"),
    ]
}

#[tokio::test]
async fn fixed_secret_is_kept_and_sent_nowhere_else() {
    let (_app, operator) = TestApp::start_operated().await;
    let put = async |source: Value| operator.put("/admin/v1/sources/crm", &source).await;
    let all = fixed_credentials();
    for (place, (auth, field)) in all.iter().enumerate() {
        let whole = with(crm(), "auth", auth.clone());
        let mut kept = whole.clone();
        kept["auth"].as_object_mut().unwrap().remove(*field);
        operator.post(SOURCES, &kept).await.fails(400, &format!("auth.{field}: is required"));
        let made = operator.post(SOURCES, &whole).await.ok();
        assert_eq!(made.data(), &shown(whole.clone()));
        assert_eq!(put(kept.clone()).await.ok().data(), &shown(whole.clone()));
        put(with(kept.clone(), "url", "https://crm.example:443/other")).await.ok();

        let named = format!("auth.{field}: must be given");
        let elsewhere = with(kept.clone(), "url", "https://elsewhere.example/search");
        put(elsewhere.clone()).await.fails(400, &named);
        let (mut other, other_field) = all[(place + 1) % all.len()].clone();
        other.as_object_mut().unwrap().remove(other_field);
        let refused = put(with(kept.clone(), "auth", other)).await;
        refused.fails(400, &format!("auth.{other_field}: must be given anew, as auth.type changes"));
        if *field == "password" {
            let renamed = put(with_auth(kept.clone(), "username", "mei")).await;
            assert!(renamed.fails(400, &named).message().contains("auth.username"));
        }
        let stored = operator.get("/admin/v1/sources/crm").await.ok();
        assert_eq!(stored.data()["url"], "https://crm.example:443/other", "a refusal changed it");
        put(with_auth(elsewhere, field, "another")).await.ok();
        operator.delete("/admin/v1/sources/crm").await.ok();
    }
}

#[tokio::test]
async fn invalid_fixed_credentials_are_refused_by_name() {
    let (_app, operator) = TestApp::start_operated().await;
    let [(key, _), (basic, _), (bearer, _)] = fixed_credentials();
    let long = "x".repeat(4_097);
    for (auth, field, values) in [
        (
            &key,
            "header",
            &["Host", "content-length", "Cookie", "Connection", "a b", "very:secret", &long][..],
        ),
        (&key, "key", &["", "very\u{7}secret", "very\nsecret", "vëry secret", " very secret", &long]),
        (&basic, "username", &["", "very:secret", "very\u{7}secret", &long]),
        (&basic, "password", &["", "very\u{7}secret", "very\r\nsecret", &long]),
        (&bearer, "token", &["", "very\u{7}secret", "vëry secret", "very secret ", &long]),
    ] {
        for value in values {
            let source = with_auth(with(crm(), "auth", auth.clone()), field, *value);
            let refused = operator.post(SOURCES, &source).await.fails(400, &format!("auth.{field}: "));
            assert!(!refused.text.contains("very") && !refused.text.contains("vëry"), "{}", refused.text);
        }
        let listed = with_auth(with(crm(), "auth", auth.clone()), field, json!(["very secret"]));
        let refused = operator.post(SOURCES, &listed).await.fails(400, &format!("auth.{field}: "));
        assert!(!refused.text.contains("very"), "{}", refused.text);
    }
    let default = with_auth(with(crm(), "auth", key), "header", Value::Null);
    assert_eq!(operator.post(SOURCES, &default).await.ok().data()["auth"]["header"], "X-API-Key");
}

#[tokio::test]
async fn source_used_by_a_module_cannot_be_removed() {
    let (_app, operator) = TestApp::start_operated().await;
    operator.post(SOURCES, &crm()).await.ok();
    let module =
        |code: &str| json!({"id": code, "code": code, "name": code, "type": 100, "sources": ["crm"]});
    for code in ["first", "second"] {
        operator.post("/admin/v1/modules", &module(code)).await.ok();
    }
    operator.delete("/admin/v1/sources/crm").await.fails(409, "first, second");
    operator.delete("/admin/v1/modules/first").await.ok();
    operator.delete("/admin/v1/sources/crm").await.fails(409, "second");

    operator.delete("/admin/v1/modules/second").await.ok();
    for _ in 0..20 {
        let module = module("third");
        let (removed, shown) = tokio::join!(
            operator.delete("/admin/v1/sources/crm"),
            operator.post("/admin/v1/modules", &module)
        );
        match (removed.status, shown.status) {
            (200, 400) => drop(operator.post(SOURCES, &crm()).await.ok()),
            (409, 200) => drop(operator.delete("/admin/v1/modules/third").await.ok()),
            other => panic!("{other:?}: {} {}", removed.text, shown.text),
        }
    }
}

/// Book: reference/configuration.md, `allow_auth_none`.
#[tokio::test]
async fn source_without_credentials_needs_a_setting() {
    let app = TestApp::start_with(|config| config.connectors.allow_auth_none = false).await;
    app.tenant("acme").await;
    let operator = app.operator().await.caller.on("acme");
    let none = with(crm(), "auth", json!({"type": "NONE"}));
    let refused = operator.post(SOURCES, &none).await.fails(400, "auth.type: ");
    assert!(refused.message().contains("connectors.allow_auth_none"), "{}", refused.text);
    operator.post(SOURCES, &crm()).await.ok();
    operator.put("/admin/v1/sources/crm", &none).await.fails(400, "connectors.allow_auth_none");
}

#[tokio::test]
async fn tenant_is_limited_to_a_thousand_sources() {
    let (_app, operator) = TestApp::start_operated().await;
    let create = |number: usize| {
        let source = with(with(crm(), "id", format!("s-{number}")), "name", format!("System {number}"));
        let operator = operator.clone();
        async move { operator.post(SOURCES, &source).await }
    };
    for first in (0..1_000).step_by(100) {
        for answer in futures::future::join_all((first..first + 100).map(create)).await {
            answer.ok();
        }
    }
    create(1_000).await.fails(409, "1000 sources");
    assert_eq!(operator.get(SOURCES).await.ok().total(), 1_000);
}

/// Reads answers, logs and files of the program (book: explanation/security.md).
#[tokio::test]
async fn secret_is_neither_shown_nor_logged_nor_stored_openly() {
    let directory = tempfile::tempdir().unwrap();
    let settings = "[log]\nfilter = \"trace\"\n[connectors]\nallow_http_hosts = [\"127.0.0.1\"]\n";
    std::fs::write(directory.path().join("trawl.toml"), settings).unwrap();
    let server = Server::start(directory.path()).await;
    let operator = server.caller(&create_operator(directory.path(), "acme").await).await;

    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let source = with(system.registration("x"), "auth", system.credentials());
    let module = json!({"code": "all", "name": "All", "type": 101, "sources": ["x"]});
    let found = [("keyword", "harbour"), ("moduleId", "all")];
    let mut answers: Vec<Answer> = vec![
        operator.post(SOURCES, &source).await.ok(),
        operator.post(SOURCES, &source).await.fails(409, "id: "),
        operator.post(SOURCES, &with_auth(source.clone(), "clientSecret", json!([SECRET]))).await,
        operator
            .put("/admin/v1/sources/x", &with_auth(source.clone(), "clientId", 5))
            .await
            .fails(400, "auth"),
        operator.put("/admin/v1/sources/x", &source).await.ok(),
        operator.post("/admin/v1/modules", &module).await.ok(),
        operator.search(&found).await.ok(),
        operator.get(SOURCES).await.ok(),
        operator.get("/admin/v1/sources/x").await.ok(),
    ];
    assert_eq!(answers[6].total(), 3);
    assert!(system.issued_tokens() > 0, "the secret is not used");
    system.refuse_tokens();
    system.invalidate_tokens();
    let refused = [("keyword", "other words"), found[1]];
    answers.push(operator.search(&refused).await.fails_without_sources(502));
    answers.push(operator.get("/admin/v1/sources/x/health").await.ok());
    answers.push(operator.delete("/admin/v1/sources/x").await.fails(409, "all"));
    for answer in &answers {
        assert!(!answer.text.contains(SECRET), "{}", answer.text);
    }
    assert!(server.log().contains("TRACE"), "the log is not at trace level");
    let lines = server.log();
    let searched: Vec<&str> = lines.lines().filter(|line| line.contains("sources.ok=")).collect();
    assert_eq!(searched.len(), 2, "{searched:#?}");
    assert!(searched[0].contains("sources.ok=1 sources.failed=0"), "{}", searched[0]);
    assert!(searched[1].contains("sources.ok=0 sources.failed=1"), "{}", searched[1]);
    for secret in [SECRET, "token-1"] {
        assert!(!server.log().contains(secret), "{secret} is logged");
    }
    assert!(holds(directory.path(), "OAUTH2_CLIENT").await);
    assert!(!holds(directory.path(), SECRET).await);
}
