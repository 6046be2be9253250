//! `/admin/v1/modules`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{app::TestApp, external::with, items::item};

const MODULES: &str = "/admin/v1/modules";

fn handbook() -> Value {
    json!({
        "id": "m-1", "code": "handbook", "name": "Handbook", "icon": "book", "orderNo": -3, "type": 101,
        "sources": ["builtin:handbook", "builtin:article"], "duplicates": "byId",
        "recency": {"percent": 40, "halfLifeDays": 7},
    })
}

#[tokio::test]
async fn module_is_created_shown_replaced_and_removed() {
    let (app, operator) = TestApp::start_operated().await;
    let acme = app.tenant("acme").await.caller;
    let made = operator.post(MODULES, &handbook()).await.ok();
    assert_eq!(made.data(), &handbook());
    assert_eq!(operator.get("/admin/v1/modules/m-1").await.ok().data(), &handbook());
    let list = operator.get(MODULES).await.ok();
    assert_eq!((list.total(), &list.body["count"], &list.items()[0]), (12, &json!(12), &handbook()));
    app.put_contents(&acme, "handbook", &[item("1", "harbour", 1)]).await;
    assert_eq!(acme.find("handbook", "harbour").await, ["1"]);
    assert_eq!(acme.find("m-1", "harbour").await, ["1"]);
    let listed = acme.post_empty("/modules").await.ok();
    assert_eq!(listed.items()[0]["code"], "handbook");
    for field in ["sources", "duplicates", "recency"] {
        assert!(listed.items()[0].get(field).is_none(), "{field} is for operators only");
    }

    let other = json!({"code": "manual", "name": "Manual", "type": 1, "sources": ["builtin:handbook"]});
    let replaced = operator.put("/admin/v1/modules/m-1", &other).await.ok();
    let expected = json!({
        "id": "m-1", "code": "manual", "name": "Manual", "icon": "", "orderNo": 0, "type": 1,
        "sources": ["builtin:handbook"], "duplicates": "keep",
        "recency": {"percent": 15, "halfLifeDays": 90},
    });
    assert_eq!(replaced.data(), &expected);
    assert_eq!(acme.find("manual", "harbour").await, ["1"], "contents keep their code");
    acme.search(&[("keyword", "harbour"), ("moduleId", "handbook")]).await.fails(404, "moduleId");

    let app = app.restart().await;
    let (operator, acme) = (operator.at(&app.base), acme.at(&app.base));
    assert_eq!(operator.get("/admin/v1/modules/m-1").await.ok().data(), &expected);
    assert!(operator.delete("/admin/v1/modules/m-1").await.ok().data().is_null());
    for method in [Method::GET, Method::DELETE] {
        let answer = crate::util::caller::send(operator.request(method, "/admin/v1/modules/m-1")).await;
        answer.fails(404, "no such module");
    }
    operator.put("/admin/v1/modules/m-1", &other).await.fails(404, "no such module");
    acme.search(&[("keyword", "harbour"), ("moduleId", "manual")]).await.fails(404, "moduleId");
    let again = json!({"code": "again", "name": "Again", "type": 1, "sources": ["builtin:handbook"]});
    let made = operator.post(MODULES, &again).await.ok();
    assert_eq!(made.data()["id"].as_str().unwrap().len(), 36, "{}", made.text);
    assert_eq!(acme.find("again", "harbour").await, ["1"]);
}

