//! Group members: who adds, removes and leaves.

use reqwest::Method;
use serde_json::json;

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::Caller,
    groups::{group, member_ids, members, people, role, set_role},
};

/// The owner Mei, the administrator Omar, the members Ana and Bo; Lin is outside.
async fn harbour(app: &TestApp, acme: &Application) -> ([Caller; 5], String) {
    let callers = people(app, acme, ["mei", "omar", "ana", "bo", "lin"]).await;
    let id = group(&callers[0], "Harbour", &["omar", "ana", "bo"]).await;
    set_role(&callers[0], &id, "omar", 1).await.ok();
    (callers, id)
}

async fn add(caller: &Caller, group: &str, ids: &[&str]) -> Answer {
    members(caller, Method::POST, group, ids).await
}

async fn remove(caller: &Caller, group: &str, ids: &[&str]) -> Answer {
    members(caller, Method::DELETE, group, ids).await
}

#[tokio::test]
async fn administrators_add_people_all_or_nothing_idempotently() {
    let (app, acme) = TestApp::start_with_acme().await;
    let ([mei, omar, ana, _, lin], id) = harbour(&app, &acme).await;
    people(&app, &acme, ["kim", "kai", "hid"]).await;
    app.sync(&acme.caller, "users", &json!([{"userId": "hid", "isHidden": true}])).await;
    add(&ana, &id, &["lin"]).await.fails(403, "administrator");
    add(&lin, &id, &["lin"]).await.fails(404, "groupId");
    for unknown in ["nobody", "hid"] {
        add(&omar, &id, &["lin", unknown]).await.fails(404, unknown);
        assert_eq!(role(&lin, &id).await, None, "one unknown id refuses the call");
    }
    assert!(add(&omar, &id, &["lin", "ana", "lin"]).await.ok().data().is_object());
    add(&omar, &id, &["lin", "mei"]).await.ok();
    assert_eq!(member_ids(&lin, &id).await, ["mei", "omar", "ana", "bo", "lin"]);
    assert_eq!((role(&mei, &id).await, role(&lin, &id).await), (Some(2), Some(0)), "members stay members");
    add(&mei, &id, &["kim", "kai"]).await.ok();
    assert_eq!(member_ids(&mei, &id).await.len(), 7);
}

#[tokio::test]
async fn removal_follows_roles_and_leaving_is_always_allowed() {
    let (app, acme) = TestApp::start_with_acme().await;
    let ([mei, omar, ana, bo, lin], id) = harbour(&app, &acme).await;
    add(&mei, &id, &["lin"]).await.ok();
    set_role(&mei, &id, "lin", 1).await.ok();
    remove(&ana, &id, &["bo"]).await.fails(403, "administrator");
    remove(&ana, &id, &["ana", "bo"]).await.fails(403, "administrator");
    remove(&ana, &id, &["nobody"]).await.fails(403, "administrator");
    remove(&omar, &id, &["lin"]).await.fails(403, "\"lin\"");
    remove(&omar, &id, &["bo", "mei"]).await.fails(403, "\"mei\"");
    remove(&mei, &id, &["bo", "mei"]).await.fails(409, "transfer");
    assert_eq!(member_ids(&mei, &id).await, ["mei", "omar", "lin", "ana", "bo"]);

    let answer = remove(&omar, &id, &["bo", "nobody", "bo"]).await.ok();
    assert_eq!(answer.data(), &json!([{"userId": "bo", "name": "User bo"}]));
    assert_eq!(role(&bo, &id).await, None);
    assert_eq!(remove(&omar, &id, &["bo"]).await.ok().data(), &json!([]));
    assert_eq!(
        remove(&ana, &id, &["ana"]).await.ok().data(),
        &json!([{"userId": "ana", "name": "User ana"}])
    );
    remove(&ana, &id, &["ana"]).await.fails(404, "groupId");
    remove(&omar, &id, &["omar"]).await.ok();
    assert_eq!(remove(&mei, &id, &["lin"]).await.ok().items().len(), 1);
    assert_eq!(member_ids(&mei, &id).await, ["mei"]);
    assert_eq!((role(&omar, &id).await, role(&lin, &id).await), (None, None));
    remove(&mei, &id, &["mei"]).await.fails(409, "transfer");
}

