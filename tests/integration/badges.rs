//! Badges (book: reference/favorites-and-badges.md).

use std::collections::HashSet;

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::{Caller, send},
    internals::{Kind, TokenScope},
};

async fn create(caller: &Caller, name: &str) -> String {
    let created = caller.post("/v1/badge", &json!({"name": name, "icon": ""})).await.ok_rfc3339();
    created.data()["id"].as_str().unwrap().to_owned()
}

async fn list(caller: &Caller, query: &[(&str, &str)]) -> Answer {
    send(caller.request(Method::GET, "/v1/badge/list").query(query)).await
}

async fn names(caller: &Caller, query: &[(&str, &str)]) -> Vec<String> {
    let listed = list(caller, query).await.ok_rfc3339();
    listed.items().iter().map(|badge| badge["name"].as_str().unwrap().to_owned()).collect()
}

async fn delete(caller: &Caller, ids: &Value) -> Answer {
    send(caller.request(Method::DELETE, "/v1/badge").json(&json!({"ids": ids}))).await
}

#[tokio::test]
async fn applications_write_badges_and_everybody_reads_them() {
    let (_app, acme, [mei]) = TestApp::start_with_people(["mei"]).await;
    let form = json!({
        "name": "Star", "remark": "of the\nmonth", "icon": "i.png", "pendantIcon": "p.png", "image": "https://img.example/s",
    });
    let created = acme.caller.post("/v1/badge", &form).await.ok_rfc3339();
    let id = created.data()["id"].as_str().unwrap().to_owned();
    let mut expected = form.clone();
    expected["id"] = json!(id);
    expected["eCode"] = json!("acme");
    expected["createdByName"] = json!("test");
    expected["createdDate"] = created.data()["createdDate"].clone();
    let time: jiff::Timestamp = expected["createdDate"].as_str().unwrap().parse().unwrap();
    assert!(time.as_second() > 1_600_000_000, "{}", created.text);
    assert_eq!(created.data(), &expected);
    for reader in [&acme.caller, &mei] {
        assert_eq!(reader.get(&format!("/v1/badge/{id}")).await.ok_rfc3339().data(), &expected);
        let listed = list(reader, &[]).await.ok_rfc3339();
        assert_eq!(listed.items(), [expected.clone()]);
        assert_eq!(
            (listed.total(), &listed.body["count"], &listed.body["cursor"]),
            (1, &json!(1), &json!(null))
        );
    }

    let path = format!("/v1/badge/{id}");
    let change = json!({"remark": "", "icon": null, "image": "new"});
    assert_eq!(acme.caller.post(&path, &change).await.ok_rfc3339().data(), &json!(id));
    expected["remark"] = json!(null);
    expected["image"] = json!("new");
    assert_eq!(mei.get(&path).await.ok_rfc3339().data(), &expected);
    acme.caller.post(&path, &json!({"name": "Sun"})).await.ok_rfc3339();
    assert_eq!(names(&mei, &[("keyword", "sun")]).await, ["Sun"]);
    assert_eq!(names(&mei, &[("keyword", "star")]).await, [] as [&str; 0]);
    acme.caller.post(&path, &json!({"name": ""})).await.fails_rfc3339(400, "name");

    let second = create(&acme.caller, "Second").await;
    let deleted = delete(&acme.caller, &json!([id, "nothing", id])).await.ok_rfc3339();
    assert_eq!(deleted.data(), "1");
    assert_eq!(delete(&acme.caller, &json!([])).await.ok_rfc3339().data(), "0");
    mei.get(&path).await.fails_rfc3339(404, "badgeId");
    acme.caller.post(&path, &json!({"name": "x"})).await.fails_rfc3339(404, "badgeId");
    assert_eq!(list(&mei, &[]).await.ok_rfc3339().ids(), [second]);
}

