//! Owners of folders.

use serde_json::json;

use crate::util::{
    app::TestApp,
    caller::Caller,
    files::{commit, commit_form, put_file, sent},
    folders::{ask, files, folder, list},
    groups::{group, people},
    items::department,
};

async fn found(caller: &Caller, keyword: &str) -> u64 {
    caller.search(&[("moduleId", "file"), ("keyword", keyword)]).await.ok().total()
}

#[tokio::test]
async fn department_below_a_deleted_one_is_not_top_level() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut top = department("sales", "");
    top["principal"] = json!("lin");
    let mut below = department("north", "sales");
    below["principal"] = json!("omar");
    app.sync(&acme.caller, "organizations", &json!([top, below])).await;
    let [lin, omar] = people(&app, &acme, ["lin", "omar"]).await;
    let form = |name: &str, principal: &str| json!({"name": name, "principalId": principal});
    ask(&lin, "create", form("Of acme", "acme")).await.ok_epoch();
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "sales", "isDeleted": true}])).await;
    for caller in [&lin, &omar] {
        ask(caller, "create", form("Mine", "acme")).await.fails_in_business(430_011, "principalId");
        assert_eq!(list(caller, "").await.ok_epoch().total(), 0);
    }
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "north", "parentId": ""}])).await;
    assert_eq!(list(&omar, "").await.ok_epoch().names(), ["Of acme"]);
}

/// A synchronisation may restore the person.
#[tokio::test]
async fn enterprise_owns_folders_of_a_deleted_person_until_restored() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut sales = department("sales", "top");
    sales["principal"] = json!("lin");
    app.sync(&acme.caller, "organizations", &json!([department("top", ""), sales])).await;
    let [mei, lin, ana, omar] = people(&app, &acme, ["mei", "lin", "ana", "omar"]).await;
    let operator = app.operator().await.caller.on("acme");
    operator.put("/admin/v1/tenants/acme", &json!({"administrators": ["ana"]})).await.ok();
    let (kept, gone) = (folder(&mei, "", "Kept").await, folder(&mei, "", "Gone").await);
    put_file(&mei, &kept, "harbour.txt", b"tide").await;
    let of_sales = ask(&lin, "create", json!({"name": "Tariffs", "principalId": "sales"})).await.ok_epoch();
    put_file(&lin, of_sales.data()["id"].as_str().unwrap(), "quay.txt", b"quay").await;
    app.wait_for_index().await;
    assert_eq!((list(&ana, "").await.ok_epoch().total(), found(&ana, "harbour").await), (0, 0));

    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "isDeleted": true}])).await;
    assert_eq!(list(&ana, "").await.ok_epoch().names(), ["Gone", "Kept"]);
    assert_eq!(files(&ana, &kept).await.ok_epoch().names(), ["harbour.txt"]);
    assert_eq!((found(&ana, "harbour").await, found(&ana, "quay").await), (1, 0));
    ask(&ana, "delete", json!({"dirId": gone})).await.ok_epoch();
    assert_eq!(list(&omar, "").await.ok_epoch().total(), 0);
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "sales", "isDeleted": true}])).await;
    assert_eq!(list(&ana, "").await.ok_epoch().names(), ["Kept", "Tariffs"]);
    assert_eq!(found(&ana, "quay").await, 1);
    assert_eq!((list(&lin, "").await.ok_epoch().total(), found(&lin, "quay").await), (0, 0));

    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "isDeleted": false}])).await;
    let mei = app.user(&acme, "mei").await;
    assert_eq!((list(&mei, "").await.ok_epoch().names(), found(&mei, "harbour").await), (vec!["Kept"], 1));
    assert_eq!((list(&ana, "").await.ok_epoch().names(), found(&ana, "harbour").await), (vec!["Tariffs"], 0));
    files(&ana, &kept).await.fails_in_business(430_003, "no folder");
    app.sync(&acme.caller, "organizations", &json!([{"orgId": "sales", "isDeleted": false}])).await;
    assert_eq!(list(&lin, "").await.ok_epoch().names(), ["Tariffs"]);
    assert_eq!(list(&ana, "").await.ok_epoch().total(), 0);
}

#[tokio::test]
async fn group_folders_are_deleted_with_the_group() {
    let (app, _, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    let team = group(&mei, "Team", &["omar"]).await;
    let top = ask(&mei, "create", json!({"name": "Plans", "principalId": team})).await.ok_epoch();
    let top = top.data()["id"].as_str().unwrap().to_owned();
    let below = folder(&mei, &top, "Below").await;
    put_file(&mei, &below, "harbour.txt", b"tide").await;
    put_file(&mei, "root", "quay.txt", b"quays").await;
    let form = json!({"dirId": top, "roleIds": ["editor"], "authTarget": [team], "targetType": 2});
    ask(&mei, "authorize", form).await.ok_epoch();
    app.wait_for_index().await;
    assert_eq!((found(&mei, "harbour").await, found(&omar, "harbour").await), (1, 1));
    let upload = sent(&omar, b"late").await;

    mei.delete(&format!("/v1/groups/{team}")).await.ok();
    let bytes = "SELECT file_bytes FROM tenants WHERE code = 'acme'";
    assert_eq!(app.number(bytes).await, 5);
    commit(&omar, &commit_form(&upload, &below, "late.txt", 4)).await.fails_in_business(430_001, "no folder");
    for caller in [&mei, &omar] {
        for id in [&top, &below] {
            files(caller, id).await.fails_in_business(430_003, "no folder");
        }
    }
    assert_eq!(list(&mei, "").await.ok_epoch().total(), 0);
    app.wait_for_index().await;
    assert_eq!((found(&mei, "harbour").await, found(&omar, "harbour").await), (0, 0));
    assert_eq!(found(&mei, "quay").await, 1);
    app.app.maintenance.make_round().await.unwrap();
    for (query, left) in [
        ("SELECT COUNT(*) FROM directories WHERE subject IS NULL", 0),
        ("SELECT COUNT(*) FROM directories WHERE subject NOT LIKE 'u:%'", 0),
        ("SELECT COUNT(*) FROM files", 1),
        ("SELECT COUNT(*) FROM directory_grants", 0),
        ("SELECT COUNT(*) FROM groups", 0),
        (bytes, 5),
    ] {
        assert_eq!(app.number(query).await, left, "{query}");
    }
}
