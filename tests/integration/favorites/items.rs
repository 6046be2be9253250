//! Favorites (book: reference/favorites-and-badges.md).

use serde_json::{Value, json};

use crate::util::{
    favorites::{add, add_text, ask, ids, label, list, remove, show, start},
    groups::people,
};

#[tokio::test]
async fn favorites_are_added_shown_listed_and_removed() {
    let (_app, _, mei, _) = start().await;
    assert_eq!(list(&mei, &[]).await, [] as [Value; 0]);
    let later = label(&mei, "later").await;
    let mut form = json!({
        "itemId": "docs/1 ü", "sourceId": "s1", "sourceType": 2, "sourceName": "Harbour office", "sourceDisplayName": "港务局",
        "contentType": 6, "content": "Quay plan", "keyword": "berth", "labelList": [later], "syncBlogFavor": false,
    });
    let added = add(&mei, &form).await.ok();
    let mut expected = form.clone();
    for beside in ["keyword", "labelList", "syncBlogFavor"] {
        expected.as_object_mut().unwrap().remove(beside);
    }
    expected["createdDate"] = added.data()["createdDate"].clone();
    assert!(expected["createdDate"].as_i64().is_some_and(|time| time > 1_600_000_000_000), "{}", added.text);
    assert_eq!(list(&mei, &[]).await, [expected.clone()]);
    let empty = [("labelName", ""), ("keyword", " "), ("contentTypes", ""), ("cursor", ""), ("limit", "")];
    assert_eq!(ids(&mei, &empty).await, ["docs/1 ü"]);

    let shown = show(&mei, "docs/1 ü").await.ok();
    assert_eq!(shown.data(), added.data());
    let labels = shown.data()["labelList"].as_array().unwrap();
    assert_eq!((labels.len(), &labels[0]["id"], &labels[0]["name"]), (1, &json!(later), &json!("later")));
    assert!(labels[0]["remark"].is_null() && labels[0]["createdDate"].is_string(), "{}", shown.text);
    expected["labelList"] = json!(labels);
    assert_eq!(shown.data(), &expected);

    add(&mei, &form).await.fails(409, "itemId");
    form["syncBlogFavor"] = json!(true);
    add(&mei, &form).await.fails(409, "itemId");
    assert!(remove(&mei, "docs/1 ü", &[]).await.ok().data().is_object());
    remove(&mei, "docs/1 ü", &[]).await.fails(404, "favorite");
    show(&mei, "docs/1 ü").await.fails(404, "favorite");
    assert_eq!(list(&mei, &[]).await, [] as [Value; 0]);

    let added = add(&mei, &json!({"itemId": "2", "content": "", "sourceName": ""})).await.ok();
    assert_eq!(added.data()["contentType"], 1);
    for absent in ["sourceId", "sourceType", "sourceName", "sourceDisplayName", "content"] {
        assert!(added.data()[absent].is_null(), "{}", added.text);
    }
}

/// Lists equal a model in `property::favorites`.
#[tokio::test]
async fn feed_item_without_its_favorite_is_shown_but_not_found() {
    let (app, _, mei, _) = start().await;
    let both = json!({"itemId": "both", "contentType": 2, "content": "harbour both", "syncBlogFavor": true});
    add(&mei, &both).await.ok();
    add(&mei, &json!({"itemId": "plain", "content": "harbour plain"})).await.ok();
    remove(&mei, "both", &[]).await.ok();
    let before = show(&mei, "both").await.ok().data()["createdDate"].as_i64().unwrap();
    app.wait_for_index().await;
    assert_eq!(mei.find("favorite", "harbour").await, ["plain"]);

    let again = add(&mei, &json!({"itemId": "both", "contentType": 3, "content": "quay"})).await.ok();
    assert!(again.data()["createdDate"].as_i64().unwrap() > before, "{}", again.text);
    assert_eq!((&again.data()["contentType"], &again.data()["content"]), (&json!(3), &json!("quay")));
    app.wait_for_index().await;
    assert_eq!(mei.find("favorite", "quay").await, ["both"]);
    assert_eq!(mei.find("favorite", "harbour").await, ["plain"]);
    remove(&mei, "both", &[("syncBlogFavor", "true")]).await.ok();
    show(&mei, "both").await.fails(404, "favorite");
}

