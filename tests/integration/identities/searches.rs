//! Sources that trim their rows by the person who searches.

use std::{collections::HashSet, sync::Arc};

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    external::{auth, with},
    items::user,
    own_search::{OwnSearch, ReceivedRequest},
    paging::{ids_of, items_by_cursor},
    sizes::size,
    zoo::{self as sources, KEYWORD, Running},
};

fn ids(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("p{number:03}")).collect()
}

/// Pages are fresh for this long.
pub(super) async fn start_caching(fresh_ms: u64) -> (TestApp, Application) {
    let app =
        TestApp::start_with(|config| (config.cache.fresh_ms, config.cache.stale_ms) = (fresh_ms, 300_000))
            .await;
    let acme = app.tenant("acme").await;
    (app, acme)
}

/// People of `acme`, who each have one letter at a source of the module `letters`.
async fn start(people: &[String]) -> (TestApp, Application, Vec<Caller>, Running) {
    let (app, acme) = start_caching(1_000).await;
    let rows: Vec<Value> = people.iter().map(|id| user(id, "")).collect();
    app.sync(&acme.caller, "users", &rows.into()).await;
    let source = sources::start_for_people(&format!("{}/oauth2/jwks", app.base), None, people).await;
    app.register_source(&acme, registration(&source), "letters", &["papers"]).await;
    let mut callers = Vec::new();
    for id in people {
        callers.push(app.user(&acme, id).await);
    }
    (app, acme, callers, source)
}

fn registration(source: &Running) -> Value {
    json!({
        "id": "papers", "name": "Papers", "url": source.url, "auth": auth(&source.credentials()),
        "identity": "assertion", "timeoutMs": 10_000, "pageSize": 10, "maxConcurrency": 64,
    })
}

fn search(keyword: &str) -> [(&str, &str); 3] {
    [("moduleId", "letters"), ("keyword", keyword), ("limit", "10")]
}