#[tokio::test]
async fn list_is_filtered_counted_and_paged() {
    let (_app, acme) = TestApp::start_with_acme().await;
    for name in ["Star 100%", "Étoile", "國 star", "Moon"] {
        create(&acme.caller, name).await;
    }
    acme.caller.post("/v1/badge", &json!({"name": "Sun", "remark": "a STAR too"})).await.ok_rfc3339();
    let all = ["Star 100%", "Étoile", "國 star", "Moon", "Sun"];
    assert_eq!(names(&acme.caller, &[]).await, all, "oldest first");
    assert_eq!(names(&acme.caller, &[("keyword", "sTar")]).await, ["Star 100%", "國 star", "Sun"]);
    assert_eq!(names(&acme.caller, &[("keyword", "éTOI")]).await, ["Étoile"]);
    assert_eq!(names(&acme.caller, &[("keyword", "%")]).await, ["Star 100%"]);
    assert_eq!(names(&acme.caller, &[("keyword", "_")]).await, [] as [&str; 0]);
    assert_eq!(names(&acme.caller, &[("eCode", "acme"), ("limit", "2"), ("offset", "1")]).await, all[1..3]);
    assert_eq!(
        names(&acme.caller, &[("eCode", ""), ("keyword", ""), ("limit", ""), ("offset", "4")]).await,
        all[4..]
    );
    let page = list(&acme.caller, &[("keyword", "star"), ("limit", "1")]).await.ok_rfc3339();
    assert_eq!((page.total(), &page.body["count"]), (3, &json!(1)));
    let uncounted = list(&acme.caller, &[("isCount", "false"), ("limit", "2")]).await.ok_rfc3339();
    assert_eq!((uncounted.body.get("total"), &uncounted.body["count"]), (None, &json!(2)));
    assert_eq!(list(&acme.caller, &[("isCount", "true")]).await.ok_rfc3339().total(), 5);
    let cursor = uncounted.cursor().unwrap();
    let rest = list(&acme.caller, &[("cursor", &cursor), ("offset", "1")]).await.ok_rfc3339();
    assert_eq!((rest.items().len(), rest.total(), rest.cursor()), (2, 5, None));
}

#[tokio::test]
async fn badges_of_another_tenant_are_not_found() {
    let app = TestApp::start().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    let theirs = create(&other.caller, "Star").await;
    let path = format!("/v1/badge/{theirs}");
    acme.caller.get(&path).await.fails_rfc3339(404, "badgeId");
    acme.caller.post(&path, &json!({"name": "Mine"})).await.fails_rfc3339(404, "badgeId");
    assert_eq!(delete(&acme.caller, &json!([theirs])).await.ok_rfc3339().data(), "0");
    assert_eq!(list(&acme.caller, &[]).await.ok_rfc3339().total(), 0);
    for code in ["other", "nothing"] {
        let listed = list(&acme.caller, &[("eCode", code)]).await.ok_rfc3339();
        assert_eq!((listed.total(), &listed.body["count"], listed.items().len()), (0, &json!(0), 0));
    }
    assert_eq!(names(&other.caller, &[]).await, ["Star"]);
    let domain = app.register("acme", Kind::Domain, &["other"], vec![TokenScope::Collab]).await;
    let on_other = domain.caller.on("other");
    create(&on_other, "Moon").await;
    assert_eq!(names(&on_other, &[("eCode", "other")]).await, ["Star", "Moon"]);
    assert_eq!(names(&domain.caller, &[]).await, [] as [&str; 0]);
}

#[tokio::test]
async fn invalid_fields_are_refused_by_name() {
    let (_app, acme) = TestApp::start_acme_with(|config| config.limits.batch_items = 3).await;
    let id = create(&acme.caller, "Star").await;
    for (field, value) in [
        ("name", json!(" ")),
        ("name", json!("x".repeat(257))),
        ("name", json!("a\nb")),
        ("name", json!(5)),
        ("remark", json!("x".repeat(5_000))),
        ("icon", json!("a\nb")),
        ("pendantIcon", json!("x".repeat(9_000))),
        ("image", json!([])),
    ] {
        let mut form = json!({"name": "new"});
        form[field] = value;
        acme.caller.post("/v1/badge", &form).await.fails_rfc3339(400, field);
        acme.caller.post(&format!("/v1/badge/{id}"), &form).await.fails_rfc3339(400, field);
    }
    acme.caller.post("/v1/badge", &json!({})).await.fails_rfc3339(400, "name");
    for (parameter, value) in
        [("limit", "0"), ("limit", "1001"), ("offset", "-1"), ("isCount", "maybe"), ("cursor", "x")]
    {
        list(&acme.caller, &[(parameter, value)]).await.fails_rfc3339(400, parameter);
    }
    list(&acme.caller, &[("keyword", "x".repeat(257).as_str())]).await.fails_rfc3339(400, "keyword");
    delete(&acme.caller, &json!(["1", "2", "3", "4"])).await.fails_rfc3339(400, "ids");
    delete(&acme.caller, &json!([1])).await.fails_rfc3339(400, "ids");
    delete(&acme.caller, &json!(null)).await.fails_rfc3339(400, "ids");
    assert_eq!(names(&acme.caller, &[]).await, ["Star"]);
}

