//! Outer members: people of other tenants.

use reqwest::Method;
use serde_json::json;

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    groups::{
        group, group_of, info, join_code, member_ids, members, outer, people, put_messages, role, set_role,
    },
    items::{department, item, user},
};

async fn allow_outer(app: &TestApp, code: &str, is_allowed: bool) {
    let operator = app.operator().await.caller;
    operator.put(&format!("/admin/v1/tenants/{code}"), &json!({"allowOuterMembers": is_allowed})).await.ok();
}

/// A project of Mei and Omar of `acme`, with Lin and Kim of `other`.
async fn start() -> (TestApp, [Application; 2], [Caller; 4], String) {
    let app = TestApp::start().await;
    let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
    let [mei, omar] = people(&app, &acme, ["mei", "omar"]).await;
    let [lin, kim] = people(&app, &other, ["lin", "kim"]).await;
    allow_outer(&app, "other", true).await;
    let form = json!({"name": "Harbour project", "type": 3, "users": ["omar"], "isPublic": true});
    let id = group_of(&mei, form).await;
    (app, [acme, other], [mei, omar, lin, kim], id)
}

async fn found(app: &TestApp, caller: &Caller, module: &str) -> Vec<String> {
    app.wait_for_index().await;
    caller.find(module, "harbour").await
}

#[tokio::test]
async fn only_external_groups_and_projects_take_outer_members() {
    let (_app, _, [mei, ..], _) = start().await;
    let internal = group(&mei, "Internal", &[]).await;
    for method in [Method::POST, Method::DELETE] {
        outer(&mei, method, &internal, &["lin@other"]).await.fails(409, "type 2");
    }
    for kind in [2, 3] {
        let id = group_of(&mei, json!({"name": "Outside", "type": kind})).await;
        outer(&mei, Method::POST, &id, &["lin@other", "omar"]).await.ok();
        assert_eq!(member_ids(&mei, &id).await.len(), 3);
    }
}

#[tokio::test]
async fn tenant_without_outer_permission_is_unknown() {
    let (app, _, [mei, omar, lin, _], id) = start().await;
    outer(&omar, Method::POST, &id, &["lin@other"]).await.fails(403, "administrator");
    let nobody = outer(&mei, Method::POST, &id, &["lin@nobody"]).await.fails(404, "lin@nobody");
    allow_outer(&app, "other", false).await;
    let closed = outer(&mei, Method::POST, &id, &["lin@other"]).await.fails(404, "lin@other");
    assert_eq!(closed.message().replace("other", "nobody"), nobody.message());
    allow_outer(&app, "other", true).await;
    let operator = app.operator().await.caller;
    operator.post_empty("/v1/enterprises/freeze?eCode=other").await.ok();
    outer(&mei, Method::POST, &id, &["lin@other"]).await.fails(404, "lin@other");
    operator.post_empty("/v1/enterprises/unfreeze?eCode=other").await.ok();
    for unknown in ["nobody@other", "lin@", "@other", "lin", "lin@OTHER", "mei@acme", "@"] {
        outer(&mei, Method::POST, &id, &["kim@other", unknown]).await.fails(404, "loginIds");
    }
    assert_eq!(member_ids(&mei, &id).await, ["mei", "omar"], "all or none");
    outer(&mei, Method::POST, &id, &["lin@other", "lin@other"]).await.ok();
    allow_outer(&app, "other", false).await;
    assert_eq!(role(&lin, &id).await, Some(0));
    let removed = outer(&mei, Method::DELETE, &id, &["kim@other", "lin@other", "x"]).await.ok();
    assert_eq!(removed.data(), &json!([{"loginId": "lin@other", "name": "User lin"}]));
    assert_eq!(role(&lin, &id).await, None);
}

