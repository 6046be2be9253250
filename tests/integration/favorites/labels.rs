use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    caller::{Caller, send},
    favorites::{add, ids, label, show, start},
};

async fn update(caller: &Caller, item_id: &str, labels: &Value) -> Answer {
    let request = caller.request(Method::POST, "/v1/favorite/update").query(&[("favoriteId", item_id)]);
    send(request.json(labels)).await
}

async fn names(caller: &Caller, item_id: &str) -> Vec<String> {
    let shown = show(caller, item_id).await.ok();
    let labels = shown.data()["labelList"].as_array().unwrap();
    labels.iter().map(|label| label["name"].as_str().unwrap().to_owned()).collect()
}

async fn set_limit(caller: &Caller, count: &str) -> Answer {
    caller.get(&format!("/v1/favorite/labelCountLimit?count={count}")).await
}

#[tokio::test]
async fn labels_are_created_renamed_listed_and_deleted() {
    let (_app, _, mei, _) = start().await;
    let form =
        json!({"sourceId": "s", "sourceType": 3, "name": "later", "sourceName": "App", "remark": "to read"});
    let made = mei.post("/v1/favorite/label", &form).await.ok();
    let later = made.data()["id"].as_str().unwrap().to_owned();
    assert_eq!((&made.data()["name"], &made.data()["remark"]), (&json!("later"), &json!("to read")));
    assert!(
        made.data()["createdDate"].as_str().is_some_and(|time| time.parse::<i64>().is_ok()),
        "{}",
        made.text
    );
    mei.post("/v1/favorite/label", &form).await.fails(409, "name");
    let (second, third) = (label(&mei, "second").await, label(&mei, "third").await);

    let listed = mei.get("/v1/favorite/labels").await.ok();
    assert_eq!((listed.total(), &listed.body["count"]), (3, &json!(3)));
    assert!(listed.items().contains(made.data()), "{}", listed.text);
    let mut paged = Vec::new();
    for offset in 0..4 {
        let page = mei.get(&format!("/v1/favorite/labels?limit=1&offset={offset}")).await.ok();
        assert_eq!((page.total(), page.items().len()), (3, usize::from(offset < 3)));
        paged.extend(page.items().to_vec());
    }
    assert_eq!(paged, listed.items());
    assert_eq!(mei.get("/v1/favorite/labels?limit=&offset=").await.ok().items(), listed.items());

    add(&mei, &json!({"itemId": "1", "labelList": [third, second]})).await.ok();
    add(&mei, &json!({"itemId": "2", "labelList": [second]})).await.ok();
    let rename = |id: &str, name: &str| {
        mei.request(Method::POST, &format!("/v1/favorite/label/update?id={id}&name={name}"))
    };
    send(rename(&second, "later")).await.fails(409, "name");
    send(rename(&second, "second")).await.ok();
    send(rename(&second, "zweite")).await.ok();
    send(rename("nothing", "x")).await.fails(404, "id");
    send(rename("nothing", "later")).await.fails(404, "id");
    assert_eq!(ids(&mei, &[("labelName", "zweite")]).await, ["2", "1"]);
    assert_eq!(ids(&mei, &[("labelName", "second")]).await, [] as [&str; 0]);
    label(&mei, "second").await;

    let delete = |id: &str| mei.request(Method::POST, &format!("/v1/favorite/label/delete?id={id}"));
    send(delete(&second)).await.ok();
    send(delete(&second)).await.fails(404, "id");
    assert_eq!(names(&mei, "1").await, ["third"]);
    assert_eq!(names(&mei, "2").await, [] as [&str; 0]);
    assert_eq!(ids(&mei, &[]).await, ["2", "1"]);
    assert!(names(&mei, "1").await.contains(&"third".to_owned()) && !later.is_empty());
}

