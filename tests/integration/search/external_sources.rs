//! External sources: calls, tokens, and isolation of failures.

use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::{Application, TestApp, disable_suspension},
    external::{ExternalSystem, Reply, with},
    items::{NEW_YEAR, item, many},
    paging::{ids_of, walk_by_cursor},
    postgres::holds,
};

const ALL: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "all")];

async fn beside_articles(registration: Value) -> (TestApp, Application) {
    let app = TestApp::start_with(disable_suspension).await;
    let acme = app.tenant("acme").await;
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

#[tokio::test]
async fn external_and_built_in_items_merge_into_one_list() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let (_app, acme) = beside_articles(system.registration("x")).await;
    let answer = acme.caller.search(&ALL).await.ok();
    assert_eq!(answer.ids(), ["a00000", "x00000", "a00001", "x00001", "a00002", "x00002"]);
    assert_eq!((answer.total(), &answer.body["partial"]), (6, &json!(false)));
    let external = answer.source("x");
    assert_eq!(
        (&external["name"], &external["status"], &external["total"]),
        (&json!("System x"), &json!("ok"), &json!(3))
    );
    for source in ["x", "System x"] {
        let alone = acme.caller.search(&[ALL[0], ALL[1], ("source", source)]).await.ok();
        assert_eq!((alone.items().len(), alone.total()), (3, 3));
    }
}

#[tokio::test]
async fn token_is_fetched_once_and_renewed_when_refused() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let registration = with(system.registration("x"), "auth", system.credentials());
    let (app, acme) = beside_articles(registration).await;
    let searches = (0..8).map(|_| acme.caller.search(&ALL));
    for answer in futures::future::join_all(searches).await {
        assert_eq!(answer.ok().total(), 6);
    }
    assert_eq!(system.issued_tokens(), 1);
    assert!(system.requests().iter().all(|asked| asked.authorization == "Bearer token-1"));
    system.invalidate_tokens();
    assert_eq!(acme.caller.search(&ALL).await.ok().total(), 6);
    assert_eq!(system.issued_tokens(), 2);

    let token = acme.caller.token.clone();
    drop(acme);
    let app = app.restart().await;
    assert_eq!(app.caller(&token).search(&ALL).await.ok().total(), 6);
    assert!(!holds(app.data(), "very secret").await);
    assert_eq!(system.issued_tokens(), 3);
}

#[track_caller]
fn assert_articles_and(answer: Answer, status: &str, said: &str) {
    let answer = answer.ok();
    assert_eq!(answer.ids(), ["a00000", "a00001", "a00002"], "{}", answer.text);
    assert_eq!((answer.total(), &answer.body["partial"]), (3, &json!(true)), "{}", answer.text);
    assert_eq!(answer.source("builtin:article")["status"], "ok");
    let external = answer.source("x");
    assert_eq!(external["status"], status, "{external}");
    assert!(external["message"].as_str().is_some_and(|message| message.contains(said)), "{external}");
    assert!(answer.cursor().is_some(), "no cursor to catch the system up");
    assert!(!answer.text.contains("127.0.0.1"), "a URL is shown: {}", answer.text);
}