/// Logins of the own tenant come first.
#[tokio::test]
async fn own_login_may_contain_an_at_sign() {
    let (app, [acme, _], [mei, _, lin, _], id) = start().await;
    let mut namesake = user("own-lin", "");
    namesake["loginId"] = json!("lin@other");
    let mut deep = user("deep", "");
    deep["loginId"] = json!("a@b");
    app.sync(&acme.caller, "users", &json!([namesake])).await;
    let third = app.tenant("third").await;
    app.sync(&third.caller, "users", &json!([deep])).await;
    allow_outer(&app, "third", true).await;
    outer(&mei, Method::POST, &id, &["lin@other", "a@b@third"]).await.ok();
    let shown = mei.get(&format!("/v1/groups/{id}/members")).await.ok();
    let mut homes: Vec<(&str, &str)> = shown.items()[2..]
        .iter()
        .map(|member| (member["userId"].as_str().unwrap(), member["eCode"].as_str().unwrap()))
        .collect();
    homes.sort_unstable();
    assert_eq!(homes, [("deep", "third"), ("own-lin", "acme")]);
    assert_eq!(role(&lin, &id).await, None);
    let removed = outer(&mei, Method::DELETE, &id, &["lin@other", "a@b@third"]).await.ok();
    assert_eq!(removed.items().len(), 2);
}

#[tokio::test]
async fn outer_member_sees_only_the_group_and_its_messages() {
    let (app, [acme, other], [mei, _, lin, kim], id) = start().await;
    let more = group_of(&mei, json!({"name": "Harbour office", "isPublic": true})).await;
    put_messages(&app, &acme, &id, "m", "the harbour opens", 3).await;
    put_messages(&app, &acme, &more, "n", "the harbour closes", 2).await;
    app.sync(&acme.caller, "organizations", &json!([department("harbour", "")])).await;
    let mut seen_by_group = item("theirs", "harbour", 1);
    seen_by_group["visibility"] = json!({"groups": [id]});
    app.put_contents(&acme.caller, "article", &[item("all", "harbour", 1), seen_by_group]).await;
    for module in ["group", "message", "article"] {
        assert_eq!(found(&app, &lin, module).await, [] as [&str; 0], "{module}");
    }
    outer(&mei, Method::POST, &id, &["lin@other"]).await.ok();

    assert_eq!(found(&app, &lin, "group").await, [id.as_str()]);
    assert_eq!(found(&app, &lin, "message").await, ["m2", "m1", "m0"]);
    for module in ["article", "people", "department"] {
        assert_eq!(found(&app, &lin, module).await, [] as [&str; 0], "{module}");
    }
    assert_eq!(found(&app, &kim, "group").await, [] as [&str; 0], "the person only, not the tenant");
    assert_eq!(found(&app, &other.caller, "group").await, [] as [&str; 0]);
    put_messages(&app, &acme, &id, "later", "harbour again", 1).await;
    assert_eq!(found(&app, &lin, "message").await.len(), 4);
    assert_eq!(found(&app, &mei, "message").await.len(), 6);

    let seen = info(&lin, &id).await.ok();
    assert_eq!((&seen.data()["eCode"], &seen.data()["memberRole"]), (&json!("acme"), &json!(0)));
    assert_eq!(lin.get("/v1/groups").await.ok().total(), 1);
    assert_eq!(member_ids(&lin, &id).await, ["mei", "omar", "lin"]);
    let shown = lin.get(&format!("/v1/groups/{id}/members")).await.ok();
    let own = &shown.items()[2];
    assert_eq!((&own["eCode"], &own["enterprise"]), (&json!("other"), &json!("other")));
    assert_eq!(role(&lin, &more).await, None, "open groups of the other tenant stay closed");
    lin.post_empty(&format!("/v1/groups/{more}/apply")).await.fails(404, "groupId");
    lin.post_empty(&format!("/v1/groups/{id}/apply")).await.fails(409, "member");
    let code = join_code(&mei, &more, false).await;
    lin.post_empty(&format!("/v1/groups/joincode/{code}/join")).await.fails(404, "joincode");

    mei.put(&format!("/v1/groups/{id}"), &json!({"name": "Quay"})).await.ok();
    app.wait_for_index().await;
    assert_eq!(lin.find("group", "quay").await, [id.as_str()]);
    let (lin_token, kim_token) = (lin.token.clone(), kim.token.clone());
    drop((mei, lin, kim, acme, other));
    let app = app.restart_rebuilding().await;
    app.wait_for_rebuild().await;
    let (lin, kim) = (app.caller(&lin_token), app.caller(&kim_token));
    assert_eq!(lin.find("group", "quay").await, [id.as_str()]);
    assert_eq!(lin.find("message", "harbour").await.len(), 4);
    assert_eq!(kim.find("message", "harbour").await, [] as [&str; 0]);
}