#[tokio::test]
async fn owner_sets_roles_and_transfers_ownership() {
    let (app, acme) = TestApp::start_with_acme().await;
    let ([mei, omar, ana, _, lin], id) = harbour(&app, &acme).await;
    set_role(&omar, &id, "ana", 1).await.fails(403, "owner");
    set_role(&omar, &id, "omar", 0).await.fails(403, "owner");
    set_role(&ana, &id, "ana", 2).await.fails(403, "owner");
    set_role(&lin, &id, "lin", 2).await.fails(404, "groupId");
    set_role(&mei, &id, "lin", 1).await.fails(404, "userId");
    set_role(&mei, &id, "nobody", 1).await.fails(404, "userId");
    for role in [0, 1] {
        set_role(&mei, &id, "mei", role).await.fails(409, "must first give role 2");
    }
    set_role(&mei, &id, "mei", 2).await.ok();
    set_role(&mei, &id, "ana", 1).await.ok();
    assert_eq!(role(&ana, &id).await, Some(1));
    set_role(&mei, &id, "ana", 0).await.ok();
    assert_eq!(role(&ana, &id).await, Some(0));
    app.sync(&acme.caller, "users", &json!([{"userId": "bo", "status": 0}])).await;
    set_role(&mei, &id, "bo", 2).await.fails(409, "disabled");
    app.sync(&acme.caller, "users", &json!([{"userId": "bo", "status": 1}])).await;

    set_role(&mei, &id, "ana", 2).await.ok();
    assert_eq!((role(&mei, &id).await, role(&ana, &id).await), (Some(1), Some(2)));
    set_role(&mei, &id, "omar", 0).await.fails(403, "owner");
    remove(&mei, &id, &["ana"]).await.fails(403, "owner");
    remove(&mei, &id, &["mei"]).await.ok();
    remove(&ana, &id, &["ana"]).await.fails(409, "transfer");
}

/// Book: reference/directory.md.
#[tokio::test]
async fn blacklisted_person_cannot_add_the_blacklister() {
    let (app, acme) = TestApp::start_with_acme().await;
    let ([mei, omar, ana, _, lin], id) = harbour(&app, &acme).await;
    lin.post_empty("/v1/users/blacklist?blackUserId=omar").await.ok();
    ana.post_empty("/v1/users/blacklist?blackUserId=omar").await.ok();
    people(&app, &acme, ["kim"]).await;
    add(&omar, &id, &["kim", "lin"]).await.fails(403, "\"lin\"");
    assert_eq!(member_ids(&mei, &id).await.len(), 4, "nobody was added");
    let form = json!({"name": "Other", "users": ["kim", "lin"]});
    omar.post("/v1/groups", &form).await.fails(403, "\"lin\"");
    assert_eq!(omar.get("/v1/groups").await.ok().items().len(), 1, "an item was created");
    add(&omar, &id, &["kim", "ana"]).await.ok();
    add(&mei, &id, &["lin"]).await.ok();
    assert_eq!(role(&lin, &id).await, Some(0));
    lin.post_empty("/v1/users/blacklist/remove?blackUserId=omar").await.ok();
    remove(&lin, &id, &["lin"]).await.ok();
    add(&omar, &id, &["lin"]).await.ok();
}