#[tokio::test]
async fn invalid_label_fields_are_refused_by_name() {
    let (_app, _, mei, _) = start().await;
    let kept = label(&mei, "kept").await;
    for (field, value) in [
        ("name", json!("")),
        ("name", json!(" ")),
        ("name", json!("a\nb")),
        ("name", json!("x".repeat(257))),
        ("name", json!(null)),
        ("sourceType", json!(-1)),
        ("sourceId", json!("x".repeat(513))),
        ("sourceName", json!("x".repeat(257))),
        ("remark", json!("x".repeat(5_000))),
    ] {
        let mut form = json!({"name": "new"});
        form[field] = value;
        mei.post("/v1/favorite/label", &form).await.fails(400, field);
    }
    mei.post("/v1/favorite/label", &json!({})).await.fails(400, "name");
    mei.post_empty("/v1/favorite/label/delete").await.fails(400, "id");
    mei.post_empty("/v1/favorite/label/update?name=x").await.fails(400, "id");
    mei.post_empty(&format!("/v1/favorite/label/update?id={kept}")).await.fails(400, "name");
    mei.post_empty(&format!("/v1/favorite/label/update?id={kept}&name=%20")).await.fails(400, "name");
    mei.get("/v1/favorite/labels?limit=-1").await.fails(400, "limit");
    mei.get("/v1/favorite/labels?offset=x").await.fails(400, "offset");
    assert_eq!(mei.get("/v1/favorite/labels").await.ok().ids(), [kept]);
}

#[tokio::test]
async fn label_list_replaces_the_labels_of_a_favorite() {
    let (_app, _, mei, _) = start().await;
    let (red, blue) = (label(&mei, "red").await, label(&mei, "blue").await);
    add(&mei, &json!({"itemId": "1", "content": "harbour"})).await.ok();
    assert!(update(&mei, "1", &json!([blue, red, blue])).await.ok().data().is_object());
    assert_eq!(names(&mei, "1").await, ["blue", "red"], "list order without duplicates");
    update(&mei, "1", &json!({"labelList": [red]})).await.ok();
    assert_eq!(names(&mei, "1").await, ["red"]);
    update(&mei, "1", &json!({})).await.ok();
    update(&mei, "1", &json!({"labelList": null})).await.ok();
    mei.post_empty("/v1/favorite/update?favoriteId=1").await.ok();
    assert_eq!(names(&mei, "1").await, ["red"]);
    let refused = update(&mei, "1", &json!([blue, "nothing", "nobody"])).await;
    refused.fails(400, "nothing, nobody");
    let unknown = json!(["1", "2", "3", "4", "5", "6", "7"]);
    update(&mei, "1", &unknown).await.fails(400, "1, 2, 3, 4, 5 and 2 more");
    update(&mei, "1", &json!([5])).await.fails(400, "labelList");
    update(&mei, "1", &json!({"labelList": "red"})).await.fails(400, "labelList");
    update(&mei, "1", &json!("red")).await.fails(400, "body");
    update(&mei, "2", &json!([])).await.fails(404, "favorite");
    mei.send_text(Method::POST, "/v1/favorite/update?favoriteId=1", "[").await.fails(400, "body");
    let request =
        mei.request(Method::POST, "/v1/favorite/update?favoriteId=1").header("content-type", "text/plain");
    send(request.body("[]")).await.fails(415, "Content-Type");
    assert_eq!(names(&mei, "1").await, ["red"]);
    update(&mei, "1", &json!([])).await.ok();
    assert_eq!(names(&mei, "1").await, [] as [&str; 0]);
}