/// History arrives in portions, newest first.
#[tokio::test]
async fn history_reaches_the_first_outer_member_despite_restart() {
    let (app, [acme, other], [mei, _, lin, _], id) = start().await;
    put_messages(&app, &acme, &id, "m", "harbour", 1_203).await;
    app.app.maintenance.stop().await;
    outer(&mei, Method::POST, &id, &["lin@other"]).await.ok();
    let total = async |app: &TestApp, lin: &Caller| {
        app.wait_for_index().await;
        lin.search(&[("moduleId", "message"), ("keyword", "harbour")]).await.ok().total()
    };
    assert_eq!(total(&app, &lin).await, 500, "the request copies one portion");
    let newest = found(&app, &lin, "message").await;
    assert_eq!((newest[0].as_str(), newest[499].as_str()), ("m1202", "m703"));
    put_messages(&app, &acme, &id, "later", "harbour", 1).await;
    assert_eq!(total(&app, &lin).await, 501, "new messages are found at once");

    let token = lin.token.clone();
    drop((mei, lin, acme, other));
    let app = app.restart().await;
    app.app.maintenance.make_round().await.unwrap();
    let lin = app.caller(&token);
    assert_eq!(total(&app, &lin).await, 1_204);
    assert_eq!(app.number("SELECT SUM(copied_to) FROM group_tenants").await, 0);
}

#[tokio::test]
async fn outer_member_is_an_ordinary_member_and_may_leave() {
    let (app, _, [mei, omar, lin, kim], id) = start().await;
    outer(&mei, Method::POST, &id, &["lin@other", "kim@other"]).await.ok();
    for role in [0, 1, 2] {
        set_role(&mei, &id, "lin", role).await.fails(409, "must have role 0");
    }
    members(&lin, Method::POST, &id, &["kim"]).await.fails(403, "administrator");
    outer(&lin, Method::POST, &id, &["kim@other"]).await.fails(403, "administrator");
    set_role(&lin, &id, "omar", 1).await.fails(403, "owner");
    lin.put(&format!("/v1/groups/{id}"), &json!({"name": "x"})).await.fails(403, "administrator");
    lin.post_empty(&format!("/v1/groups/joincode?groupId={id}&isOverride=true"))
        .await
        .fails(403, "administrator");
    lin.get(&format!("/v1/groups/{id}/applications")).await.fails(403, "administrator");
    lin.delete(&format!("/v1/groups/{id}")).await.fails(403, "owner");
    members(&lin, Method::DELETE, &id, &["kim"]).await.fails(403, "administrator");
    outer(&lin, Method::DELETE, &id, &["kim@other"]).await.fails(403, "administrator");
    // Plain ids mean people of the group's tenant.
    assert_eq!(members(&mei, Method::DELETE, &id, &["lin", "kim"]).await.ok().data(), &json!([]));

    let removed = members(&lin, Method::DELETE, &id, &["lin"]).await.ok();
    assert_eq!(removed.data(), &json!([{"userId": "lin", "name": "User lin"}]));
    let removed = outer(&kim, Method::DELETE, &id, &["kim@other"]).await.ok();
    assert_eq!(removed.data(), &json!([{"loginId": "kim@other", "name": "User kim"}]));
    assert_eq!((role(&lin, &id).await, role(&kim, &id).await), (None, None));
    assert_eq!(found(&app, &lin, "group").await, [] as [&str; 0]);
    assert_eq!(role(&omar, &id).await, Some(0));
}

#[tokio::test]
async fn member_named_with_own_tenant_code_is_removed_once() {
    let (_app, _, [mei, omar, ..], id) = start().await;
    let removed = outer(&omar, Method::DELETE, &id, &["omar@acme"]).await.ok();
    assert_eq!(removed.data(), &json!([{"loginId": "omar@acme", "name": "User omar"}]));
    assert_eq!(role(&omar, &id).await, Some(-1));
    members(&mei, Method::POST, &id, &["omar"]).await.ok();
    outer(&mei, Method::DELETE, &id, &["mei@acme"]).await.fails(409, "transfer");
    let removed = outer(&mei, Method::DELETE, &id, &["omar@acme", "omar"]).await.ok();
    assert_eq!(removed.data(), &json!([{"loginId": "omar", "name": "User omar"}]));
    assert_eq!(member_ids(&mei, &id).await, ["mei"]);
}