/// The letters of a page; everything else is for everyone.
fn letters(items: &[Value]) -> Vec<&str> {
    items.iter().filter_map(|item| item["id"].as_str()?.strip_prefix("papers-of-")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn people_at_once_see_their_own_rows_alone() {
    // Identical searches come in fours: caches and calls in flight answer most of them.
    const ALIKE: usize = 4;
    const KEYWORDS: [&str; 3] = [KEYWORD, "letter", "harbour office"];
    let (number_of_people, number_of_searches) = size((12, 600), (100, 10_000));
    let people = ids(number_of_people);
    let (_app, _acme, callers, source) = start(&people).await;
    let (people, callers) = (Arc::new(people), Arc::new(callers));
    let searches = (0..number_of_searches).map(|number| {
        let (people, callers) = (Arc::clone(&people), Arc::clone(&callers));
        tokio::spawn(async move {
            let person = number / ALIKE % number_of_people;
            let keyword = KEYWORDS[number / (ALIKE * number_of_people) % KEYWORDS.len()];
            let page = callers[person].search(&search(keyword)).await.ok();
            assert_eq!(letters(page.items()), [people[person].as_str()], "{}", page.text);
        })
    });
    let mut running = stream::iter(searches).buffer_unordered(number_of_people);
    let mut ended = 0;
    while let Some(outcome) = running.next().await {
        outcome.unwrap();
        ended += 1;
    }
    assert_eq!(ended, number_of_searches);
    drop(source);
}

#[tokio::test]
async fn pages_of_a_person_follow_their_own_cursor_to_the_end() {
    let people = ids(3);
    let (_app, _acme, callers, _source) = start(&people).await;
    for (id, caller) in people.iter().zip(&callers) {
        let items = items_by_cursor(caller, &[("moduleId", "letters"), ("keyword", KEYWORD)], 7).await;
        let seen: HashSet<String> = ids_of(&items).into_iter().collect();
        assert_eq!((items.len(), seen.len()), (58, 58), "57 papers for everyone, and one letter");
        assert!(seen.contains(&format!("papers-of-{id}")));
    }
}

#[tokio::test]
async fn cached_row_of_another_person_cannot_be_opened() {
    let people = ids(2);
    let (_app, _acme, callers, _source) = start(&people).await;
    callers[0].search(&search("letter")).await.ok();
    callers[0].get("/v1/contents/letters/papers-of-p000").await.ok();
    callers[1].search(&search("letter")).await.ok();
    callers[1].get("/v1/contents/letters/papers-of-p000").await.fails(404, "id");
    callers[1].get("/v1/contents/letters/papers-of-p001").await.ok();
}

#[tokio::test]
async fn unknown_person_is_unauthorized_at_that_source_alone() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
    let system = OwnSearch::start(|request: &ReceivedRequest| match subject(request).as_str() {
        "mei" => envelope(&[row("1")]),
        _ => StatusCode::FORBIDDEN.into_response(),
    })
    .await;
    let source = json!({
        "id": "crm", "name": "CRM", "url": system.base, "identity": "assertion", "auth": {"type": "NONE"},
        "timeoutMs": 10_000,
    });
    app.register_source(&acme, source, "crm", &["builtin:article", "crm"]).await;
    let article = json!({"id": "a", "title": "customer", "displayTime": 1});
    app.put_contents(&acme.caller, "article", &[article]).await;
    let (mei, omar) = (app.user(&acme, "mei").await, app.user(&acme, "omar").await);
    let ask = [("moduleId", "crm"), ("keyword", "customer")];
    let operator = app.operator().await.caller.on("acme");
    let health = async || operator.get("/admin/v1/sources/crm/health").await.ok().data().clone();
    assert_eq!(mei.search(&ask).await.ok().ids(), ["1", "a"]);
    // More often than would suspend a source.
    for round in 0..20 {
        let answer = omar.search(&ask).await.ok();
        assert_eq!(
            (answer.ids(), &answer.source("crm")["status"]),
            (vec!["a"], &json!("unauthorized")),
            "{round}"
        );
        let answer = acme.caller.search(&ask).await.ok();
        assert_eq!(answer.source("crm")["status"], "unauthorized");
        assert!(answer.source("crm")["message"].as_str().unwrap().contains("the token of a person"));
        // One person says little of a source, many in a row may tell that its credentials are refused.
        assert_eq!(health().await["status"], if round < 9 { "ok" } else { "unauthorized" }, "{round}");
    }
    assert_eq!(mei.search(&ask).await.ok().ids(), ["1", "a"]);
    assert_eq!(health().await["status"], "ok");
}

/// Reads the subject; ignores the signature.
fn subject(request: &ReceivedRequest) -> String {
    let header = request.headers.get("x-trawl-assertion").map(|value| value.to_str().unwrap());
    super::claims(header.unwrap_or_default())["sub"].as_str().unwrap_or_default().to_owned()
}

pub(super) fn row(id: &str) -> Value {
    json!({"id": id, "title": format!("Row {id}"), "displayTime": 1_704_067_200_000_i64})
}

pub(super) fn envelope(rows: &[Value]) -> Response {
    let body = json!({
        "code": 200, "message": null, "data": rows, "count": rows.len(), "total": rows.len(), "cursor": null,
    });
    ([("content-type", "application/json;charset=UTF-8")], body.to_string()).into_response()
}

#[tokio::test]
async fn operator_checks_and_tries_as_a_person() {
    let people = ids(1);
    let (app, _acme, _callers, source) = start(&people).await;
    let operator = app.operator().await.caller.on("acme");
    let check = "/admin/v1/sources/papers/check?keyword=harbour";
    operator.post_empty(check).await.fails(400, "person: is required");
    let report = operator.post_empty(&format!("{check}&person=p000")).await.ok();
    let clauses = report.data()["clauses"].as_array().unwrap();
    assert!(clauses.iter().all(|clause| clause["verdict"] == "pass"), "{}", report.text);
    assert!(clauses.iter().any(|clause| clause["id"] == "identity-signature"));
    assert!(!report.text.contains("eyJ"), "an assertion is shown");
    let trial = json!({"source": registration(&source), "keyword": "letter", "person": "p000"});
    let trial = operator.post("/admin/v1/sources/try", &trial).await.ok();
    assert_eq!(letters(trial.data()["rows"].as_array().unwrap()), ["p000"]);
    assert!(trial.data()["curl"].as_str().unwrap().contains("-H \"x-trawl-assertion: $ASSERTION\""));
    assert!(!trial.text.contains("eyJ"), "an assertion is shown");
    let nobody = json!({"source": registration(&source), "keyword": "letter", "person": "nobody"});
    let refusal = "person: no active person has this id";
    operator.post("/admin/v1/sources/try", &nobody).await.fails(400, refusal);
    operator.post_empty(&format!("{check}&person=nobody")).await.fails(400, refusal);
    let audited = operator.get("/admin/v1/audit?action=search-as").await.ok();
    let people: Vec<_> = audited.items().iter().map(|entry| &entry["objectId"]).collect();
    assert_eq!(people, ["p000", "p000"], "the check and the trial");
}

#[tokio::test]
async fn identity_of_a_registration_is_checked_and_shown() {
    let (app, operator) = TestApp::start_operated().await;
    let system = OwnSearch::always("{}").await;
    let source =
        json!({"id": "crm", "name": "CRM", "url": system.base, "auth": {"type": "BEARER", "token": "hush"}});
    let identity = |identity: Value| with(source.clone(), "identity", identity);
    for (wrong, named) in [
        (json!("person"), "identity.type: must be assertion, token or variable"),
        (json!({"type": "token"}), "identity.type: token needs auth.type"),
        (json!({"type": "variable"}), "identity.type: variable needs a mapping"),
        (json!({"type": "assertion", "header": "Host"}), "identity.header: must not be a header"),
        (json!({"type": "assertion", "header": "a b"}), "identity.header: must be 1 to 64"),
        (json!({"type": "assertion", "header": "authorization"}), "identity.header: is taken"),
        (json!({"type": "assertion", "subject": "email"}), "identity.subject: must be userId or loginId"),
        (json!(7), "identity: must be a type"),
    ] {
        operator.post("/admin/v1/sources", &identity(wrong)).await.fails(400, named);
    }
    let stored = operator.post("/admin/v1/sources", &identity(json!("assertion"))).await.ok();
    let shown = json!({
        "type": "assertion", "header": "X-Trawl-Assertion", "subject": "userId", "audience": null,
        "departments": false,
    });
    assert_eq!(stored.data()["identity"], shown);
    let put = operator.put("/admin/v1/sources/crm", &identity(shown)).await.ok();
    assert_eq!(put.data()["identity"]["type"], "assertion");
    let without = operator.put("/admin/v1/sources/crm", &source).await.ok();
    assert_eq!(without.data()["identity"], Value::Null);
    drop(app);
}