#[tokio::test]
async fn application_sets_the_label_limit_of_favorites() {
    let (app, acme, mei, _) = start().await;
    let other = app.tenant("other").await;
    assert_eq!(acme.caller.get("/v1/favorite/labelCountLimit").await.ok().data(), &json!({"count": 10}));
    let labels = join_all((0..11).map(|number| label_of(&mei, number))).await;
    add(&mei, &json!({"itemId": "1"})).await.ok();
    update(&mei, "1", &json!(labels)).await.fails(400, "labelList");
    update(&mei, "1", &json!(labels[..10])).await.ok();

    assert_eq!(set_limit(&acme.caller, "2").await.ok().data(), &json!({"count": 2}));
    assert_eq!(
        acme.caller.get("/v1/favorite/labelCountLimit?count=").await.ok().data(),
        &json!({"count": 2})
    );
    assert_eq!(other.caller.get("/v1/favorite/labelCountLimit").await.ok().data(), &json!({"count": 10}));
    assert_eq!(names(&mei, "1").await.len(), 10, "existing labels are kept");
    update(&mei, "1", &json!(labels[..3])).await.fails(400, "at most 2");
    add(&mei, &json!({"itemId": "2", "labelList": labels[..3]})).await.fails(400, "at most 2");
    show(&mei, "2").await.fails(404, "favorite");
    update(&mei, "1", &json!([labels[0], labels[1], labels[0]])).await.ok();
    set_limit(&acme.caller, "0").await.ok();
    update(&mei, "1", &json!(labels[..1])).await.fails(400, "at most 0");
    update(&mei, "1", &json!([])).await.ok();

    let operator = app.operator().await.caller;
    assert_eq!(operator.get("/admin/v1/tenants/acme").await.ok().data()["labelLimit"], 0);
    for wrong in ["-1", "1001", "x", "1.5", "99999999999999999999"] {
        set_limit(&acme.caller, wrong).await.fails(400, "count");
    }
    set_limit(&mei, "5").await.fails(403, "this operation needs an application token");
    let head = send(acme.caller.request(Method::HEAD, "/v1/favorite/labelCountLimit?count=7")).await;
    assert_eq!(head.status, 405);
    assert_eq!(acme.caller.get("/v1/favorite/labelCountLimit").await.ok().data(), &json!({"count": 0}));
}

async fn label_of(caller: &Caller, number: usize) -> String {
    label(caller, &format!("label {number}")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_label_lists_never_merge() {
    let (_app, acme, mei, _) = start().await;
    set_limit(&acme.caller, "2").await.ok();
    let labels = join_all((0..8).map(|number| label_of(&mei, number))).await;
    add(&mei, &json!({"itemId": "1"})).await.ok();
    for _ in 0..10 {
        let pairs: Vec<Value> = labels.chunks(2).map(|pair| json!(pair)).collect();
        for answer in join_all(pairs.iter().map(|pair| update(&mei, "1", pair))).await {
            answer.ok();
        }
        let shown = show(&mei, "1").await.ok();
        let has: Vec<&str> = shown.data()["labelList"]
            .as_array()
            .unwrap()
            .iter()
            .map(|label| label["id"].as_str().unwrap())
            .collect();
        assert!(pairs.contains(&json!(has)), "{}", shown.text);
    }

    // A label deleted during its assignment ends up on no favorite.
    for doomed in &labels {
        let list = json!([doomed]);
        let path = format!("/v1/favorite/label/delete?id={doomed}");
        let (given, deleted) = tokio::join!(update(&mei, "1", &list), mei.post_empty(&path));
        deleted.ok();
        assert!([200, 400].contains(&given.status), "{}", given.text);
        assert!(!show(&mei, "1").await.ok().text.contains(doomed.as_str()));
    }
    let form = json!({"name": "one"});
    let made = join_all((0..8).map(|_| mei.post("/v1/favorite/label", &form))).await;
    assert_eq!(made.iter().filter(|answer| answer.status == 200).count(), 1);
    assert!(made.iter().all(|answer| [200, 409].contains(&answer.status)));
}

#[tokio::test(flavor = "multi_thread")]
async fn person_is_limited_to_a_thousand_labels() {
    let (_app, _, mei, omar) = start().await;
    for hundred in 0..10 {
        join_all((0..100).map(|number| label_of(&mei, hundred * 100 + number))).await;
    }
    mei.post("/v1/favorite/label", &json!({"name": "one more"})).await.fails(409, "1000 labels");
    label(&omar, "one more").await;
    let listed = mei.get("/v1/favorite/labels").await.ok();
    assert_eq!((listed.total(), listed.items().len()), (1_000, 1_000));
}