/// They must not use up a person's limit at home or reveal the person's id.
#[tokio::test]
async fn groups_of_other_tenants_are_counted_apart() {
    let (app, [_, other], [mei, _, lin, _], id) = start().await;
    app.sync(&other.caller, "users", &json!([{"userId": "lin", "loginId": "lin.k"}])).await;
    let put = async |tenant: &str, prefix: &str, count: usize, is_outer: bool| {
        let groups = format!(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count}) \
             INSERT INTO groups (id, tenant_id, name, type, is_public, is_third, created_by, created_at, updated_at) \
             SELECT '{prefix}' || n, id, 'x', 3, FALSE, FALSE, 'x', 1, 1 FROM numbers, tenants WHERE code = '{tenant}'"
        );
        app.execute(groups.leak()).await;
        let members = format!(
            "INSERT INTO group_members (group_id, tenant_id, user_id, role, joined_at, is_outer) \
             SELECT groups.id, tenants.id, 'lin', 0, 1, {is_outer} FROM groups, tenants \
             WHERE tenants.code = 'other' AND groups.id LIKE '{prefix}%'"
        );
        app.execute(members.leak()).await;
    };
    put("acme", "there", 499, true).await;
    outer(&mei, Method::POST, &id, &["lin.k@other"]).await.ok();
    let more = group_of(&mei, json!({"name": "More", "type": 3})).await;
    let refused = outer(&mei, Method::POST, &more, &["kim@other", "lin.k@other"]).await.fails(409, "500");
    assert!(refused.message().contains("\"lin.k@other\"") && !refused.message().contains("kim"));
    assert!(!refused.message().contains("\"lin\""), "an id of another tenant: {}", refused.message());
    let own = group(&lin, "At home", &[]).await;
    put("other", "home", 1_999, false).await;
    lin.post("/v1/groups", &json!({"name": "One more"})).await.fails(409, "2000");
    outer(&lin, Method::DELETE, &id, &["lin.k@other"]).await.ok();
    outer(&mei, Method::POST, &more, &["lin.k@other"]).await.ok();
    assert_eq!(role(&lin, &own).await, Some(2));
}

#[tokio::test]
async fn equal_ids_of_two_tenants_are_two_people() {
    let (app, [acme, _], [mei, _, lin, _], id) = start().await;
    let [own] = people(&app, &acme, ["lin"]).await;
    outer(&mei, Method::POST, &id, &["lin@other"]).await.ok();
    assert_eq!((role(&own, &id).await, role(&lin, &id).await), (Some(-1), Some(0)));
    members(&mei, Method::POST, &id, &["lin"]).await.ok();
    set_role(&mei, &id, "lin", 1).await.ok();
    assert_eq!((role(&own, &id).await, role(&lin, &id).await), (Some(1), Some(0)));
    members(&lin, Method::DELETE, &id, &["lin"]).await.ok();
    assert_eq!((role(&own, &id).await, role(&lin, &id).await), (Some(1), None));
}

#[tokio::test]
async fn blacklists_apply_to_colleagues_named_by_login() {
    let (app, [acme, _], [mei, omar, ..], id) = start().await;
    members(&mei, Method::DELETE, &id, &["omar"]).await.ok();
    omar.post_empty("/v1/users/blacklist?blackUserId=mei").await.ok();
    app.sync(&acme.caller, "users", &json!([{"userId": "omar", "loginId": "omar.k"}])).await;
    outer(&mei, Method::POST, &id, &["omar.k", "lin@other"]).await.fails(403, "\"omar.k\"");
    mei.post("/v1/groups", &json!({"name": "x", "users": ["omar.k"]})).await.fails(403, "\"omar.k\"");
    assert_eq!(member_ids(&mei, &id).await, ["mei"]);
    outer(&mei, Method::POST, &id, &["lin@other"]).await.ok();
}

