//! The module `department`.

use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
};

async fn sync(app: &TestApp, tenant: &Application, rows: Value) {
    app.sync(&tenant.caller, "organizations", &rows).await;
    app.wait_for_index().await;
}

async fn acme(app: &TestApp) -> Application {
    let acme = app.tenant("acme").await;
    let tree = json!([
        {"orgId": "top", "name": "港风物流"},
        {"orgId": "secret", "parentId": "top", "name": "Aurora 收购队", "isHidden": true},
        {"orgId": "finance", "parentId": "top", "name": "财务部"},
        {"orgId": "payroll", "parentId": "finance", "name": "薪酬组 Payroll", "description": "Pays everybody",
         "telephone": "010-5550199", "email": "pay@acme.example", "orgNum": "D-42",
         "fullPathName": "港风物流/Aurora 收购队/薪酬组"},
        {"orgId": "team", "parentId": "secret", "name": "Research"},
    ]);
    sync(app, &acme, tree).await;
    acme
}

async fn search(tenant: &Application, keyword: &str, more: &[(&str, &str)]) -> Answer {
    let mut parameters = vec![("moduleId", "department"), ("keyword", keyword)];
    parameters.extend(more);
    tenant.caller.search(&parameters).await.ok()
}

async fn found(tenant: &Application, keyword: &str) -> Vec<String> {
    let mut found = tenant.caller.find("department", keyword).await;
    found.sort_unstable();
    found
}

#[tokio::test]
async fn departments_are_found_by_name_pinyin_path_and_text() {
    let app = TestApp::start().await;
    let acme = acme(&app).await;
    for (keyword, expected) in [
        ("财务部", &["finance", "payroll"][..]),
        ("財務部", &["finance", "payroll"]),
        ("caiwubu", &["finance"]),
        ("caiwu", &["finance"]),
        ("cwb", &["finance"]),
        ("gangfeng", &["top"]),
        ("xinchou payroll", &["payroll"]),
        ("payroll", &["payroll"]),
        ("pays", &["payroll"]),
        ("D-42", &["payroll"]),
        ("0105550199", &["payroll"]),
        ("0199", &["payroll"]),
        ("pay@acme.example", &["payroll"]),
        ("港风物流", &["finance", "payroll", "team", "top"]),
        ("research", &["team"]),
    ] {
        assert_eq!(found(&acme, keyword).await, expected, "{keyword}");
    }
    let answer = search(&acme, "cwb", &[("highlight", "true")]).await;
    let item = &answer.items()[0];
    assert_eq!((&item["title"], &item["subTitle"]), (&json!("财务部"), &json!("港风物流 / 财务部")));
    assert_eq!(item["highlight"]["title"], "<em>财务部</em>");
    let item = search(&acme, "payroll", &[]).await.items()[0].clone();
    assert_eq!(item["subTitle"], "港风物流 / 财务部 / 薪酬组 Payroll");
    assert_eq!(item["brief"], "Pays everybody · 010-5550199 · pay@acme.example");
    let best = search(&acme, "财务部", &[("sort", "relevance")]).await;
    assert_eq!(best.ids()[0], "finance", "the named department ranks above its children");

    for secret_level in [1, 2] {
        let kept = json!({
            "orgId": "payroll", "secretLevel": secret_level, "orgNum": "+86 10 ５５５０１９９", "fullName": "Pay pay@acme.example",
        });
        sync(&app, &acme, json!([kept])).await;
        for keyword in ["0105550199", "0199", "5550199", "pay@acme.example"] {
            assert_eq!(found(&acme, keyword).await, [""; 0], "{keyword}");
        }
        assert_eq!(search(&acme, "payroll", &[]).await.items()[0]["brief"], "Pays everybody");
    }
}

#[tokio::test]
async fn hidden_and_foreign_departments_are_not_found() {
    let app = TestApp::start().await;
    let (acme, other) = (acme(&app).await, app.tenant("other").await);
    sync(&app, &other, json!([{"orgId": "top", "name": "Zenith 顶点"}])).await;
    let keywords =
        ["aurora", "auroro", "Aurora 收购队", "收购", "shougou", "sgd", "zenith", "zenitx", "dingdian"];
    for keyword in keywords {
        for sort in ["time", "relevance"] {
            let answer = search(&acme, keyword, &[("sort", sort), ("highlight", "true")]).await;
            assert_eq!((answer.total(), answer.ids()), (0, vec![]), "{keyword}");
            assert_eq!(answer.body.get("corrected"), None, "{keyword}");
        }
    }
    let item = search(&acme, "research", &[]).await.items()[0].clone();
    assert_eq!(item["subTitle"], "港风物流 / Research", "hidden ancestors are left out");

    for (change, total, path) in [
        (json!({"isHidden": false}), 2, "港风物流 / Aurora 收购队 / Research"),
        (json!({"name": "Borealis"}), 0, "港风物流 / Borealis / Research"),
        (json!({"name": "Aurora", "parentId": "finance"}), 2, "港风物流 / 财务部 / Aurora / Research"),
        (json!({"isDeleted": true}), 0, ""),
        (json!({"isDeleted": false, "parentId": ""}), 2, "Aurora / Research"),
    ] {
        let mut row = change;
        row["orgId"] = "secret".into();
        sync(&app, &acme, json!([row])).await;
        assert_eq!(search(&acme, "aurora", &[]).await.total(), total, "{row}");
        let item = search(&acme, "research", &[]).await.items()[0].clone();
        assert_eq!(item["subTitle"].as_str().unwrap_or_default(), path, "{row}");
    }
    sync(&app, &acme, json!([{"orgId": "team", "status": 0}])).await;
    assert_eq!(found(&acme, "research").await, ["team"], "disabled people are still found");

    let app = app.restart_rebuilding().await;
    app.wait_for_rebuild().await;
    let caller = app.caller(&acme.caller.token);
    assert_eq!(caller.find("department", "zenith").await, [""; 0]);
    assert_eq!(caller.find("department", "caiwubu").await, ["finance"]);
}
