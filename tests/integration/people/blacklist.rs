//! Blacklists (book: reference/directory.md).

use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    items::{department, user},
};

async fn start() -> (TestApp, Application, Caller) {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "organizations", &json!([department("d1", "")])).await;
    let people = json!([user("mei", ""), user("omar", "d1"), user("li/é", "d1")]);
    app.sync(&acme.caller, "users", &people).await;
    let mei = app.user(&acme, "mei").await;
    (app, acme, mei)
}

async fn add(caller: &Caller, id: &str) -> crate::util::answer::Answer {
    change(caller, "/v1/users/blacklist", id).await
}

async fn remove(caller: &Caller, id: &str) -> crate::util::answer::Answer {
    change(caller, "/v1/users/blacklist/remove", id).await
}

async fn change(caller: &Caller, path: &str, id: &str) -> crate::util::answer::Answer {
    let request = caller.request(reqwest::Method::POST, path).query(&[("blackUserId", id)]);
    crate::util::caller::send(request).await
}

fn ids(answer: &crate::util::answer::Answer) -> Vec<&str> {
    answer.items().iter().map(|entry| entry["userId"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn people_are_added_listed_and_removed() {
    let (app, acme, mei) = start().await;
    assert_eq!(mei.get("/v1/users/blacklists").await.ok().items(), [] as [Value; 0]);
    assert!(add(&mei, "omar").await.ok().data().is_object());
    assert!(add(&mei, "li/é").await.ok().data().is_object());
    add(&mei, "omar").await.fails(409, "blackUserId");

    let listed = mei.get("/v1/users/blacklists").await.ok();
    assert_eq!((listed.total(), &listed.body["count"]), (2, &json!(2)));
    let omar = json!({
        "orgName": "Department d1", "name": "User omar", "userId": "omar", "picture": null, "orgId": "d1",
    });
    assert_eq!(listed.items()[0], omar);
    let second = mei.get("/v1/users/blacklists?limit=1&offset=1").await.ok();
    assert_eq!((second.total(), ids(&second)), (2, vec!["li/é"]));
    assert_eq!(mei.get("/v1/users/blacklists?limit=0").await.ok().total(), 2);

    let omar = app.user(&acme, "omar").await;
    assert_eq!(omar.get("/v1/users/blacklists").await.ok().total(), 0);
    remove(&omar, "omar").await.fails(404, "blackUserId");

    remove(&mei, "omar").await.ok();
    remove(&mei, "omar").await.fails(404, "blackUserId");
    assert_eq!(ids(&mei.get("/v1/users/blacklists").await.ok()), ["li/é"]);
}

#[tokio::test]
async fn invalid_fields_are_refused_by_name() {
    let (_app, _, mei) = start().await;
    add(&mei, "nobody").await.fails(404, "blackUserId");
    add(&mei, "mei").await.fails(400, "blackUserId");
    add(&mei, "").await.fails(400, "blackUserId");
    add(&mei, "a\u{0}b").await.fails(400, "blackUserId");
    add(&mei, &"x".repeat(600)).await.fails(400, "blackUserId");
    mei.post_empty("/v1/users/blacklist").await.fails(400, "blackUserId");
    mei.post_empty("/v1/users/blacklist?blackUserId=a&blackUserId=b").await.fails(400, "blackUserId");
    mei.get("/v1/users/blacklists?limit=-1").await.fails(400, "limit");
    mei.get("/v1/users/blacklists?offset=x").await.fails(400, "offset");
}

#[tokio::test]
async fn hidden_person_is_unlisted_until_unhidden() {
    let (app, acme, mei) = start().await;
    add(&mei, "omar").await.ok();
    for gone in ["isDeleted", "isHidden"] {
        app.sync(&acme.caller, "users", &json!([{"userId": "omar", gone: true}])).await;
        assert_eq!(mei.get("/v1/users/blacklists").await.ok().total(), 0);
        add(&mei, "omar").await.fails(404, "blackUserId");
        app.sync(&acme.caller, "users", &json!([{"userId": "omar", gone: false}])).await;
        assert_eq!(ids(&mei.get("/v1/users/blacklists").await.ok()), ["omar"]);
    }
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "d1", "isHidden": true}])).await;
    let listed = mei.get("/v1/users/blacklists").await.ok();
    assert!(listed.items()[0]["orgName"].is_null(), "{}", listed.text);
}

#[tokio::test]
async fn people_of_another_tenant_cannot_be_added() {
    let (app, _, mei) = start().await;
    let other = app.tenant("other").await;
    app.sync(&other.caller, "users", &json!([user("stranger", ""), user("mei", "")])).await;
    add(&mei, "stranger").await.fails(404, "blackUserId");
    add(&mei, "omar").await.ok();
    let namesake = app.user(&other, "mei").await;
    assert_eq!(namesake.get("/v1/users/blacklists").await.ok().total(), 0);
}