#[tokio::test]
async fn every_failure_has_an_rfc_3339_timestamp() {
    let (app, acme) = TestApp::start_acme_with(|config| config.limits.body_bytes = 1_000).await;
    let nobody = app.caller("nonsense");
    let tiny = app.register("acme", Kind::Application, &[], vec![TokenScope::Tasks]).await.caller;
    nobody.get("/v1/badge/list").await.fails_rfc3339(401, "");
    nobody.post("/v1/badge", &json!({})).await.fails_rfc3339(401, "");
    tiny.get("/v1/badge/x").await.fails_rfc3339(403, "collab");
    acme.caller.on("other").get("/v1/badge/list").await.fails_rfc3339(403, "indicated-e-code");
    acme.caller.put("/v1/badge", &json!({})).await.fails_rfc3339(405, "PUT");
    acme.caller.post_empty("/v1/badge/list").await.fails_rfc3339(405, "POST");
    acme.caller.get("/v1/badge/a/b").await.fails_rfc3339(404, "there is no");
    acme.caller.post("/v1/badge", &json!({"name": "x".repeat(2_000)})).await.fails_rfc3339(413, "body");
    acme.caller.post_empty("/v1/badge").await.fails_rfc3339(415, "Content-Type");
    acme.caller.send_text(Method::POST, "/v1/badge", "{").await.fails_rfc3339(400, "body");
    // Paths that merely begin with the route get no badge envelope.
    acme.caller.get("/v1/badges").await.fails(404, "there is no");
    let head = send(acme.caller.request(Method::HEAD, "/v1/badge/list")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn cursor_pages_are_exact_while_badges_come_and_go() {
    let (app, acme) = TestApp::start_with_acme().await;
    let caller = &acme.caller;
    let mut ids = Vec::new();
    for portion in 0..10 {
        let names: Vec<String> = (0..16).map(|number| format!("badge {portion}/{number}")).collect();
        ids.extend(join_all(names.iter().map(|name| create(caller, name))).await);
    }
    let (go, stay) = ids.split_at(60);
    let mut goers = go.chunks(3);
    let (mut met, mut last) = (Vec::new(), String::new());
    let mut cursor = String::new();
    let mut came = Vec::new();
    loop {
        let query = [("cursor", cursor.as_str()), ("limit", "7")];
        let changes = async {
            if let Some(ids) = goers.next() {
                assert_eq!(delete(caller, &json!(ids)).await.ok_rfc3339().data(), "3");
                came.push(create(caller, "new").await);
            }
        };
        let (page, ()) = tokio::join!(list(caller, &query), changes);
        let page = page.ok_rfc3339();
        for badge in page.items() {
            let time = badge["createdDate"].as_str().unwrap().to_owned();
            assert!(time > last, "wrong order");
            last = time;
        }
        met.extend(page.ids().into_iter().map(str::to_owned));
        match page.cursor() {
            Some(next) => cursor = next,
            None => break,
        }
    }
    let once: HashSet<&String> = met.iter().collect();
    assert_eq!(once.len(), met.len(), "an item was repeated");
    assert!(stay.iter().all(|id| once.contains(id)), "an item was lost");

    // Timestamps are never reused, so a cursor meets a badge created after a deletion.
    let newest = create(caller, "newest").await;
    let listed = list(caller, &[("limit", "1000")]).await.ok_rfc3339();
    let time = listed.items().last().unwrap()["createdDate"].as_str().unwrap().to_owned();
    let ahead = "UPDATE badge_times SET last_created_at = last_created_at + 1000000000";
    app.execute(ahead).await;
    let first = caller.post("/v1/badge", &json!({"name": "a"})).await.ok_rfc3339().data().clone();
    delete(caller, &json!([newest, first["id"]])).await.ok_rfc3339();
    let second = caller.post("/v1/badge", &json!({"name": "b"})).await.ok_rfc3339().data().clone();
    assert!(second["createdDate"].as_str() > first["createdDate"].as_str());
    assert!(first["createdDate"].as_str() > Some(time.as_str()));
    assert_eq!(came.len(), 20);
}
