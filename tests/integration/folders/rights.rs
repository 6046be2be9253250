//! `/v1/directories/authorize` and its removal.

use serde_json::json;

use crate::util::{
    app::TestApp,
    caller::Caller,
    files::put_file,
    folders::{allowed, ask, files, folder, give, list, nested_folders},
    groups::{group, members, people},
    items::{department, user},
};

async fn take(caller: &Caller, folder: &str, target: &str, kind: u8) -> String {
    let form = json!({"dirId": folder, "target": target, "targetType": kind});
    let answer = ask(caller, "authorize/remove", form).await.ok_epoch();
    answer.data().as_str().unwrap().to_owned()
}

async fn give_group(caller: &Caller, folder: &str, role: &str, target: &str) {
    let form = json!({"dirId": folder, "roleIds": [role], "authTarget": [target], "targetType": 2});
    assert_eq!(ask(caller, "authorize", form).await.ok_epoch().data(), "the right is given");
}

/// Book: reference/files.md.
#[tokio::test]
async fn roles_permit_the_operations_of_the_table() {
    let (_app, _, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    let roles = [
        (None, 0, ""),
        (Some("viewer"), 1, "previewable readable"),
        (Some("downloader"), 2, "downloadable previewable readable shareable"),
        (
            Some("editor"),
            3,
            "deleteable downloadable editable previewable readable restoreable shareable uploadable",
        ),
        (
            Some("manager"),
            4,
            "deleteable downloadable editable lockable manageable previewable readable restoreable shareable uploadable",
        ),
    ];
    for (role, rank, permissions) in roles {
        let top = folder(&mei, "", &format!("Top {rank}")).await;
        let id = folder(&mei, &top, "Below").await;
        if let Some(role) = role {
            give(&mei, &top, role, &["omar"]).await;
            assert_eq!(allowed(&list(&omar, &top).await.ok_epoch().items()[0]), permissions);
            files(&omar, &id).await.ok_epoch();
        } else {
            files(&omar, &id).await.fails_in_business(430_003, "no folder");
        }
        // Each succeeds with the least role, in this order.
        for (operation, body, least) in [
            ("create", json!({"name": "New", "parentId": id}), 3),
            ("rename", json!({"dirId": id, "name": "Renamed"}), 3),
            ("lock", json!({"dirId": id}), 4),
            ("unlock", json!({"dirId": id}), 4),
            (
                "authorize",
                json!({"dirId": id, "roleIds": ["viewer"], "authTarget": ["omar"], "targetType": 1}),
                4,
            ),
            ("authorize/remove", json!({"dirId": id, "target": "mei", "targetType": 1}), 4),
            ("delete", json!({"dirId": id}), 3),
        ] {
            let answer = ask(&omar, operation, body).await;
            match rank {
                0 => answer.fails_in_business(430_003, "no folder"),
                _ if rank < least => answer.fails_in_business(430_011, "role"),
                _ => answer.ok_epoch(),
            };
        }
    }
}

#[tokio::test]
async fn right_covers_subfolders_and_the_greatest_counts() {
    let (app, _, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    let [top, middle, bottom] = nested_folders(&mei).await;
    give(&mei, &middle, "editor", &["omar"]).await;
    let seen = list(&omar, "").await.ok_epoch().items()[0].clone();
    assert_eq!(
        (&seen["id"], &seen["fullPath"], &seen["parentId"]),
        (&json!(middle), &json!("/Middle"), &json!(""))
    );
    let seen = list(&omar, &middle).await.ok_epoch().items()[0].clone();
    assert_eq!((&seen["fullPath"], &seen["parentId"]), (&json!("/Middle/Bottom"), &json!(middle)));
    list(&omar, &top).await.fails_in_business(430_003, "no folder");
    // A lesser right below takes nothing away.
    give(&mei, &bottom, "viewer", &["omar"]).await;
    assert_eq!(list(&omar, "").await.ok_epoch().ids(), [middle.as_str()]);
    folder(&omar, &bottom, "New").await;
    give(&mei, &bottom, "manager", &["omar"]).await;
    ask(&omar, "lock", json!({"dirId": bottom})).await.ok_epoch();
    ask(&omar, "lock", json!({"dirId": middle})).await.fails_in_business(430_011, "manager");
    // The greatest given role counts and replaces the earlier one.
    let form = json!({"dirId": middle, "roleIds": ["downloader", "viewer", "downloader"], "authTarget": ["omar", "omar"], "targetType": 1});
    ask(&mei, "authorize", form).await.ok_epoch();
    assert!(!allowed(&list(&omar, "").await.ok_epoch().items()[0]).contains("editable"));
    give(&mei, &top, "viewer", &["omar"]).await;
    let seen = list(&omar, "").await.ok_epoch().items()[0].clone();
    assert_eq!((&seen["id"], allowed(&seen).as_str()), (&json!(top), "previewable readable"));
    assert_eq!(list(&omar, &middle).await.ok_epoch().items()[0]["fullPath"], "/Top/Middle/Bottom");

    assert_eq!(take(&mei, &top, "omar", 1).await, "the right is taken");
    assert_eq!(take(&mei, &top, "omar", 1).await, "there was no right to take");
    assert_eq!(list(&omar, "").await.ok_epoch().ids(), [middle.as_str()]);
    take(&mei, &middle, "omar", 1).await;
    assert_eq!(list(&omar, "").await.ok_epoch().ids(), [bottom.as_str()]);
    take(&omar, &bottom, "omar", 1).await;
    assert_eq!(list(&omar, "").await.ok_epoch().total(), 0);
    assert_eq!(app.number("SELECT COUNT(*) FROM directory_grants").await, 0);
}

#[tokio::test]
async fn group_and_department_rights_apply_to_their_members() {
    let (app, acme) = TestApp::start_with_acme().await;
    let rows = json!([department("sales", ""), department("north", "sales")]);
    app.sync(&acme.caller, "organizations", &rows).await;
    let rows = json!([user("mei", ""), user("omar", "north"), user("lin", "")]);
    app.sync(&acme.caller, "users", &rows).await;
    let [mei, omar, lin] =
        [app.user(&acme, "mei").await, app.user(&acme, "omar").await, app.user(&acme, "lin").await];
    let (one, two) = (folder(&mei, "", "One").await, folder(&mei, "", "Two").await);
    give_group(&mei, &one, "viewer", "sales").await;
    assert_eq!(list(&omar, "").await.ok_epoch().ids(), [one.as_str()]);
    assert_eq!(list(&lin, "").await.ok_epoch().total(), 0);
    let team = group(&mei, "Team", &["lin"]).await;
    give_group(&mei, &two, "editor", &team).await;
    folder(&lin, &two, "Of Lin").await;
    members(&mei, reqwest::Method::DELETE, &team, &["lin"]).await.ok();
    assert_eq!(list(&lin, "").await.ok_epoch().total(), 0);
    members(&mei, reqwest::Method::POST, &team, &["omar"]).await.ok();
    assert_eq!(list(&omar, "").await.ok_epoch().names(), ["One", "Two"]);
    app.sync(&acme.caller, "users", &json!([{"userId": "omar", "orgId": ""}])).await;
    assert_eq!(list(&omar, "").await.ok_epoch().names(), ["Two"]);
    assert_eq!(take(&mei, &two, &team, 1).await, "there was no right to take");
    assert_eq!(take(&mei, &two, &team, 2).await, "the right is taken");
    assert_eq!(take(&mei, &one, "sales", 2).await, "the right is taken");
    assert_eq!(list(&omar, "").await.ok_epoch().total(), 0);
}

#[tokio::test]
async fn unknown_targets_change_nothing() {
    let (app, acme) = TestApp::start_with_acme().await;
    let other = app.tenant("other").await;
    let [mei, omar] = people(&app, &acme, ["mei", "omar"]).await;
    let [theirs, _] = people(&app, &other, ["zoe", "yan"]).await;
    let foreign = group(&theirs, "Foreign", &["yan"]).await;
    let closed = group(&omar, "Closed", &[]).await;
    let id = folder(&mei, "", "One").await;
    for (targets, kind, named) in [
        (json!(["omar", "zoe", "nobody"]), 1, "\"zoe\""),
        (json!(["omar"]), 2, "\"omar\""),
        (json!([foreign]), 2, foreign.as_str()),
        (json!([closed]), 2, closed.as_str()),
        (json!([closed]), 1, closed.as_str()),
    ] {
        let form = json!({"dirId": id, "roleIds": ["viewer"], "authTarget": targets, "targetType": kind});
        ask(&mei, "authorize", form).await.fails_in_business(400, named);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM directory_grants").await, 0);
}

#[tokio::test]
async fn root_is_shared_by_its_owner_only() {
    let (app, _, [mei, omar, lin]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    give(&mei, "root", "manager", &["omar"]).await;
    let id = folder(&mei, "", "One").await;
    let seen = list(&omar, "").await.ok_epoch().items()[0].clone();
    assert_eq!((&seen["id"], &seen["fullPath"], &seen["parentId"]), (&json!(id), &json!("/One"), &json!("")));
    // Neither by name nor by row id can others refer to the root.
    let root = app.text("SELECT id FROM directories WHERE subject = 'u:mei'").await;
    let form = json!({"dirId": root, "roleIds": ["viewer"], "authTarget": ["lin"], "targetType": 1});
    ask(&omar, "authorize", form).await.fails_in_business(430_011, "owner");
    for operation in ["delete", "lock", "unlock"] {
        ask(&omar, operation, json!({"dirId": root})).await.fails_in_business(430_011, "root");
        ask(&mei, operation, json!({"dirId": "root"})).await.fails_in_business(430_011, "root");
    }
    ask(&lin, "lock", json!({"dirId": root})).await.fails_in_business(430_003, "no folder");
    assert_eq!(take(&mei, "root", "omar", 1).await, "the right is taken");
    assert_eq!(list(&omar, "").await.ok_epoch().total(), 0);
}

#[tokio::test]
async fn rights_of_a_folder_are_limited() {
    let (app, _, [mei, _, lin]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let (one, two) = (folder(&mei, "", "One").await, folder(&mei, "", "Two").await);
    app.execute(
        "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 1000) \
         INSERT INTO directory_grants (directory_id, target, tenant_id, root_id, role, created_at) \
         SELECT id, 'u:' || number, tenant_id, parent_id, 1, 1 FROM directories, numbers WHERE name = 'One'",
    )
    .await;
    let form = json!({"dirId": one, "roleIds": ["viewer"], "authTarget": ["omar"], "targetType": 1});
    ask(&mei, "authorize", form.clone()).await.fails_in_business(400, "1000");
    take(&mei, &one, "7", 1).await;
    ask(&mei, "authorize", form.clone()).await.ok_epoch();
    ask(&mei, "authorize", form).await.ok_epoch();
    app.execute(
        "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 999) \
         INSERT INTO directories (id, tenant_id, parent_id, name, name_key, created_by, created_at, updated_at) \
         SELECT 'd' || number, tenant_id, id, 'f' || number, 'f' || number, 'mei', 1, 1 FROM directories, numbers \
         WHERE name = 'Two'",
    )
    .await;
    app.execute(
        "INSERT INTO directory_grants (directory_id, target, tenant_id, root_id, role, created_at) \
         SELECT id, 'u:omar', tenant_id, (SELECT id FROM directories WHERE subject = 'u:mei'), 1, 1 \
         FROM directories WHERE id LIKE 'd%' AND length(id) < 6",
    )
    .await;
    let form = json!({"dirId": two, "roleIds": ["viewer"], "authTarget": ["mei", "omar"], "targetType": 1});
    ask(&mei, "authorize", form).await.fails_in_business(400, "omar");
    assert_eq!(app.number("SELECT COUNT(*) FROM directory_grants WHERE target = 'u:mei'").await, 0);
    give(&lin, &folder(&lin, "", "Of Lin").await, "viewer", &["omar"]).await;
    take(&mei, "d5", "omar", 1).await;
    give(&mei, &two, "viewer", &["mei", "omar"]).await;
}

#[tokio::test]
async fn person_may_give_up_own_right() {
    let (_app, _, [mei, omar, lin]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let id = folder(&mei, "", "One").await;
    let below = folder(&mei, &id, "Below").await;
    give(&mei, &id, "viewer", &["omar", "lin"]).await;
    let form =
        |folder: &str, target: &str, kind| json!({"dirId": folder, "target": target, "targetType": kind});
    ask(&omar, "authorize/remove", form(&id, "lin", 1)).await.fails_in_business(430_011, "manager");
    ask(&omar, "authorize/remove", form(&id, "omar", 2)).await.fails_in_business(430_011, "manager");
    // A right on an ancestor is not a right on this folder.
    assert_eq!(take(&omar, &below, "omar", 1).await, "there was no right to take");
    assert_eq!(take(&omar, &id, "omar", 1).await, "the right is taken");
    assert_eq!(list(&omar, "").await.ok_epoch().total(), 0);
    ask(&omar, "authorize/remove", form(&id, "omar", 1)).await.fails_in_business(430_003, "no folder");
    assert_eq!(list(&lin, "").await.ok_epoch().ids(), [id.as_str()]);
}

/// Rights given personally come first.
#[tokio::test]
async fn rights_carried_by_a_caller_are_limited() {
    let (app, _, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    group(&mei, "Team", &["omar"]).await;
    let own = folder(&mei, "", "zzz").await;
    put_file(&mei, &own, "harbour.txt", b"tide").await;
    folder(&mei, "", "Many").await;
    app.execute(
        "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 10100) \
         INSERT INTO directories (id, tenant_id, parent_id, name, name_key, created_by, created_at, updated_at) \
         SELECT 'd' || substr(CAST(100000 + number AS TEXT), 2), tenant_id, id, 'f' || number, 'f' || number, 'mei', 1, 1 FROM directories, numbers \
         WHERE name = 'Many'",
    )
    .await;
    app.execute(
        "INSERT INTO directory_grants (directory_id, target, tenant_id, root_id, role, created_at) \
         SELECT id, 'g:' || (SELECT id FROM groups), tenant_id, (SELECT id FROM directories WHERE subject = 'u:mei'), 1, 1 \
         FROM directories WHERE id LIKE 'd0%' OR id LIKE 'd1%'",
    )
    .await;
    give(&mei, &own, "viewer", &["omar"]).await;
    let listed = list(&omar, "").await.ok_epoch();
    assert_eq!((listed.total(), listed.ids().contains(&own.as_str())), (10_000, true));
    assert!(!listed.ids().contains(&"d10000"));
    // Beyond the limit a folder can still be read by its id.
    files(&omar, "d10000").await.ok_epoch();
    app.wait_for_index().await;
    let found = omar.search(&[("moduleId", "file"), ("keyword", "harbour")]).await.ok();
    assert_eq!(found.total(), 1, "{}", found.text);
}

#[tokio::test]
async fn folder_actions_are_audited() {
    let (app, _, [mei, _]) = TestApp::start_with_people(["mei", "omar"]).await;
    let id = folder(&mei, "", "One").await;
    give(&mei, &id, "editor", &["omar"]).await;
    take(&mei, &id, "omar", 1).await;
    take(&mei, &id, "omar", 1).await;
    for operation in ["lock", "unlock", "delete"] {
        ask(&mei, operation, json!({"dirId": id})).await.ok_epoch();
    }
    let kept = app.operator().await.caller.on("acme").get("/admin/v1/audit?limit=100").await.ok();
    let events: Vec<_> = kept.items().iter().filter(|event| event["objectKind"] == "folder").collect();
    let mut actions: Vec<&str> = events.iter().map(|event| event["action"].as_str().unwrap()).collect();
    actions.sort_unstable();
    assert_eq!(actions, ["authorize", "delete", "lock", "remove-authorization", "unlock"]);
    assert!(events.iter().all(|event| event["objectId"] == id && event["userId"] == "mei"), "{}", kept.text);
    let given = events.iter().find(|event| event["action"] == "authorize").unwrap();
    assert_eq!(given["details"], json!({"role": "editor", "targets": ["u:omar"]}));
}