#[tokio::test]
async fn invalid_module_fields_are_refused_by_name() {
    let (_app, operator) = TestApp::start_operated().await;
    let many = (0..201).map(|number| format!("builtin:m{number}")).collect::<Vec<_>>();
    for (field, value, named) in [
        ("id", json!("a b"), "id: "),
        ("id", json!(""), "id: "),
        ("id", json!("x".repeat(65)), "id: "),
        ("code", Value::Null, "code: "),
        ("code", json!("Handbook"), "code: "),
        ("code", json!(""), "code: "),
        ("code", json!("x".repeat(65)), "code: "),
        ("name", Value::Null, "name: "),
        ("name", json!(" "), "name: "),
        ("name", json!("x".repeat(257)), "name: "),
        ("name", json!("a\u{0}b"), "name: "),
        ("icon", json!("x".repeat(8_193)), "icon: "),
        ("icon", json!(5), "icon: "),
        ("orderNo", json!("first"), "orderNo: "),
        ("orderNo", json!(1.5), "orderNo: "),
        ("type", Value::Null, "type: "),
        ("type", json!(12), "type: "),
        ("type", json!("101"), "type: "),
        ("sources", Value::Null, "sources: "),
        ("sources", json!([]), "sources: "),
        ("sources", json!("builtin:article"), "sources: "),
        ("sources", json!(many), "sources: "),
        ("sources", json!(["builtin:article", 5]), "sources[1]: "),
        ("sources", json!(["builtin:article", "builtin:news", "builtin:article"]), "sources[2]: "),
        ("sources", json!(["builtin:article", "nowhere"]), "sources[1]: "),
        ("sources", json!(["builtin:"]), "sources[0]: "),
        ("sources", json!(["builtin:No Code"]), "sources[0]: "),
        ("duplicates", json!("byid"), "duplicates: must be keep, byId or byAction"),
        ("duplicates", json!(""), "duplicates: "),
        ("duplicates", json!(true), "duplicates: "),
        ("recency", json!({"percent": 101}), "recency.percent: must be 0 to 100 percent, not 101"),
        ("recency", json!({"percent": -1}), "recency.percent: "),
        ("recency", json!({"percent": 1.5}), "recency.percent: "),
        ("recency", json!({"percent": "15"}), "recency.percent: "),
        ("recency", json!({"halfLifeDays": 0}), "recency.halfLifeDays: must be 1 to 3650 days, not 0"),
        ("recency", json!({"percent": 0, "halfLifeDays": 3_651}), "recency.halfLifeDays: "),
        ("recency", json!([15, 90]), "recency: must be an object"),
        ("recency", json!(15), "recency: "),
    ] {
        let module = with(handbook(), field, value.clone());
        operator.post(MODULES, &module).await.fails(400, named);
        if field != "id" {
            operator.post(MODULES, &handbook()).await.ok();
            operator.put("/admin/v1/modules/m-1", &module).await.fails(400, named);
            assert_eq!(operator.get("/admin/v1/modules/m-1").await.ok().data(), &handbook());
            operator.delete("/admin/v1/modules/m-1").await.ok();
        }
    }
    operator.post(MODULES, &json!([handbook()])).await.fails(400, "must be an object");
    operator.post(MODULES, &handbook()).await.ok();
    operator.put("/admin/v1/modules/m-1", &with(handbook(), "id", "m-2")).await.fails(400, "id: ");
    operator.put("/admin/v1/modules/m-1", &with(handbook(), "colour", "red")).await.ok();
}

/// `moduleId` takes an id or a code.
#[tokio::test]
async fn module_ids_and_codes_are_unique() {
    let (app, operator) = TestApp::start_operated().await;
    operator.post(MODULES, &handbook()).await.ok();
    for (id, code, named) in [
        ("m-1", "other", "id: "),
        ("m-2", "handbook", "code: "),
        ("m-2", "m-1", "code: "),
        ("handbook", "other", "id: "),
        ("article", "other", "id: "),
    ] {
        let module = with(with(handbook(), "id", id), "code", code);
        operator.post(MODULES, &module).await.fails(409, named);
    }
    operator.put("/admin/v1/modules/m-1", &with(handbook(), "code", "news")).await.fails(409, "code: ");
    let module = with(with(handbook(), "id", "same"), "code", "same");
    operator.post(MODULES, &module).await.ok();
    operator.put("/admin/v1/modules/same", &module).await.ok();
    // Names of another tenant are free and invisible.
    app.tenant("other").await;
    let other = operator.on("other");
    for (method, path) in [(Method::GET, "m-1"), (Method::DELETE, "m-1")] {
        let request = other.request(method, &format!("{MODULES}/{path}"));
        crate::util::caller::send(request).await.fails(404, "no such module");
    }
    other.put("/admin/v1/modules/m-1", &handbook()).await.fails(404, "no such module");
    other.post(MODULES, &with(handbook(), "name", "Theirs")).await.ok();
    assert_eq!(operator.get("/admin/v1/modules/m-1").await.ok().data()["name"], "Handbook");
    assert_eq!(other.get("/admin/v1/modules/m-1").await.ok().data()["name"], "Theirs");
}

#[tokio::test]
async fn concurrent_operators_keep_names_unique_and_the_limit() {
    let (_app, operator) = TestApp::start_operated().await;
    let create = |number: usize| {
        let operator = operator.clone();
        let module = with(handbook(), "id", format!("m-{number}"));
        async move { operator.post(MODULES, &module).await.status }
    };
    let statuses = futures::future::join_all((0..8).map(create)).await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 7, "{statuses:?}");

    // The 11 built-in modules and one more count, so this reaches the limit of 1,000.
    let create = |number: usize| {
        let operator = operator.clone();
        let module = json!({
            "code": format!("c-{number}"), "name": "Many", "type": 101, "sources": ["builtin:article"],
        });
        async move { operator.post(MODULES, &module).await }
    };
    for first in (0..980).step_by(140) {
        for answer in futures::future::join_all((first..first + 140).map(create)).await {
            answer.ok();
        }
    }
    let last = futures::future::join_all((980..1_000).map(create)).await;
    assert_eq!(last.iter().filter(|answer| answer.status == 200).count(), 8);
    let refused = last.into_iter().find(|answer| answer.status != 200).unwrap();
    refused.fails(409, "1000 modules");
    assert_eq!(operator.get(MODULES).await.ok().total(), 1_000);
}
