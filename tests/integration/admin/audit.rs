use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::{Caller, send},
    console::Operated,
    external::with,
};

const PATH: &str = "/admin/v1/audit";

async fn events(caller: &Caller, query: &str) -> Vec<(String, String)> {
    let answer = caller.get(&format!("{PATH}?{query}")).await.ok();
    let text = |event: &Value, field: &str| event[field].as_str().unwrap().to_owned();
    answer.items().iter().map(|event| (text(event, "action"), text(event, "objectKind"))).collect()
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
    assert_eq!(events(&on_acme, "").await, pairs(&expected));
    let all = on_acme.get(PATH).await.ok();
    assert!(!all.text.contains(acme.secret()) && !all.text.contains("argon"), "{}", all.text);
    let change = &all.items()[9];
    let expected = json!({
        "id": change["id"], "at": change["at"], "tenant": "acme", "clientId": operator.client_id, "userId": null,
        "action": "change", "objectKind": "application", "objectId": acme.client_id, "details": {"fields": ["name"]},
        "application": "test", "person": null,
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
    assert_eq!(events(&on_acme, "action=freeze").await, pairs(&[("freeze", "tenant")]));
    assert_eq!(events(&on_acme, "objectKind=secret").await, pairs(&[("rotate", "secret")]));
    assert_eq!(events(&on_acme, "objectKind=tenant&objectId=acme").await.len(), 4);
    let by_acme = format!("clientId={}", acme.client_id);
    assert_eq!(events(&on_acme, &by_acme).await, pairs(&[("revoke", "token")]));
    assert_eq!(events(&on_acme, "action=dance").await, []);

    let whole = on_acme.get(PATH).await.ok();
    let mut ids = Vec::new();
    let mut path = format!("{PATH}?limit=5");
    loop {
        let page = on_acme.get(&path).await.ok();
        ids.extend(page.items().iter().map(|event| event["id"].clone()));
        operator.caller.put("/admin/v1/tenants/acme", &json!({"quotaBytes": ids.len()})).await.ok();
        let Some(cursor) = page.cursor() else { break };
        path = format!("{PATH}?limit=5&cursor={cursor}");
    }
    let expected: Vec<Value> = whole.items().iter().map(|event| event["id"].clone()).collect();
    assert_eq!(ids, expected);
    for wrong in ["limit=0", "limit=1001", "cursor=x", "allTenants=maybe"] {
        let field = wrong.split('=').next().unwrap();
        on_acme.get(&format!("{PATH}?{wrong}")).await.fails(400, field);
    }
}

#[tokio::test]
async fn actors_are_named_and_filter_the_entries() {
    let all = Operated::start().await;
    let importer = json!({"name": "Importer", "scopes": ["admin"], "kind": "admin"});
    all.mei.post("/admin/v1/applications", &importer).await.ok();
    all.app.tenant("beta").await;
    all.mei.on("beta").put("/admin/v1/tenants/beta", &json!({"quotaBytes": 5})).await.ok();
    let operator = all.app.operator().await;
    operator.caller.on("beta").put("/admin/v1/tenants/beta", &json!({"quotaBytes": 6})).await.ok();
    let on_beta = operator.caller.on("beta");

    let listed = on_beta.get(&format!("{PATH}?action=change")).await.ok();
    let actors: Vec<_> = listed
        .items()
        .iter()
        .map(|event| [&event["clientId"], &event["application"], &event["userId"], &event["person"]])
        .collect();
    let console = json!(["operator:mei@acme", null, "mei", "User mei"]);
    assert_eq!(json!(actors), json!([[operator.client_id, "test", null, null], console]));
    let by_mei = on_beta.get(&format!("{PATH}?userId=mei")).await.ok();
    assert_eq!(by_mei.items(), &listed.items()[1..]);
    assert_eq!(events(&on_beta, "clientId=operator:mei@acme").await, pairs(&[("change", "tenant")]));
    assert_eq!(events(&on_beta, "userId=tom").await, []);

    // A person of the same id elsewhere did nothing.
    let page = on_beta.get(&format!("{PATH}?allTenants=true&userId=mei")).await.ok();
    assert!(
        page.items().len() >= 2 && page.items().iter().all(|event| event["person"] == "User mei"),
        "{}",
        page.text
    );
}

#[tokio::test]
async fn entries_are_filtered_by_time() {
    let app = TestApp::start().await;
    let operator = app.operator().await;
    do_everything(&app, &operator.caller).await;
    let on_acme = operator.caller.on("acme");
    // Maintenance removes old ones.
    app.execute("UPDATE audit SET at = 4102444800000 + position * 1000").await;
    let of = async |query: &str| {
        let answer = on_acme.get(&format!("{PATH}?{query}")).await.ok();
        answer.items().iter().map(|event| event["at"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    let all = of("").await;
    let (last, middle) = (all[0], all[5]);
    assert_eq!(of(&format!("from={middle}")).await, all[..=5]);
    assert_eq!(of(&format!("to={middle}")).await, all[6..]);
    assert_eq!(of(&format!("from={middle}&to={last}")).await, all[1..=5]);
    assert_eq!(of(&format!("from={middle}&limit=2")).await, all[..2]);
    assert_eq!(of(&format!("from={}", last + 1)).await, [0; 0]);
    // Clocks of replicas differ.
    app.execute(&format!("UPDATE audit SET at = {} WHERE at = {last}", middle + 1)).await;
    assert_eq!(of(&format!("from={middle}&to={}", middle + 2)).await, [middle + 1, middle]);
    on_acme.get(&format!("{PATH}?from=5&to=4")).await.fails(400, "to: ");
    on_acme.get(&format!("{PATH}?from=yesterday")).await.fails(400, "from");
}

#[tokio::test]
async fn export_holds_every_found_entry() {
    let app = TestApp::start().await;
    let operator = app.operator().await;
    do_everything(&app, &operator.caller).await;
    let on_acme = operator.caller.on("acme");
    let twelvefold = "INSERT INTO audit (at, tenant_id, tenant_code, client_id, user_id, action, object_kind, object_id, details) \
        SELECT one.at, one.tenant_id, one.tenant_code, one.client_id, one.user_id, one.action, one.object_kind, one.object_id, one.details \
        FROM audit AS one, audit AS two";
    app.execute(twelvefold).await;
    app.execute(&format!("{twelvefold}, (SELECT 1 AS x FROM audit LIMIT 17) AS three")).await;
    let mut expected = Vec::new();
    let mut path = format!("{PATH}?action=freeze&limit=1000");
    loop {
        let page = on_acme.get(&path).await.ok();
        expected.extend_from_slice(page.items());
        let Some(cursor) = page.cursor() else { break };
        path = format!("{PATH}?action=freeze&limit=1000&cursor={cursor}");
    }
    assert!(expected.len() > 3_000, "{}", expected.len());
    let export = on_acme.get(&format!("{PATH}?action=freeze&format=ndjson")).await;
    assert_eq!((export.status, export.header("content-type")), (200, "application/x-ndjson"));
    assert_eq!(export.header("content-disposition"), "attachment; filename=\"audit.ndjson\"");
    let lines: Vec<Value> = export.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), expected.len());
    assert!(lines == expected, "an entry differs");
    let table = on_acme.get(&format!("{PATH}?action=freeze&format=csv")).await;
    assert_eq!(table.text.lines().count(), expected.len() + 1);

    app.execute(&format!("{twelvefold} LIMIT 110000")).await;
    on_acme.get(&format!("{PATH}?format=csv")).await.fails(400, "from: the filter finds more than 100000");
    on_acme.get(&format!("{PATH}?format=csv&limit=5")).await.fails(400, "limit: ");
    on_acme.get(&format!("{PATH}?format=xml")).await.fails(400, "format");
}

#[tokio::test]
async fn exported_table_is_quoted_and_runs_no_formula() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    app.tenant("acme").await;
    let on_acme = operator.on("acme");
    app.execute("UPDATE audit SET at = 4102444800000").await;
    app.execute("UPDATE audit SET object_id = '=HYPERLINK(\"x\",1)' WHERE object_kind = 'application'").await;
    app.execute("UPDATE audit SET object_id = '@SUM(1), a' WHERE object_kind = 'tenant'").await;
    let request = on_acme.request(reqwest::Method::GET, &format!("{PATH}?format=csv")).send().await.unwrap();
    assert_eq!(request.headers()["content-type"], "text/csv;charset=UTF-8");
    let table = String::from_utf8(request.bytes().await.unwrap().to_vec()).unwrap();
    let lines: Vec<&str> = table.split_terminator("\r\n").collect();
    assert_eq!(
        lines[0],
        "\u{feff}\"id\",\"time\",\"tenant\",\"clientId\",\"application\",\"userId\",\"person\",\"action\",\"objectKind\",\"objectId\",\"details\""
    );
    assert_eq!(lines.len(), 3);
    assert!(lines[1].contains("\"2100-01-01T00:00:00.000Z\",\"acme\""), "{table}");
    assert!(lines[1].contains(r#""application","'=HYPERLINK(""x"",1)","{"#), "{table}");
    assert!(lines[2].contains(r#""tenant","'@SUM(1), a","#), "{table}");
}

#[tokio::test]
async fn entries_belong_to_a_tenant_and_outlive_it() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    app.tenant("other").await;
    let form = json!({"kind": "domain", "bound": ["other"]});
    let bound = operator.post("/admin/v1/applications", &form).await.ok().body["data"].clone();
    operator.post_empty("/v1/enterprises/delete?eCode=other").await.ok();

    let home = events(&operator, "").await;
    assert_eq!(home[0], ("unbind".to_owned(), "application".to_owned()));
    assert!(!home.contains(&("delete".to_owned(), "tenant".to_owned())));
    let unbound = operator.get(&format!("{PATH}?action=unbind")).await.ok();
    assert_eq!(unbound.items()[0]["objectId"], bound["clientId"]);
    // A new tenant with the same code does not inherit the entries.
    app.tenant("other").await;
    assert_eq!(events(&operator.on("other"), "action=delete").await, []);
    let all = operator.get(&format!("{PATH}?allTenants=true&action=delete")).await.ok();
    assert_eq!((all.items().len(), &all.items()[0]["tenant"]), (1, &json!("other")));
    assert_eq!(all.items()[0]["objectId"], "other");
}

#[tokio::test]
async fn entries_expire_after_the_retention_days() {
    for (keep_days, left) in [(30, 1), (0, 2)] {
        let app = TestApp::start_with(|config| config.audit.keep_days = keep_days).await;
        let operator = app.operator().await.caller;
        app.execute("UPDATE audit SET at = at - 2678400000 WHERE object_kind = 'tenant'").await;
        app.app.maintenance.make_round().await.unwrap();
        assert_eq!(events(&operator, "").await.len(), left, "{keep_days}");
    }
}

#[tokio::test]
async fn registry_changes_are_audited_with_changed_fields() {
    let (app, _acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await;
    let on_acme = operator.caller.on("acme");
    let source = json!({
        "id": "crm", "name": "Customers", "url": "https://crm.example/search",
        "auth": {"type": "API_KEY", "key": "very secret"},
    });
    let module = json!({"id": "m-1", "code": "handbook", "name": "Handbook", "type": 101, "sources": ["builtin:article"]});
    on_acme.post("/admin/v1/sources", &source).await.ok();
    let changed =
        with(with(source, "timeoutMs", 900), "auth", json!({"type": "API_KEY", "key": "other secret"}));
    for _ in 0..2 {
        on_acme.put("/admin/v1/sources/crm", &changed).await.ok();
    }
    on_acme.post("/admin/v1/modules", &module).await.ok();
    // A replacement without a difference is not audited.
    on_acme.put("/admin/v1/modules/m-1", &module).await.ok();
    on_acme.put("/admin/v1/modules/m-1", &with(module, "icon", "book")).await.ok();
    on_acme.put("/admin/v1/vocabulary", &json!({"neverCorrect": ["Trawler"]})).await.ok();
    on_acme.delete("/admin/v1/modules/m-1").await.ok();
    on_acme.delete("/admin/v1/sources/crm").await.ok();
    on_acme.delete("/admin/v1/sources/crm").await.fails(404, "id");

    let all = on_acme.get(&format!("{PATH}?clientId={}", operator.client_id)).await.ok();
    let told: Vec<Value> = all
        .items()
        .iter()
        .map(|event| {
            json!([event["action"], event["objectKind"], event["objectId"], event["details"]["fields"]])
        })
        .collect();
    // The sealed secret differs at each change.
    let expected = [
        json!(["delete", "source", "crm", null]),
        json!(["delete", "module", "m-1", null]),
        json!(["change", "vocabulary", "acme", ["neverCorrect"]]),
        json!(["change", "module", "m-1", ["icon"]]),
        json!(["create", "module", "m-1", null]),
        json!(["change", "source", "crm", ["auth.secret"]]),
        json!(["change", "source", "crm", ["auth.secret", "timeoutMs"]]),
        json!(["create", "source", "crm", null]),
    ];
    assert_eq!(told, expected);
    assert!(!all.text.contains("very secret") && !all.text.contains("other secret"), "{}", all.text);
}
