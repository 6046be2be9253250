//! External sources: calls, filters and failures.

use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    external::{ExternalSystem, Reply, with},
    items::{NEW_YEAR, many},
    paging::{ids_of, walk_by_cursor},
};

const ALL: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "all")];

async fn beside_articles(registration: Value) -> (TestApp, Application) {
    let (app, acme) = TestApp::start_with_acme().await;
    app.put_contents(&acme.caller, "article", &many("a", "harbour", 3, 1)).await;
    app.register_source(&acme, registration, "all", &["builtin:article", "x"]).await;
    (app, acme)
}

#[tokio::test]
async fn get_and_post_carry_keyword_limit_and_cursor() {
    for name in ["GET", "POST"] {
        let system = ExternalSystem::start(many("x", "harbour", 25, 1)).await;
        let registration = with(system.registration("x"), "method", name);
        let (_app, acme) = beside_articles(registration).await;
        let keyword = "harbour & 港口 +\"x\"";
        let parameters = [("keyword", keyword), ("moduleId", "all")];
        let walk = walk_by_cursor(&acme.caller, &parameters, 1_000).await;
        assert_eq!(walk.ids.len(), 25, "the articles do not match");
        let asked = system.requests();
        let seen: Vec<(&str, &str, usize, &str)> = asked
            .iter()
            .map(|asked| (asked.method.as_str(), asked.keyword.as_str(), asked.limit, asked.cursor.as_str()))
            .collect();
        assert_eq!(seen, [(name, keyword, 10, ""), (name, keyword, 10, "10"), (name, keyword, 10, "20")]);
    }
}

/// Book: reference/errors.md.
#[tokio::test]
async fn answer_without_any_source_is_502_or_504() {
    let (app, acme) = TestApp::start_with_acme().await;
    let (one, two) = (ExternalSystem::start(Vec::new()).await, ExternalSystem::start(Vec::new()).await);
    app.register_source(&acme, one.registration("one"), "one", &["one"]).await;
    app.register_source(&acme, two.registration("two"), "both", &["one", "two"]).await;
    let search = async |timeout: &str| {
        acme.caller.search(&[("keyword", "harbour"), ("moduleId", "both"), ("timeout", timeout)]).await
    };
    one.set_reply(Reply::Status(500));
    two.set_reply(Reply::Status(503));
    let failed = search("5000").await.fails_without_sources(502);
    assert_eq!(
        (&failed.source("one")["status"], &failed.source("two")["status"]),
        (&json!("error"), &json!("unavailable"))
    );
    one.set_reply(Reply::Silent);
    two.set_reply(Reply::Silent);
    let late = search("2000").await.fails_without_sources(504);
    for id in ["one", "two"] {
        assert_eq!(late.source(id)["status"], "timeout");
        assert!(late.source(id)["tookMs"].as_u64().unwrap() >= 1_000, "{}", late.text);
    }
    two.set_reply(Reply::Good);
    let one_left = search("3000").await.ok();
    assert_eq!((one_left.items().len(), &one_left.body["partial"]), (0, &json!(true)));
}

#[tokio::test]
async fn filters_apply_to_external_items() {
    let mut items = many("x", "harbour", 40, 1);
    for (number, item) in items.iter_mut().enumerate() {
        item["author"] = Value::from(if number % 10 == 0 { "Mei Chen" } else { "Omar" });
    }
    let system = ExternalSystem::start(items).await;
    let (_app, acme) = beside_articles(system.registration("x")).await;
    let (from, to) = ((NEW_YEAR - 30).to_string(), (NEW_YEAR - 5).to_string());
    let found =
        acme.caller.search(&[ALL[0], ALL[1], ("author", "mei"), ("from", &from), ("to", &to)]).await.ok();
    assert_eq!(found.ids(), ["x00010", "x00020", "x00030"]);
    let by_time = acme.caller.search(&[ALL[0], ALL[1], ("cursor", &to), ("limit", "2")]).await.ok();
    assert_eq!(by_time.ids(), ["x00006", "x00007"]);
}

#[tokio::test]
async fn disabled_source_is_skipped_and_reported() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (_app, acme) = beside_articles(with(system.registration("x"), "enabled", false)).await;
    let answer = acme.caller.search(&ALL).await.ok();
    assert_eq!((answer.total(), &answer.body["partial"], answer.cursor()), (3, &json!(false), None));
    let places: Vec<&Value> =
        answer.body["sources"].as_array().unwrap().iter().map(|source| &source["id"]).collect();
    assert_eq!(places, ["builtin:article", "x"]);
    let disabled = json!({
        "id": "x", "name": "System x", "status": "unavailable", "tookMs": 0, "total": null,
        "message": "disabled by the operator",
    });
    assert_eq!(answer.source("x"), &disabled);

    let alone = acme.caller.search(&[ALL[0], ALL[1], ("source", "x")]).await.fails_without_sources(502);
    assert_eq!(alone.body["sources"], json!([disabled]));
    assert!(system.requests().is_empty());
}

#[tokio::test]
async fn trawl_is_a_source_of_another_trawl() {
    let inner = TestApp::start().await;
    let provider = inner.tenant("provider").await;
    let items = many("i", "harbour", 55, 4);
    inner.put_contents(&provider.caller, "article", &items).await;
    let url = format!("{}/contents/search?moduleId=article&paging=cursor", inner.base);
    let credentials = json!({
        "type": "OAUTH2_CLIENT", "tokenUrl": format!("{}/oauth2/token", inner.base), "clientId": provider.client_id,
        "clientSecret": provider.secret(), "scope": "contents:read",
    });
    for (method, code) in [("GET", "by-get"), ("POST", "by-post")] {
        let outer = TestApp::start().await;
        let acme = outer.tenant("acme").await;
        let unused = ExternalSystem::start(Vec::new()).await;
        let registration = with(with(unused.registration("inner"), "url", url.as_str()), "method", method);
        let registration = with(registration, "auth", credentials.clone());
        outer.register_source(&acme, registration, code, &["inner"]).await;
        let walk = walk_by_cursor(&acme.caller, &[("keyword", "harbour"), ("moduleId", code)], 20).await;
        walk.assert_met(ids_of(&items));
        let page = acme.caller.search(&[("keyword", "harbour"), ("moduleId", code)]).await.ok();
        let source = page.source("inner");
        assert_eq!(
            (&source["status"], &source["message"], page.total()),
            (&json!("ok"), &Value::Null, 55),
            "{source}"
        );
    }
}
