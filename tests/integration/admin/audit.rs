use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::{Caller, send},
};

const PATH: &str = "/admin/v1/audit";

async fn deeds(caller: &Caller, query: &str) -> Vec<(String, String)> {
    let answer = caller.get(&format!("{PATH}?{query}")).await.ok();
    let text = |deed: &Value, field: &str| deed[field].as_str().unwrap().to_owned();
    answer.items().iter().map(|deed| (text(deed, "action"), text(deed, "objectKind"))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(action, kind)| ((*action).to_owned(), (*kind).to_owned())).collect()
}

async fn do_everything(app: &TestApp, operator: &Caller) -> Application {
    let acme = app.tenant("acme").await;
    let on_acme = operator.on("acme");
    let path = format!("/admin/v1/applications/{}", acme.client_id);
    on_acme.put(&path, &json!({"name": "Portal"})).await.ok();
    // A request that changes nothing is not audited.
    on_acme.put(&path, &json!({"name": "Portal"})).await.ok();
    on_acme.post_empty(&format!("{path}/secret")).await.ok();
    let form = [("token", acme.caller.token.as_str())];
    let revoke = app.http.post(format!("{}/oauth2/revoke", app.base)).form(&form);
    assert_eq!(send(revoke.basic_auth(&acme.client_id, Some(acme.secret()))).await.status, 200);
    on_acme.put(&path, &json!({"disabled": true})).await.ok();
    on_acme.put(&path, &json!({"disabled": false})).await.ok();
    on_acme.post_empty("/admin/v1/signing_keys").await.ok();
    operator.put("/admin/v1/tenants/acme", &json!({"quotaBytes": 5})).await.ok();
    for _ in 0..2 {
        operator.post_empty("/v1/enterprises/freeze?eCode=acme").await.ok();
    }
    operator.post_empty("/v1/enterprises/unfreeze?eCode=acme").await.ok();
    on_acme.delete(&path).await.ok();
    acme
}

#[tokio::test]
async fn every_action_is_audited_with_its_actor_without_secrets() {
    let app = TestApp::start().await;
    let operator = app.operator().await;
    let acme = do_everything(&app, &operator.caller).await;
    let on_acme = operator.caller.on("acme");
    let expected = [
        ("delete", "application"),
        ("unfreeze", "tenant"),
        ("freeze", "tenant"),
        ("change", "tenant"),
        ("rotate", "signing-key"),
        ("enable", "application"),
        ("disable", "application"),
        ("revoke", "token"),
        ("rotate", "secret"),
        ("change", "application"),
        ("create", "application"),
        ("register", "tenant"),
    ];
    assert_eq!(deeds(&on_acme, "").await, pairs(&expected));
    let all = on_acme.get(PATH).await.ok();
    assert!(!all.text.contains(acme.secret()) && !all.text.contains("argon"), "{}", all.text);
    let change = &all.items()[9];
    let expected = json!({
        "id": change["id"], "at": change["at"], "tenant": "acme", "clientId": operator.client_id, "userId": null,
        "action": "change", "objectKind": "application", "objectId": acme.client_id, "details": {"fields": ["name"]},
    });
    assert_eq!(change, &expected);
    assert!(change["at"].as_i64().unwrap() > 1_600_000_000_000);
    assert!(all.items()[11]["clientId"].is_null());
    assert_eq!(all.items()[7]["clientId"], acme.client_id);
}

#[tokio::test]
async fn entries_are_filtered_and_paged() {
    let app = TestApp::start().await;
    let operator = app.operator().await;
    let acme = do_everything(&app, &operator.caller).await;
    let on_acme = operator.caller.on("acme");
    assert_eq!(deeds(&on_acme, "action=freeze").await, pairs(&[("freeze", "tenant")]));
    assert_eq!(deeds(&on_acme, "objectKind=secret").await, pairs(&[("rotate", "secret")]));
    assert_eq!(deeds(&on_acme, "objectKind=tenant&objectId=acme").await.len(), 4);
    let by_acme = format!("clientId={}", acme.client_id);
    assert_eq!(deeds(&on_acme, &by_acme).await, pairs(&[("revoke", "token")]));
    assert_eq!(deeds(&on_acme, "action=dance").await, []);

    let whole = on_acme.get(PATH).await.ok();
    let mut ids = Vec::new();
    let mut path = format!("{PATH}?limit=5");
    loop {
        let page = on_acme.get(&path).await.ok();
        ids.extend(page.items().iter().map(|deed| deed["id"].clone()));
        operator.caller.put("/admin/v1/tenants/acme", &json!({"quotaBytes": ids.len()})).await.ok();
        let Some(cursor) = page.cursor() else { break };
        path = format!("{PATH}?limit=5&cursor={cursor}");
    }
    let expected: Vec<Value> = whole.items().iter().map(|deed| deed["id"].clone()).collect();
    assert_eq!(ids, expected);
    for wrong in ["limit=0", "limit=1001", "cursor=x", "allTenants=maybe"] {
        let field = wrong.split('=').next().unwrap();
        on_acme.get(&format!("{PATH}?{wrong}")).await.fails(400, field);
    }
}

#[tokio::test]
async fn entries_belong_to_a_tenant_and_outlive_it() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let other = app.tenant("other").await;
    let form = json!({"kind": "domain", "bound": ["other"]});
    let bound = operator.post("/admin/v1/applications", &form).await.ok().body["data"].clone();
    operator.post_empty("/v1/enterprises/delete?eCode=other").await.ok();

    let home = deeds(&operator, "").await;
    assert_eq!(home[0], ("unbind".to_owned(), "application".to_owned()));
    assert!(!home.contains(&("delete".to_owned(), "tenant".to_owned())));
    let unbound = operator.get(&format!("{PATH}?action=unbind")).await.ok();
    assert_eq!(unbound.items()[0]["objectId"], bound["clientId"]);
    // A new tenant with the same code does not inherit the entries.
    app.tenant("other").await;
    assert_eq!(deeds(&operator.on("other"), "action=delete").await, []);
    let all = operator.get(&format!("{PATH}?allTenants=true&action=delete")).await.ok();
    assert_eq!((all.items().len(), &all.items()[0]["tenant"]), (1, &json!("other")));
    assert_eq!(all.items()[0]["objectId"], "other");

    let acme = app.tenant("acme").await;
    acme.caller.get(PATH).await.fails(403, "admin");
    app.caller("").get(PATH).await.fails(401, "token");
    drop(other);
}

#[tokio::test]
async fn entries_expire_after_the_retention_days() {
    for (keep_days, left) in [(30, 1), (0, 2)] {
        let app = TestApp::start_with(|config| config.audit.keep_days = keep_days).await;
        let operator = app.operator().await.caller;
        app.execute("UPDATE audit SET at = at - 2678400000 WHERE object_kind = 'tenant'").await;
        app.app.maintenance.make_round().await.unwrap();
        assert_eq!(deeds(&operator, "").await.len(), left, "{keep_days}");
    }
}