#[tokio::test]
async fn hidden_member_is_excluded_until_unhidden() {
    let (app, acme) = TestApp::start_with_acme().await;
    let ([mei, _, ana, _, _], id) = harbour(&app, &acme).await;
    for gone in ["isDeleted", "isHidden"] {
        app.sync(&acme.caller, "users", &json!([{"userId": "ana", gone: true}])).await;
        assert_eq!(member_ids(&mei, &id).await, ["mei", "omar", "bo"], "{gone}");
        assert_eq!(remove(&mei, &id, &["ana"]).await.ok().data(), &json!([]), "{gone}");
        set_role(&mei, &id, "ana", 1).await.fails(404, "userId");
        add(&mei, &id, &["ana"]).await.fails(404, "ana");
        if gone == "isHidden" {
            assert_eq!(role(&app.user(&acme, "ana").await, &id).await, Some(0));
        } else {
            ana.get("/v1/groups").await.fails(401, "");
        }
        app.sync(&acme.caller, "users", &json!([{"userId": "ana", gone: false}])).await;
        assert_eq!(member_ids(&mei, &id).await, ["mei", "omar", "ana", "bo"], "{gone}");
        assert_eq!(role(&app.user(&acme, "ana").await, &id).await, Some(0));
    }
    app.sync(&acme.caller, "users", &json!([{"userId": "ana", "isHidden": true}])).await;
    let ana = app.user(&acme, "ana").await;
    assert_eq!(remove(&ana, &id, &["ana"]).await.ok().items().len(), 1, "the former owner can leave");
}

/// The deputy becomes the owner by a first decision.
#[tokio::test]
async fn group_without_its_owner_is_led_by_a_deputy() {
    let (app, acme) = TestApp::start_with_acme().await;
    let ([_, omar, ana, bo, _], id) = harbour(&app, &acme).await;
    let come_and_go = async |rows: serde_json::Value| app.sync(&acme.caller, "users", &rows).await;
    for gone in [json!({"userId": "mei", "status": 0}), json!({"userId": "mei", "isDeleted": true})] {
        come_and_go(json!([gone])).await;
        assert_eq!((role(&omar, &id).await, role(&ana, &id).await), (Some(2), Some(0)));
        remove(&omar, &id, &["omar"]).await.fails(409, "transfer");
        // Nothing was decided meanwhile, so the owner returns.
        come_and_go(json!([{"userId": "mei", "isDeleted": false, "status": 1}])).await;
        let mei = app.user(&acme, "mei").await;
        assert_eq!((role(&mei, &id).await, role(&omar, &id).await), (Some(2), Some(1)));
    }
    come_and_go(json!([{"userId": "mei", "isDeleted": true}, {"userId": "omar", "status": 0}])).await;
    // The earliest member deputises if there is no administrator; these joined together, so the id decides.
    assert_eq!((role(&ana, &id).await, role(&bo, &id).await), (Some(2), Some(0)));
    set_role(&bo, &id, "bo", 1).await.fails(403, "owner");
    set_role(&ana, &id, "bo", 1).await.ok();
    assert_eq!(
        (role(&ana, &id).await, role(&bo, &id).await),
        (Some(2), Some(1)),
        "the returning owner does not displace her"
    );
    come_and_go(json!([{"userId": "mei", "isDeleted": false}, {"userId": "omar", "status": 1}])).await;
    let (mei, omar) = (app.user(&acme, "mei").await, app.user(&acme, "omar").await);
    assert_eq!(
        [role(&mei, &id).await, role(&omar, &id).await, role(&ana, &id).await],
        [Some(1), Some(1), Some(2)],
        "a decision makes her the owner"
    );
    // The deputy may demote and remove a disabled owner.
    set_role(&ana, &id, "mei", 2).await.ok();
    come_and_go(json!([{"userId": "mei", "status": 0}])).await;
    let owners = [role(&omar, &id).await, role(&ana, &id).await, role(&bo, &id).await];
    assert_eq!(owners.iter().filter(|role| **role == Some(2)).count(), 1, "{owners:?}");
    let acting = [&omar, &ana, &bo][owners.iter().position(|role| *role == Some(2)).unwrap()];
    assert_eq!(remove(acting, &id, &["mei"]).await.ok().items().len(), 1);
    assert_eq!(role(acting, &id).await, Some(2));
    acting.delete(&format!("/v1/groups/{id}")).await.ok();
}