#[tokio::test]
async fn invalid_fields_are_refused_by_name() {
    let (_app, _, mei, _) = start().await;
    add_text(&mei, "1", "harbour").await;
    mei.get("/v1/favorite").await.fails(400, "favoriteId");
    mei.get("/v1/favorite?favoriteId=").await.fails(400, "favoriteId");
    mei.get("/v1/favorite?favoriteId=1&favoriteId=2").await.fails(400, "favoriteId");
    show(&mei, &"x".repeat(600)).await.fails(400, "favoriteId");
    mei.post("/v1/favorite/update", &json!([])).await.fails(400, "favoriteId");
    for (parameter, value) in [
        ("contentTypes", "0"),
        ("contentTypes", "9"),
        ("contentTypes", "1;2"),
        ("contentTypes", "1,,2"),
        ("contentTypes", "x"),
        ("cursor", "x"),
        ("cursor", "1.5"),
        ("limit", "0"),
        ("limit", "1001"),
        ("limit", "-1"),
        ("limit", "x"),
    ] {
        ask(&mei, &[(parameter, value)]).await.fails(400, parameter);
    }
    ask(&mei, &[("keyword", "x".repeat(257).as_str())]).await.fails(400, "keyword");
    for (field, value) in [
        ("itemId", json!("")),
        ("itemId", json!(5)),
        ("itemId", json!("a\nb")),
        ("itemId", json!("x".repeat(513))),
        ("sourceId", json!("a\nb")),
        ("sourceType", json!(7)),
        ("sourceType", json!("2")),
        ("sourceName", json!("x".repeat(1_025))),
        ("sourceName", json!("a\nb")),
        ("sourceDisplayName", json!("x".repeat(1_025))),
        ("contentType", json!(0)),
        ("contentType", json!(9)),
        ("content", json!("x".repeat((16 << 10) + 1))),
        ("keyword", json!("x".repeat((4 << 10) + 1))),
        ("labelList", json!("a")),
        ("labelList", json!([1])),
        ("labelList", json!(["nothing"])),
        ("syncBlogFavor", json!("yes")),
    ] {
        let mut form = json!({"itemId": "new"});
        form[field] = value;
        add(&mei, &form).await.fails(400, field);
    }
    add(&mei, &json!({"content": "harbour"})).await.fails(400, "itemId");
    add(&mei, &json!([])).await.fails(400, "body");
    remove(&mei, "1", &[("syncBlogFavor", "yes")]).await.fails(400, "syncBlogFavor");
    remove(&mei, &"x".repeat(600), &[]).await.fails(400, "itemId");
    assert_eq!(ids(&mei, &[]).await, ["1"]);
}

#[tokio::test]
async fn favorites_of_other_people_are_not_found() {
    let (app, acme, mei, omar) = start().await;
    let other = app.tenant("other").await;
    let [namesake] = people(&app, &other, ["mei"]).await;
    let mine = label(&mei, "mine").await;
    add(&mei, &json!({"itemId": "1", "content": "harbour", "labelList": [mine]})).await.ok();
    for stranger in [&omar, &namesake] {
        assert_eq!(ids(stranger, &[]).await, [] as [&str; 0]);
        assert_eq!(ids(stranger, &[("labelName", "mine")]).await, [] as [&str; 0]);
        show(stranger, "1").await.fails(404, "favorite");
        remove(stranger, "1", &[("syncBlogFavor", "true")]).await.fails(404, "favorite");
        stranger.post("/v1/favorite/update?favoriteId=1", &json!([])).await.fails(404, "favorite");
        assert_eq!(stranger.get("/v1/favorite/labels").await.ok().total(), 0);
        stranger.post_empty(&format!("/v1/favorite/label/delete?id={mine}")).await.fails(404, "id");
        stranger.post_empty(&format!("/v1/favorite/label/update?id={mine}&name=x")).await.fails(404, "id");
        // Favorites of the same item are separate, and labels belong to their person.
        add(stranger, &json!({"itemId": "1", "labelList": [mine]})).await.fails(400, "labelList");
        add(stranger, &json!({"itemId": "1", "content": "harbour of another"})).await.ok();
        assert_eq!(ids(stranger, &[]).await, ["1"]);
        label(stranger, "mine").await;
    }
    assert_eq!(list(&mei, &[]).await[0]["content"], "harbour");
    acme.caller.get("/v1/favorites").await.fails(403, "this operation needs a user token");
    app.wait_for_index().await;
    for (person, content) in
        [(&mei, "harbour"), (&omar, "harbour of another"), (&namesake, "harbour of another")]
    {
        let found = person.search(&[("moduleId", "favorite"), ("keyword", "harbour")]).await.ok();
        assert_eq!((found.total(), &found.items()[0]["title"]), (1, &json!(content)), "{}", found.text);
        assert_eq!(found.ids(), ["1"]);
    }
    let found = acme.caller.search(&[("moduleId", "favorite"), ("keyword", "harbour")]).await.ok();
    assert_eq!(found.total(), 0);
}