#[tokio::test]
async fn groups_of_a_frozen_tenant_vanish_for_outer_members() {
    let (app, [acme, other], [mei, _, lin, _], id) = start().await;
    outer(&mei, Method::POST, &id, &["lin@other"]).await.ok();
    put_messages(&app, &acme, &id, "m", "harbour", 450).await;
    let own = group(&lin, "Harbour of Lin", &[]).await;
    put_messages(&app, &other, &own, "own", "harbour", 1).await;
    let operator = app.operator().await.caller;
    assert_eq!((found(&app, &lin, "group").await.len(), found(&app, &lin, "message").await.len()), (2, 451));
    operator.post_empty("/v1/enterprises/freeze?eCode=acme").await.ok();
    assert_eq!(lin.find("group", "harbour").await, [own.as_str()]);
    assert_eq!(lin.find("message", "harbour").await, ["own0"]);
    assert_eq!(role(&lin, &id).await, None);
    assert_eq!(lin.get("/v1/groups").await.ok().total(), 1);
    operator.post_empty("/v1/enterprises/unfreeze?eCode=acme").await.ok();
    assert_eq!((lin.find("group", "harbour").await.len(), role(&lin, &id).await), (2, Some(0)));

    operator.post_empty("/v1/enterprises/delete?eCode=acme").await.ok();
    assert_eq!(lin.find("group", "harbour").await, [own.as_str()]);
    assert_eq!(lin.find("message", "harbour").await, ["own0"]);
    assert_eq!(role(&lin, &id).await, None);
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!((app.count_rows("groups").await, app.count_rows("messages").await), (1, 1));
    app.wait_for_index().await;
    assert_eq!(documents(&app, &other, &id).await, 0);
}

async fn documents(app: &TestApp, tenant: &Application, group: &str) -> u64 {
    // A person with a direct membership row sees them all.
    for text in [
        "INSERT INTO groups (id, tenant_id, name, type, is_public, is_third, created_by, created_at, updated_at) \
         VALUES (?1, ?2, 'ghost', 1, FALSE, FALSE, 'x', 1, 1)",
        "INSERT INTO group_members (group_id, tenant_id, user_id, role, joined_at) VALUES (?, ?, 'kim', 0, 1)",
    ] {
        app.execute_with(text, vec![group.into(), tenant.tenant_id.into()]).await;
    }
    app.forget_callers(tenant.tenant_id).await;
    let kim = app.user(tenant, "kim").await;
    let parameters = [("moduleId", "message"), ("keyword", "harbour")];
    kim.search(&parameters).await.ok().total()
}

#[tokio::test]
async fn people_of_a_deleted_tenant_leave_foreign_groups() {
    let (app, _, [mei, _, _, _], id) = start().await;
    outer(&mei, Method::POST, &id, &["lin@other", "kim@other"]).await.ok();
    app.execute("UPDATE groups SET updated_at = 1000").await;
    let changed = async || mei.get("/v1/groups?lastUpdatedDate=1001").await.ok().items().len();
    assert_eq!(changed().await, 0);
    app.operator().await.caller.post_empty("/v1/enterprises/delete?eCode=other").await.ok();
    assert_eq!(member_ids(&mei, &id).await, ["mei", "omar"], "at once");
    assert_eq!(changed().await, 1, "change feeds report it");
    app.app.maintenance.make_round().await.unwrap();
    assert_eq!((app.count_rows("group_members").await, app.count_rows("group_tenants").await), (2, 1));
    mei.put(&format!("/v1/groups/{id}"), &json!({"name": "Harbour again"})).await.ok();
    assert_eq!(found(&app, &mei, "group").await, [id.as_str()]);
}

/// Large groups look up hidden people; small groups look up members among the hidden.
#[tokio::test]
async fn member_count_equals_the_list_in_large_and_small_groups() {
    let (app, [acme, other], [mei, ..], id) = start().await;
    let names = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12"];
    people(&app, &acme, names).await;
    members(&mei, Method::POST, &id, &names).await.ok();
    outer(&mei, Method::POST, &id, &["lin@other", "kim@other"]).await.ok();
    let small = group(&mei, "Small", &["a1", "a2", "a3"]).await;
    let counts = async || (member_ids(&mei, &id).await.len(), member_ids(&mei, &small).await.len());
    assert_eq!(counts().await, (16, 4));
    app.sync(&other.caller, "users", &json!([{"userId": "kim", "isHidden": true}])).await;
    app.sync(&acme.caller, "users", &json!([{"userId": "a1", "isHidden": true, "isDeleted": true}])).await;
    assert_eq!(counts().await, (14, 3));
    // Simulates a process that ended after the call.
    app.app.maintenance.stop().await;
    app.operator().await.caller.post_empty("/v1/enterprises/delete?eCode=other").await.ok();
    assert_eq!(app.count_rows("group_members").await, 20);
    assert_eq!(counts().await, (13, 3));
    app.sync(&acme.caller, "users", &json!([{"userId": "a2", "isHidden": true}])).await;
    app.sync(&acme.caller, "users", &json!([{"userId": "a3", "isDeleted": true}])).await;
    assert_eq!(counts().await, (11, 1));
}