#[tokio::test]
async fn deputy_ends_the_group_only_after_taking_ownership() {
    let (app, acme) = TestApp::start_with_acme().await;
    let ([_, omar, ana, _, _], id) = harbour(&app, &acme).await;
    let come_and_go = async |rows: serde_json::Value| app.sync(&acme.caller, "users", &rows).await;
    let path = format!("/v1/groups/{id}");
    come_and_go(json!([{"userId": "mei", "isDeleted": true}])).await;
    omar.delete(&path).await.fails(403, "role 2");
    set_role(&ana, &id, "ana", 2).await.fails(403, "owner");
    set_role(&omar, &id, "omar", 2).await.ok();
    come_and_go(json!([{"userId": "mei", "isDeleted": false}])).await;
    let mei = app.user(&acme, "mei").await;
    assert_eq!(
        (role(&mei, &id).await, role(&omar, &id).await),
        (Some(1), Some(2)),
        "the deputy became the owner"
    );
    mei.delete(&path).await.fails(403, "owner");
    omar.delete(&path).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_transfers_leave_one_owner() {
    let (app, acme) = TestApp::start_with_acme().await;
    let ([mei, omar, ana, _, _], id) = harbour(&app, &acme).await;
    for _ in 0..20 {
        let (to_omar, to_ana) = tokio::join!(set_role(&mei, &id, "omar", 2), set_role(&mei, &id, "ana", 2));
        let mut statuses = [to_omar.status, to_ana.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 403]);
        let roles = [role(&mei, &id).await, role(&omar, &id).await, role(&ana, &id).await];
        assert_eq!(roles.iter().filter(|role| **role == Some(2)).count(), 1, "{roles:?}");
        let owner = if roles[1] == Some(2) { &omar } else { &ana };
        set_role(owner, &id, "mei", 2).await.ok();
        set_role(&mei, &id, "omar", 1).await.ok();
        set_role(&mei, &id, "ana", 0).await.ok();
    }
}

#[tokio::test]
async fn group_size_and_groups_of_a_person_are_limited() {
    let (app, acme) = TestApp::start_with_acme().await;
    let ([mei, _, _, _, lin], id) = harbour(&app, &acme).await;
    app.execute(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 9996) \
         INSERT INTO users (tenant_id, user_id, platform_user_id, login_id, name, sex, status, is_hidden, is_deleted, \
           created_at, updated_at) \
         SELECT tenant_id, 'many' || n, 'many' || n, 'many' || n, 'x', 1, 1, FALSE, FALSE, n, -n \
         FROM numbers, users WHERE user_id = 'mei'",
    )
    .await;
    app.execute(
        "INSERT INTO group_members (group_id, tenant_id, user_id, role, joined_at) \
         SELECT groups.id, users.tenant_id, users.user_id, 0, 1 FROM groups, users WHERE users.user_id LIKE 'many%'",
    )
    .await;
    add(&mei, &id, &["lin"]).await.fails(409, "10000");
    remove(&mei, &id, &["many1"]).await.ok();
    add(&mei, &id, &["lin"]).await.ok();
    assert_eq!(member_ids(&mei, &id).await.len(), 10_000);
    remove(&lin, &id, &["lin"]).await.ok();

    app.execute(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2000) \
         INSERT INTO groups (id, tenant_id, name, type, is_public, is_third, created_by, created_at, updated_at) \
         SELECT 'many' || n, tenants.id, 'x', 1, FALSE, FALSE, 'x', 1, 1 FROM numbers, tenants WHERE tenants.code = 'acme'",
    )
    .await;
    app.execute(
        "INSERT INTO group_members (group_id, tenant_id, user_id, role, joined_at) \
         SELECT id, tenant_id, 'lin', 0, 1 FROM groups WHERE id LIKE 'many%'",
    )
    .await;
    add(&mei, &id, &["lin"]).await.fails(409, "lin");
    lin.post("/v1/groups", &json!({"name": "One more"})).await.fails(409, "2000");
    app.execute("DELETE FROM group_members WHERE group_id = 'many1'").await;
    add(&mei, &id, &["lin"]).await.ok();
}
