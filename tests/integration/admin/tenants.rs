//! `/admin/v1/tenants`.

use serde_json::{Value, json};

use crate::util::app::TestApp;

const PATH: &str = "/admin/v1/tenants";

#[tokio::test]
async fn registered_details_are_read_back() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let form = json!({
        "enterpriseName": "Acme", "shortName": "A", "enterpriseVersion": "pro", "enterpriseIntroduction": "One\nTwo",
        "enterpriseAddress": "1 Quay", "enterpriseMail": "mail@acme.example", "contactName": "Mei", "contactPhone": "+1",
        "isAllowManage": false, "somethingElse": 5,
    });
    let code = operator.post("/v1/enterprises/register", &form).await.ok().body["data"].clone();
    let tenant = operator.get(&format!("{PATH}/{}", code.as_str().unwrap())).await.ok().body["data"].clone();
    let mut profile = form;
    for field in ["isAllowManage", "somethingElse"] {
        profile.as_object_mut().unwrap().remove(field);
    }
    let expected = json!({
        "eCode": code, "name": "Acme", "frozen": false, "createdAt": tenant["createdAt"], "isAllowManage": false,
        "profile": profile, "loginSuffix": null, "allowOuterMembers": false, "searchInsights": false, "quotaBytes": 0, "subjectQuotaBytes": 0,
        "labelLimit": 10, "administrators": [],
    });
    assert_eq!(tenant, expected);
}

/// Absent and null keep the value, an empty text clears it.
#[tokio::test]
async fn settings_are_changed_separately() {
    let app = TestApp::start().await;
    app.tenant("acme").await;
    let operator = app.operator().await.caller;
    let path = format!("{PATH}/acme");
    let all = json!({
        "loginSuffix": "acme.com", "allowOuterMembers": true, "quotaBytes": 5, "subjectQuotaBytes": 3, "labelLimit": 20,
        "administrators": ["mei"],
    });
    let holds = |answer: Value, expected: &Value| {
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(&answer[field], value, "{field}: {answer}");
        }
    };
    holds(operator.put(&path, &all).await.ok().body["data"].clone(), &all);
    operator.put(&path, &json!({})).await.ok();
    operator.put(&path, &json!({"loginSuffix": null, "quotaBytes": null})).await.ok();
    holds(operator.get(&path).await.ok().body["data"].clone(), &all);
    let mut less = all;
    (less["loginSuffix"], less["labelLimit"]) = (Value::Null, json!(0));
    operator.put(&path, &json!({"loginSuffix": "", "labelLimit": 0})).await.ok();
    holds(operator.get(&path).await.ok().body["data"].clone(), &less);

    for (form, field) in [
        (json!({"loginSuffix": "@acme.com"}), "loginSuffix"),
        (json!({"loginSuffix": 5}), "loginSuffix"),
        (json!({"allowOuterMembers": "yes"}), "allowOuterMembers"),
        (json!({"quotaBytes": -1}), "quotaBytes"),
        (json!({"subjectQuotaBytes": 9_007_199_254_740_992_i64}), "subjectQuotaBytes"),
        (json!({"labelLimit": 1_001}), "labelLimit"),
    ] {
        operator.put(&path, &form).await.fails(400, field);
    }
    holds(operator.get(&path).await.ok().body["data"].clone(), &less);
    operator.get(&format!("{PATH}/nobody")).await.fails(404, "tenant");
    operator.put(&format!("{PATH}/nobody"), &json!({})).await.fails(404, "tenant");
}

#[tokio::test]
async fn every_tenant_is_listed_once() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    for code in ["a", "b", "c", "d"] {
        app.tenant(code).await;
    }
    operator.post_empty("/v1/enterprises/delete?eCode=b").await.ok();
    operator.post_empty("/v1/enterprises/freeze?eCode=c").await.ok();
    let mut codes = Vec::new();
    let mut path = format!("{PATH}?limit=2");
    for _ in 0..2 {
        let page = operator.get(&path).await.ok();
        for tenant in page.items() {
            assert_eq!(tenant["frozen"], tenant["eCode"] == "c");
            assert!(tenant["createdAt"].is_i64() && tenant["name"] == tenant["eCode"], "{tenant}");
            codes.push(tenant["eCode"].as_str().unwrap().to_owned());
        }
        let Some(cursor) = page.cursor() else { break };
        path = format!("{PATH}?limit=2&cursor={cursor}");
    }
    assert_eq!(codes, ["operations", "a", "c", "d"]);
    assert_eq!(operator.get(&path).await.ok().cursor(), None);
    for wrong in ["limit=0", "limit=1001", "limit=x", "cursor=x"] {
        let field = wrong.split('=').next().unwrap();
        operator.get(&format!("{PATH}?{wrong}")).await.fails(400, field);
    }
}