#[tokio::test]
async fn failure_has_its_status_and_spares_other_sources() {
    let mut system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let registration = with(system.registration("x"), "timeoutMs", 5_000);
    let (_app, acme) = beside_articles(registration).await;
    let body = |text: &str| Reply::Body(text.to_owned());
    let large = json!({"code": 200, "data": [], "total": 0, "message": "x".repeat(3 << 20)}).to_string();
    for (reply, status, said) in [
        (Reply::Silent, "timeout", "answer"),
        (Reply::Status(503), "unavailable", "503"),
        (Reply::Status(429), "unavailable", "429"),
        (Reply::Status(401), "unauthorized", "401"),
        (Reply::Status(403), "unauthorized", "403"),
        (Reply::Status(500), "error", "500"),
        (Reply::Status(404), "error", "404"),
        (Reply::Status(302), "invalid", "redirect"),
        (Reply::Status(204), "invalid", "204"),
        (body("<html>"), "invalid", ""),
        (body("[]"), "invalid", "envelope"),
        (body(r#"{"code":200,"message":null}"#), "invalid", "data"),
        (body(r#"{"code":500,"message":"out of order","data":null}"#), "error", "out of order"),
        (body(&large), "invalid", "bytes"),
    ] {
        system.set_reply(reply);
        assert_articles_and(acme.caller.search(&ALL).await, status, said);
    }
    system.set_reply(Reply::Good);
    assert_eq!(acme.caller.search(&ALL).await.ok().total(), 6, "the system recovered");
    system.stop().await;
    assert_articles_and(acme.caller.search(&ALL).await, "unavailable", "cannot be reached");
}

#[tokio::test]
async fn refused_client_credentials_are_unauthorized() {
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let registration = with(system.registration("x"), "auth", system.credentials());
    system.refuse_tokens();
    let (_app, acme) = beside_articles(registration).await;
    assert_articles_and(acme.caller.search(&ALL).await, "unauthorized", "token endpoint");
}

/// Decisions 6.4: violations are reported; items are used where that is safe.
#[tokio::test]
async fn source_with_broken_order_or_cursor_is_invalid_but_used() {
    for (reply, said) in [(Reply::Disordered, "order"), (Reply::Stuck, "cursor")] {
        let system = ExternalSystem::start(many("x", "harbour", 5, 1)).await;
        let (_app, acme) = beside_articles(system.registration("x")).await;
        system.set_reply(reply.clone());
        let answer = acme.caller.search(&ALL).await.ok();
        let external = answer.source("x");
        assert_eq!(external["status"], "invalid", "{external}");
        assert!(external["message"].as_str().unwrap().contains(said), "{external}");
        assert_eq!(answer.items().len(), 8, "{reply:?}: {}", answer.text);
        assert!(answer.items().is_sorted_by_key(|item| -item["displayTime"].as_i64().unwrap()));
        assert!(system.requests().len() <= 3, "{} calls", system.requests().len());
    }
}

/// Decisions 5.5.
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
    two.set_reply(Reply::Silent);
    let mixed = search("3000").await.fails_without_sources(502);
    assert_eq!(mixed.source("two")["status"], "timeout");
    one.set_reply(Reply::Silent);
    let late = search("300").await.fails_without_sources(504);
    for id in ["one", "two"] {
        assert_eq!(late.source(id)["status"], "timeout");
        assert!(late.source(id)["tookMs"].as_u64().unwrap() >= 290, "{}", late.text);
    }
    two.set_reply(Reply::Good);
    let one_left = search("3000").await.ok();
    assert_eq!((one_left.items().len(), &one_left.body["partial"]), (0, &json!(true)));
}

/// Decisions 6.4: no item is shown that a time-ordered source could still overtake.
#[tokio::test]
async fn relevance_ordered_source_merges_page_by_page() {
    let mut items = many("old", "harbour", 10, 1);
    items.extend((0..10).map(|number| item(&format!("new{number}"), "harbour", NEW_YEAR + 100 - number)));
    let system = ExternalSystem::start(items.clone()).await;
    let registration = with(system.registration("x"), "order", "relevance");
    let (app, acme) = TestApp::start_with_acme().await;
    app.register_source(&acme, registration, "all", &["builtin:article", "x"]).await;
    let first = acme.caller.search(&[ALL[0], ALL[1], ("paging", "cursor"), ("limit", "10")]).await.ok();
    assert_eq!(first.ids(), ids_of(&items[..10]));
    let cursor = first.cursor().unwrap();
    let second = acme.caller.search(&[ALL[0], ALL[1], ("limit", "10"), ("cursor", &cursor)]).await.ok();
    assert_eq!(second.ids(), ids_of(&items[10..]));
    assert_eq!((second.cursor(), second.total()), (None, 20));
    assert_eq!(second.source("x")["status"], "ok");
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
    let (app, acme) = beside_articles(with(system.registration("x"), "enabled", false)).await;
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
    let operator = app.operator().await.caller.on("acme");
    let module = json!({"code": "x-alone", "name": "x", "type": 100, "sources": ["x"]});
    operator.post("/admin/v1/modules", &module).await.ok();
    let alone = acme.caller.search(&[ALL[0], ("moduleId", "x-alone")]).await.fails_without_sources(502);
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
